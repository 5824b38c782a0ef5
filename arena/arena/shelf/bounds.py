"""Bounds of what a wheel may unpack to, checked by reading it through before anything is written.

A wheel of a few kilobytes can unpack to gigabytes, to links or to paths outside its folder. Sizes in the
headers of a zip file are what its author claims, so the bytes are counted as they are decompressed.
"""

from __future__ import annotations

import re
import stat
import zipfile
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import PluginError

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 2 << 30
"""Bytes of all files, compressed and not."""
MAX_FILES = 20_000
"""Files and folders."""
_MAX_DEPTH = 32
"""Parts of a path."""
_MAX_RATIO = 200
"""Bytes for each byte of the wheel, of wheels that unpack to more than `_SMALL`."""
_SMALL = 10 << 20
_MAX_DIRECTORY = 8 << 20
"""Bytes of the list of files at the end of a wheel, which zipfile reads whole."""
_CHUNK = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The only ones that decompress in bounded memory, and the ones that build tools use."""
_BAD = re.compile(r"[\x00-\x1f\x7f\\:]")
_END, _END_64 = b"PK\x05\x06", b"PK\x06\x07"
_END_SIZE = 22
_MAX_COMMENT = (1 << 16) - 1


class Extent(NamedTuple):
    """How much a wheel unpacks to."""

    num_bytes: int
    num_files: int
    """Files and folders."""


def check_bounds(path: Path) -> Extent:
    """Read a whole wheel without writing anything, and refuse what must not be unpacked.

    Raises:
        PluginError: too much, too many files, too deep, a link, a device, a bad or repeated name, or a
            compression that wheels do not use.
        OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error: it is damaged.
    """
    size = path.stat().st_size
    _check_directory(path, size)
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        # Cheap first: what the headers admit to needs no reading.
        extent = Extent(0, _check_names(path.name, members))
        _check_bytes(path.name, sum(member.file_size for member in members), size, members)
        for member in members:
            with archive.open(member) as file:
                while chunk := file.read(_CHUNK):
                    extent = extent._replace(num_bytes=extent.num_bytes + len(chunk))
                    _check_bytes(path.name, extent.num_bytes, size, members)
    return extent


def check_sum(wheels: str, extents: list[Extent]) -> None:
    """See that wheels unpacked into one folder keep the bounds together.

    Raises:
        PluginError: they do not.
    """
    num_bytes, num_files = (sum(values) for values in zip(*extents, strict=True))
    if num_bytes > MAX_BYTES or num_files > MAX_FILES:
        raise PluginError(
            f"{wheels} with all it needs is refused: {num_bytes} bytes in {num_files} files and folders; "
            f"at most {MAX_BYTES} bytes in {MAX_FILES} are installed"
        )


def _check_directory(path: Path, size: int) -> None:
    """Check the size of the list of files by the record at the end, which is found as zipfile finds it."""
    if size > MAX_BYTES:
        raise PluginError(f"{path.name} is refused: it is larger than {MAX_BYTES} bytes")
    with path.open("rb") as file:
        file.seek(max(0, size - _END_SIZE - _MAX_COMMENT))
        tail = file.read()
    start = len(tail) - _END_SIZE
    if not (tail[start : start + 4] == _END and tail.endswith(b"\0\0")):
        start = tail.rfind(_END)
    if start < 0:
        return  # no zip file at all, as zipfile will say
    if tail[max(0, start - 20) : start].startswith(_END_64):
        raise PluginError(f"{path.name} is refused: it has the form for more than 65,535 files or 4 GiB")
    directory = int.from_bytes(tail[start + 12 : start + 16], "little")
    if directory > _MAX_DIRECTORY:
        raise PluginError(f"{path.name} is refused: its list of files has {directory} bytes")


def _check_names(wheel: str, members: list[zipfile.ZipInfo]) -> int:
    """Check names, kinds and number of files; return the number of files and folders."""
    files: set[str] = set()
    folders: set[str] = set()
    for member in members:
        # zipfile cuts a name at a NUL, and turns what separates folders elsewhere into a slash.
        parts = member.filename.removesuffix("/").split("/")
        if _BAD.search(member.orig_filename) or not all(part.strip(".") for part in parts):
            raise PluginError(f"{wheel} is refused: a file in it is called {member.orig_filename[:200]!r}")
        if len(parts) > _MAX_DEPTH:
            raise PluginError(
                f"{wheel} is refused: {len(parts)} folders in each other, at most {_MAX_DEPTH} may"
            )
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFDIR if member.is_dir() else stat.S_IFREG):
            raise PluginError(f"{wheel} is refused: {member.filename} is a link or a device")
        if member.compress_type not in _METHODS:
            raise PluginError(
                f"{wheel} is refused: {member.filename} is compressed in a way wheels do not use"
            )
        name = "/".join(parts)
        if name in files:
            raise PluginError(f"{wheel} is refused: {member.filename} is in it twice")
        folders.update("/".join(parts[:count]) for count in range(1, len(parts)))
        (folders if member.is_dir() else files).add(name)
        if len(files) + len(folders) > MAX_FILES:
            raise PluginError(f"{wheel} is refused: more than {MAX_FILES} files and folders")
    if both := files & folders:
        raise PluginError(f"{wheel} is refused: {min(both)} is a file and a folder")
    return len(files) + len(folders)


def _check_bytes(wheel: str, num_bytes: int, size: int, members: list[zipfile.ZipInfo]) -> None:
    if num_bytes <= _SMALL or num_bytes <= min(MAX_BYTES, _MAX_RATIO * size):
        return
    largest = max(members, key=lambda member: member.file_size)
    bound = f"{MAX_BYTES} bytes" if num_bytes > MAX_BYTES else f"{_MAX_RATIO} times its size"
    raise PluginError(
        f"{wheel} is refused: it unpacks to more than {bound} (its largest file is {largest.filename})"
    )
