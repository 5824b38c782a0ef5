"""The identity of a competitor, in its present and earlier forms, and the weights that it ships.

To find the weights, no module is imported. Modules are located with the finder that imports use, one part of
the name after the other, so editable installs, unpacked wheels and namespace packages all work.
"""

from __future__ import annotations

import hashlib
import json
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from arena.content.option_files import with_files
from arena.errors import PluginError
from arena.reserved import NAME, OUR_KEYS
from arena.shelf.records import hash_file
from arena_plugins.command import host_path
from arena_plugins.program import CMD, is_file, split_command
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def identity_of(name: str, entry: str, options: Mapping[str, str], content: str) -> str:
    """Return the SHA-256 in hex that identifies a competitor.

    Args:
        name: the bot's name.
        entry: the entry point of its hook.
        options: the bot's options, with files given by their paths in the content.
        content: SHA-256 of its files.
    """
    canonical = json.dumps([name, entry, dict(options), content], sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def hashed_before(spec: Spec) -> tuple[str, dict[str, str]]:
    """Return the spec and file hashes from which identities were computed before code was hashed."""
    options = {key: value for key, value in spec.options.items() if key != NAME}
    files: dict[str, Path] = {}
    for key, value in options.items():
        if key == CMD:
            words = enumerate(split_command(value))
            files |= {f"{key} {i}": Path(word) for i, word in words if is_file(word)}
        elif key not in OUR_KEYS and not value.replace(".", "", 1).isdecimal() and is_file(value):
            files[key] = Path(value)
    shown = Spec(spec.name, with_files(options, {key: path.name for key, path in files.items()}))
    return str(shown), {key: hash_file(path) for key, path in files.items()}


def identity_before(spec: str, distribution: str, version: str, hashes: Mapping[str, str]) -> str:
    """Return the identity that a competitor had before code was hashed."""
    content = json.dumps([spec, distribution, version, hashes], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


FOLDER = "weights/"
"""Prefix of shipped weights' names among the files of a bot; no option can have such a name."""
_INDEX = "index.toml"
_PROVENANCE = ".provenance.toml"
"""Suffix of files that document the origin of weights and do not affect play."""


class Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `weights/index.toml`: which weights files a bot with given options uses."""

    option: str = ""
    """The option whose value selects files."""
    default: str = ""
    """The value that is assumed if the option is absent."""
    instead: str = ""
    """An option that names a file to use instead of the shipped ones."""
    files: dict[str, tuple[str, ...]] = {}
    """For each value, patterns of file names; any other value may use all files."""

    def chooses(self, name: str, options: Mapping[str, str]) -> bool:
        """Return whether a bot with these options uses the file with this name."""
        if self.instead in options:
            return False
        patterns = self.files.get(options.get(self.option, self.default), ("*",))
        return any(fnmatchcase(name, pattern) for pattern in patterns)


def shipped_weights(entry: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the SHA-256 in hex of the weights a bot uses, by name, as in `weights/best.npz`.

    Args:
        entry: the bot's entry point, `module` or `module:attr`.
        options: the options of its spec.

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
                f"the weights in {folder} cannot be read ({error.strerror}), so the identity of the bot is "
                "unknown; fix their permissions, or install the bot again"
            ) from error
    return found


def _folders(module: str, path: tuple[str, ...]) -> list[Path]:
    """Return the folders `weights` beside a module, without importing it or its packages."""
    parts = module.split(".")
    places: Sequence[str] = path
    for last, part in enumerate(parts, start=1):
        # Only the last part is looked up: for a dotted name the finder expects an imported parent.
        spec = PathFinder.find_spec(part, places)
        if spec is None:
            return []
        if spec.submodule_search_locations is None:
            # A top-level module shares its folder with everything else that is installed.
            places = places if 1 < last == len(parts) else ()
            break
        places = list(spec.submodule_search_locations)
    folders = [Path(place, FOLDER) for place in places]
    return [folder for folder in folders if folder.is_dir()]


def _is_weights(name: str) -> bool:
    hidden = any(part.startswith((".", "__")) for part in name.split("/"))
    return not hidden and name != _INDEX and not name.endswith(_PROVENANCE)


def _read_index(path: Path) -> Index:
    """Read an index; without one, every file counts.

    Raises:
        PluginError: the index is malformed.
        OSError: the index cannot be read.
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
    """Return the hash of a file; cached by size, time and inode, because a dashboard asks repeatedly."""
    del state
    return hash_file(path)
