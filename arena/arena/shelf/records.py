"""The folders of the shelf: in each `lib`, what was unpacked, and `install.toml`, from which wheels.

A wheel lies in `bots/<distribution>/<version>-<hash8>/`, so that versions lie side by side. Earlier releases
put it into `bots/<distribution>/` itself. Such a folder is used where it is until it is removed: a running
tournament may start bots from it.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec
from packaging.version import Version

from arena.errors import PluginError
from arena.home import home
from arena_plugins.entries import NUM_DIGITS, Entry
from arena_plugins.regular import open_regular

LIB = "lib"
"""In the folder of a wheel: what comes first on the path of its bots."""
_RECORD = "install.toml"


class Installed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One installed wheel."""

    distribution: str
    """Its name as its metadata has it."""
    version: str
    wheel: str
    """The name of its file."""
    sha256: str
    """The hash of that file, by which its bots are known."""
    installed_at: datetime
    files: str
    """The hash of all that was unpacked, as `hash_files` gives it."""
    also: dict[str, str]
    """Wheels of what it needs and the arena lacks, unpacked with it: file name to SHA-256."""
    bot: str = ""
    """The name its only bot was given by `--as`; empty where its bots are called as the wheel calls them."""


def shelf_folder() -> Path:
    """Return the folder in which each installed wheel has one; it may not exist."""
    return home().absolute() / "bots"


def wheel_folders() -> list[Path]:
    """Return the folders of the installed wheels, by name; unfinished work is in hidden ones."""
    found: list[Path] = []
    for folder in _subfolders(shelf_folder()):
        found += [folder] if (folder / LIB).exists() or (folder / _RECORD).exists() else []
        found += [path for path in _subfolders(folder) if path.name != LIB]
    return found


def version_folder(distribution: str, version: str, sha256: str) -> Path:
    """Return the folder in which a wheel is installed; it may not exist.

    Args:
        distribution: normalised name.
        version: version by PEP 440.
        sha256: hash of the wheel, in hex.
    """
    return shelf_folder() / distribution / f"{Version(version)}-{sha256[:NUM_DIGITS]}"


def distribution_of(folder: Path) -> str:
    """Return the normalised name of the distribution in a folder of the shelf, by the folder's path alone."""
    return folder.name if _is_old(folder) else folder.parent.name


def read_address(folder: Path) -> Entry:
    """Return what the path of a folder of the shelf says of its wheel, which cannot say more itself."""
    name = distribution_of(folder)
    version, _, digest = ("", "", "") if _is_old(folder) else folder.name.rpartition("-")
    return Entry(name, "", name, version, str(folder / LIB), digest)


def discard(folder: Path, bin_: Path) -> None:
    """Remove a wheel from the shelf by renaming; `bin_`, a new folder, then holds its files."""
    bin_.mkdir()
    inside = [folder / LIB, folder / _RECORD] if _is_old(folder) else [folder]
    for path in inside:
        if path.exists():
            path.rename(bin_ / path.name)
    outer = shelf_folder() / distribution_of(folder)
    with suppress(OSError):
        outer.rmdir()  # unless another version is there


def read_record(folder: Path) -> Installed:
    """Read what was installed into a folder of the shelf.

    Raises:
        PluginError: it cannot be read.
    """
    try:
        return msgspec.toml.decode((folder / _RECORD).read_bytes(), type=Installed)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise PluginError(
            f"what is installed in {folder} cannot be told ({error}); "
            f"arena bots remove {title_of(folder)}, then install it again"
        ) from error


def title_of(folder: Path) -> str:
    """Return what `arena bots remove` knows a folder of the shelf by: `my-bots@3f2a91c0`."""
    entry = read_address(folder)
    return entry.address if entry.digest else entry.name


def write_record(folder: Path, installed: Installed) -> None:
    """Write what `read_record` reads; names, versions and hashes hold nothing a TOML string must escape."""
    values = {
        key: value
        for key, value in msgspec.structs.asdict(installed).items()
        if isinstance(value, str) and value
    }
    lines = [f'{key} = "{value}"' for key, value in values.items()]
    lines += [f"installed_at = {installed.installed_at.isoformat()}", "", "[also]"]
    lines += [f'"{name}" = "{sha256}"' for name, sha256 in installed.also.items()]
    (folder / _RECORD).write_text("\n".join(lines) + "\n", encoding="utf-8")


def hash_files(folder: Path) -> str:
    """Give one SHA-256, in hex, of the names and contents of all files below a folder."""
    total = hashlib.sha256()
    for path in _files(folder):
        total.update(f"{path.relative_to(folder).as_posix()}\0".encode(errors="surrogateescape"))
        # What a link names may change without it.
        total.update(b"a link" if path.is_symlink() else hash_file(path).encode())
    return total.hexdigest()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a regular file, in hex.

    Raises:
        OSError: it cannot be read, or is a pipe or a device.
    """
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _subfolders(folder: Path) -> list[Path]:
    try:
        found = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [path for path in found if path.is_dir() and not path.name.startswith(".")]


def _is_old(folder: Path) -> bool:
    """Say whether a folder holds a wheel that an earlier release put there, without a version in its path."""
    return folder.parent == shelf_folder()


def _files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for parent, folders, files in os.walk(folder):
        found += [Path(parent, name) for name in files]
        found += [link for link in (Path(parent, name) for name in folders) if link.is_symlink()]
    return sorted(found)
