"""Limits for unpacking archives, checked by reading the whole archive before anything is written.

An archive of a few kilobytes can unpack to gigabytes, to links, or to paths outside its folder. The sizes in
its headers are only claims of its author, so the bytes are counted while they are decompressed.
"""

from __future__ import annotations

import re
import stat
import zipfile
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MAX_DEPTH = 32
"""Maximum number of parts of a path."""
_MAX_PART = 255
"""Maximum length in bytes of one part of a path, the limit of common file systems."""
_MAX_RATIO = 200
"""Maximum ratio of unpacked to packed bytes, for archives that unpack to more than `_SMALL` bytes."""
_SMALL = 10 << 20
"""Bytes up to which any ratio is accepted: source code may compress far, and an archive of this size is
harmless."""
_MAX_DIRECTORY = 8 << 20
"""Maximum size in bytes of a zip file's central directory, which zipfile reads into memory as a whole."""
_CHUNK = 1 << 20
"""Bytes unpacked at once, so that a bomb is noticed before it is in memory."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The compression methods that need only bounded memory; they are also those that build tools use."""
MAX_SHOWN = 200
"""Maximum number of characters of a name that a message shows: the name is chosen by an attacker."""
# Control characters, and the characters that Windows takes for a separator or a drive.
_BAD = re.compile(r"[\x00-\x1f\x7f\\:]")
_END, _END_64 = b"PK\x05\x06", b"PK\x06\x07"
_END_64_SIZE = 20
"""Bytes of the locator of ZIP64, which is directly before the end record."""
_DIRECTORY_SIZE = slice(12, 16)
"""The bytes of the end record that hold the size of the central directory, little-endian."""
_UNIX_MODE_AT = 16
"""Lowest bit of the Unix mode in a member's attributes; the mode is 0 if the archive has none."""
_END_SIZE = 22
"""Bytes of the end record of a zip file."""
_MAX_COMMENT = 1 << 16
"""Maximum bytes of the comment after the end record: one more than the format allows, since zipfile searches
that far."""


class Bounds(NamedTuple):
    """Limits of what an archive may unpack to."""

    max_bytes: int
    """Maximum number of bytes of all files, compressed as well as uncompressed."""
    max_files: int
    """Maximum number of files and folders."""


class Extent(NamedTuple):
    """What an archive unpacks to."""

    num_bytes: int
    num_files: int
    """Number of files and folders."""


class MemberNames:
    """The member names of one archive; each is checked when it is added."""

    def __init__(self, archive: str, max_files: int) -> None:
        """Start without names.

        Args:
            archive: the archive's name, for messages.
            max_files: maximum number of files and folders.
        """
        self._archive = archive
        self._max_files = max_files
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def add(self, name: str, *, is_folder: bool) -> str:
        """Add the name of a member; return it without a trailing slash.

        Raises:
            PluginError: it leads out of the archive, is not a valid path, is a duplicate, or is one too many.
        """
        parts = name.removesuffix("/").split("/")
        # Parts of dots alone, such as `..`, lead out; empty parts are those of absolute paths.
        if _BAD.search(name) or not all(part.strip(".") for part in parts) or not _fits(parts):
            raise PluginError(
                f"{self._archive} is refused: it contains the invalid name {name[:MAX_SHOWN]!a}"
            )
        if len(parts) > MAX_DEPTH:
            raise PluginError(
                f"{self._archive} is refused: {len(parts)} folders deep; at most {MAX_DEPTH} are allowed"
            )
        path = "/".join(parts)
        if path in self._files:
            raise PluginError(f"{self._archive} is refused: {path} is in it twice")
        above = ["/".join(parts[:count]) for count in range(1, len(parts))]
        self._folders.update(above)
        (self._folders if is_folder else self._files).add(path)
        if len(self) > self._max_files:
            raise PluginError(f"{self._archive} is refused: more than {self._max_files} files and folders")
        for each in (path, *above):
            if each in self._files and each in self._folders:
                raise PluginError(f"{self._archive} is refused: {each} is both a file and a folder")
        return path

    def __len__(self) -> int:
        """Return the number of files and folders added so far."""
        return len(self._files) + len(self._folders)


def check_zip(path: Path, bounds: Bounds) -> Extent:
    """Read a whole zip file without writing anything, and refuse one that must not be unpacked.

    Raises:
        PluginError: it is too large, has too many files or too deep folders, a link, a device, a bad or
            repeated name, or a compression method other than deflate.
        OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error: it is damaged.
    """
    size = path.stat().st_size
    _check_directory(path, size, bounds)
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        # Check the claims of the headers first, because that needs no decompression.
        extent = Extent(0, _check_members(path.name, members, bounds))
        largest = max(members, key=lambda member: member.file_size).filename if members else ""
        check_bytes(path.name, sum(member.file_size for member in members), size, bounds, largest)
        for member in members:
            with archive.open(member) as file:
                # zipfile compares the checksum at the end, so a damaged member is found here, too.
                while chunk := file.read(_CHUNK):
                    extent = extent._replace(num_bytes=extent.num_bytes + len(chunk))
                    check_bytes(path.name, extent.num_bytes, size, bounds, largest)
    return extent


def check_bytes(archive: str, num_bytes: int, size: int, bounds: Bounds, largest: str) -> None:
    """Check the unpacked size of an archive.

    Args:
        archive: the archive's name.
        num_bytes: the number of unpacked bytes counted so far.
        size: the archive's own size in bytes.
        bounds: the limits.
        largest: the name of its largest file, for the message.

    Raises:
        PluginError: a limit is exceeded.
    """
    if num_bytes <= _SMALL or num_bytes <= min(bounds.max_bytes, _MAX_RATIO * size):
        return
    bound = f"{bounds.max_bytes} bytes" if num_bytes > bounds.max_bytes else f"{_MAX_RATIO} times its size"
    raise PluginError(
        f"{archive} is refused: it unpacks to more than {bound} (its largest file is {largest})"
    )


def check_size(path: Path, size: int, bounds: Bounds) -> None:
    """Check the size of an archive file.

    Raises:
        PluginError: it is too large.
    """
    if size > bounds.max_bytes:
        raise PluginError(f"{path.name} is refused: it is larger than {bounds.max_bytes} bytes")


def is_executable(member: zipfile.ZipInfo) -> bool:
    """Return whether a member of a zip file is marked as executable."""
    return bool(member.external_attr >> _UNIX_MODE_AT & 0o111)


def _fits(parts: Sequence[str]) -> bool:
    """Return whether each part can be the name of a file or folder."""
    try:
        return all(len(part.encode()) <= _MAX_PART for part in parts)
    except UnicodeEncodeError:
        return False


def _check_directory(path: Path, size: int, bounds: Bounds) -> None:
    """Check the size of the central directory by the record at the end, located as zipfile does."""
    check_size(path, size, bounds)
    with path.open("rb") as file:
        # As far as zipfile looks: up to the earliest end record, and the locator before that.
        file.seek(max(0, size - _END_64_SIZE - _END_SIZE - _MAX_COMMENT))
        tail = file.read()
    # Without a comment the record is at the very end, and its last field, the length of the comment, is 0.
    # Otherwise the last one counts, as in zipfile: both must find the same one.
    start = len(tail) - _END_SIZE
    if not (tail[start : start + len(_END)] == _END and tail.endswith(b"\0\0")):
        start = tail.rfind(_END)
    if start < 0:
        return  # not a zip file, which zipfile will report
    if tail[max(0, start - _END_64_SIZE) : start].startswith(_END_64):
        raise PluginError(
            f"{path.name} is refused: it is a ZIP64 archive, made for more than 65,535 files or 4 GiB"
        )
    directory = int.from_bytes(tail[start:][_DIRECTORY_SIZE], "little")
    if directory > _MAX_DIRECTORY:
        raise PluginError(f"{path.name} is refused: its list of files has {directory} bytes")


def _check_members(archive: str, members: Sequence[zipfile.ZipInfo], bounds: Bounds) -> int:
    """Check the names, types and number of members; return the number of files and folders."""
    names = MemberNames(archive, bounds.max_files)
    for member in members:
        # zipfile cuts names at a NUL and converts other path separators to slashes; check the original name.
        if member.orig_filename != member.filename:
            names.add(member.orig_filename, is_folder=False)
        kind = stat.S_IFMT(member.external_attr >> _UNIX_MODE_AT)
        if kind not in (0, stat.S_IFDIR if member.is_dir() else stat.S_IFREG):
            raise PluginError(f"{archive} is refused: {member.filename} is a link or a device")
        if member.compress_type not in _METHODS:
            raise PluginError(
                f"{archive} is refused: {member.filename} uses an unsupported compression method; use deflate"
            )
        names.add(member.filename, is_folder=member.is_dir())
    return len(names)
