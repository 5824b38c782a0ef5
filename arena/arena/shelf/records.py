"""The folders of installed wheels: `lib` contains the unpacked files, `install.toml` records their origin.

A wheel is installed in `bots/<distribution>/<version>-<hash8>/`, so that several versions can coexist.
Earlier releases used `bots/<distribution>/` itself. Such a folder stays in use until it is removed, because a
running tournament may start bots from it.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from arena.errors import PluginError
from arena.home import home
from arena_plugins.entries import NUM_DIGITS, Entry
from arena_plugins.regular import open_regular

LIB = "lib"
"""Subfolder of a wheel's folder that comes first on the path of its bots."""
_RECORD = "install.toml"


class Installed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One installed wheel."""

    distribution: str
    """Its name as in its metadata."""
    version: str
    wheel: str
    """The name of the wheel file."""
    sha256: str
    """SHA-256 of the wheel file, which identifies its bots."""
    installed_at: datetime
    files: str
    """Hash of all unpacked files, as computed by `hash_files`."""
    also: dict[str, str]
    """Wheels of requirements that were unpacked with it, from file name to SHA-256."""
    bot: str = ""
    """The name given to its only bot by `--as`; empty if its bots have the names of the wheel."""


def shelf_folder() -> Path:
    """Return the folder that contains one folder per distribution; it may not exist."""
    return home().absolute() / "bots"


def wheel_folders() -> list[Path]:
    """Return the folders of the installed wheels, sorted; hidden folders of unfinished work are skipped."""
    found: list[Path] = []
    for folder in _subfolders(shelf_folder()):
        found += [folder] if (folder / LIB).exists() or (folder / _RECORD).exists() else []
        found += [path for path in _subfolders(folder) if path.name != LIB]
    return found


def version_folder(distribution: str, version: str, sha256: str) -> Path:
    """Return the folder in which a wheel is installed; it may not exist.

    Args:
        distribution: the normalised name.
        version: the version by PEP 440.
        sha256: SHA-256 of the wheel, in hex.
    """
    from packaging.version import Version

    return shelf_folder() / distribution / f"{Version(version)}-{sha256[:NUM_DIGITS]}"


def distribution_of(folder: Path) -> str:
    """Return the normalised name of the distribution in a wheel's folder, from the folder's path alone."""
    return folder.name if _is_old(folder) else folder.parent.name


def read_address(folder: Path) -> Entry:
    """Return what the path of a wheel's folder tells about the wheel, for folders with a damaged record."""
    name = distribution_of(folder)
    version, _, digest = ("", "", "") if _is_old(folder) else folder.name.rpartition("-")
    return Entry(name, "", name, version, str(folder / LIB), digest)


def discard(folder: Path, bin_: Path) -> None:
    """Uninstall a wheel by renaming its folder to the new folder `bin_`, which then contains its files."""
    bin_.mkdir()
    inside = [folder / LIB, folder / _RECORD] if _is_old(folder) else [folder]
    for path in inside:
        if path.exists():
            path.rename(bin_ / path.name)
    outer = shelf_folder() / distribution_of(folder)
    with suppress(OSError):
        outer.rmdir()  # fails if another version is installed


def read_record(folder: Path) -> Installed:
    """Read the installation record of a wheel's folder.

    Raises:
        PluginError: it cannot be read.
    """
    try:
        return msgspec.toml.decode((folder / _RECORD).read_bytes(), type=Installed)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise PluginError(
            f"the installation record in {folder} cannot be read ({error}); "
            f"arena bots remove {title_of(folder)}, then install it again"
        ) from error


def title_of(folder: Path) -> str:
    """Return the name by which `arena bots remove` knows a wheel's folder: `my-bots@3f2a91c0`."""
    entry = read_address(folder)
    return entry.address if entry.digest else entry.name


def write_record(folder: Path, installed: Installed) -> None:
    """Write an installation record; names, versions and hashes need no escaping in TOML strings."""
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
    """Return a SHA-256 in hex over the names and contents of all files below a folder."""
    total = hashlib.sha256()
    for path in _files(folder):
        total.update(f"{path.relative_to(folder).as_posix()}\0".encode(errors="surrogateescape"))
        # Links are not followed, because their targets can change independently.
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
    """Return whether a folder was made by an earlier release, without a version in its path."""
    return folder.parent == shelf_folder()


def _files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for parent, folders, files in os.walk(folder):
        found += [Path(parent, name) for name in files]
        found += [link for link in (Path(parent, name) for name in folders) if link.is_symlink()]
    return sorted(found)
