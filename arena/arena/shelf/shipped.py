"""The weights a bot brings along in a folder `weights` beside its module: found and hashed, never loaded.

No module is imported for it. Where a module lies is asked of the same finder that an import asks, one part of
its name after the other, so an editable install, an unpacked wheel and a namespace package are all the same.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from arena.errors import PluginError
from arena.shelf.records import hash_file
from arena_plugins.command import host_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FOLDER = "weights/"
"""What the names of shipped weights begin with among the files of a bot; no option can be called so."""
_INDEX = "index.toml"
_PROVENANCE = ".provenance.toml"
"""It tells where weights come from, and plays no match."""


class Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `weights/index.toml` says: with which of the files a spec plays."""

    option: str = ""
    """The option whose value chooses."""
    default: str = ""
    """The value that a spec without it has."""
    instead: str = ""
    """An option that names a file to play with in place of all of these."""
    files: dict[str, tuple[str, ...]] = {}
    """For each value, patterns of names in the folder; any other value may use all of them."""

    def chooses(self, name: str, options: Mapping[str, str]) -> bool:
        """Say whether a bot with these options plays with the file of this name."""
        if self.instead in options:
            return False
        patterns = self.files.get(options.get(self.option, self.default), ("*",))
        return any(fnmatchcase(name, pattern) for pattern in patterns)


def shipped_weights(entry: str, options: Mapping[str, str]) -> dict[str, str]:
    """Give the SHA-256, in hex, of the weights a bot plays with, by their names: `weights/best.npz`.

    Args:
        entry: the bot's entry point, `module` or `module:attr`.
        options: those of its spec.

    Raises:
        PluginError: a file or the index cannot be read.
    """
    found: dict[str, str] = {}
    for folder in _folders(entry.partition(":")[0], tuple(host_path())):
        try:
            index = _read_index(folder / _INDEX)
            names = {
                path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
            }
            chosen = {name: path for name, path in sorted(names.items()) if _is_weights(name)}
            for name, path in chosen.items():
                if index.chooses(name, options):
                    found.setdefault(FOLDER + name, _hash(path))
        except OSError as error:
            raise PluginError(
                f"the weights in {folder} cannot be read ({error.strerror}), so nobody could tell which bot "
                "this is; mend their permissions, or install the bot again"
            ) from error
    return found


def _folders(module: str, path: tuple[str, ...]) -> list[Path]:
    """Give the folders `weights` beside a module, without importing it or a package it is in."""
    parts = module.split(".")
    places: Sequence[str] = path
    for last, part in enumerate(parts, start=1):
        # By its last part alone: with a dot it would look for an imported parent.
        spec = PathFinder.find_spec(part, places)
        if spec is None:
            return []
        if spec.submodule_search_locations is None:
            # A lone module shares its folder with whatever else is installed there.
            places = places if 1 < last == len(parts) else ()
            break
        places = list(spec.submodule_search_locations)
    folders = [Path(place, FOLDER) for place in places]
    return [folder for folder in folders if folder.is_dir()]


def _is_weights(name: str) -> bool:
    hidden = any(part.startswith((".", "__")) for part in name.split("/"))
    return not hidden and name != _INDEX and not name.endswith(_PROVENANCE)


def _read_index(path: Path) -> Index:
    """Read an index; without one each file counts.

    Raises:
        PluginError: it is none.
        OSError: it cannot be read.
    """
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Index)
    except FileNotFoundError:
        return Index()
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise PluginError(f"{path} does not say which weights a bot plays with: {error}") from error


def _hash(path: Path) -> str:
    state = path.stat()
    return _remembered_hash(path, state.st_size, state.st_mtime_ns, state.st_ino)


@lru_cache(maxsize=256)
def _remembered_hash(path: Path, *state: int) -> str:
    """Give the hash of a file that is as it was: a dashboard asks again and again."""
    del state
    return hash_file(path)
