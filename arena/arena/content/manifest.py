"""Hashes and copies the files of a competitor: the list of files, and the hash that identifies them."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from arena.content.collect import MAX_BYTES, unreadable
from arena.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Generator

    from arena.content.collect import Collection


class FileEntry(msgspec.Struct, frozen=True, array_like=True):
    """One file of a content."""

    path: str
    """Path relative to the content, with `/` as separator."""
    is_executable: bool
    size: int
    """Size in bytes."""
    sha256: str
    """SHA-256 in hex."""


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """All files of a content, and what they need in addition."""

    files: tuple[FileEntry, ...]
    """The files, sorted by path."""
    needs: dict[str, str] = {}
    """Distributions that the files belong to or use, with versions; empty for bundled bots. Modules in a
    virtual environment that belong to no distribution are listed with their SHA-256."""

    @property
    def tree_hash(self) -> str:
        """SHA-256 in hex over paths, executable bits, sizes, file hashes and needs, in canonical order."""
        # Sorted and without blanks, so that one content has one text, on every machine. The text is part of
        # the identity of stored competitors: any change of its form would make all of them new ones.
        rows = sorted(msgspec.structs.astuple(file) for file in self.files)
        canonical = json.dumps([rows, self.needs], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    @property
    def num_bytes(self) -> int:
        """Total size of all files in bytes."""
        return sum(file.size for file in self.files)


MTIME_S = 946_684_800
"""Modification time of all copies, 2000-01-01 UTC; bytecode and compiled kernels are keyed by source time."""
_FILE, _PROGRAM, _FOLDER = 0o444, 0o555, 0o555
"""Modes of copies; they are readable by all users, because bots of an arena run by root have other users."""
_CHUNK = 1 << 20
"""Bytes that are hashed and written at once: files of weights need not fit into memory."""
_SMALL = 1 << 16
"""Bytes that are read at once of smaller files."""
# A link put in place of a file after the check is refused, and opening a named pipe does not wait for a
# writer. No child process inherits a descriptor.
_OPEN = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)
# Never writes through a file or a link that is already there.
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


def hash_collection(collection: Collection, *, remembers: bool = False) -> Inventory:
    """Hash the files of a collection in place.

    Args:
        collection: the files.
        remembers: whether to reuse the hash of a file that this process has hashed before, if its status is
            unchanged. Meant for views that ask repeatedly; content that is played must be read.

    Raises:
        PluginError: a file cannot be read, is not a regular file, or the total size is too large.
    """
    left = MAX_BYTES
    entries: list[FileEntry] = []
    for path, source in sorted(collection.files.items()):
        try:
            # The total was checked when the files were collected, but a file may have grown since.
            entry = _remembered(path, source) if remembers else _hash(path, source, left)
        except OSError as error:
            raise unreadable(collection.what, source, error) from error
        left -= entry.size
        entries.append(entry)
    return Inventory(files=tuple(entries), needs=collection.needs)


_hashed: ContextVar[dict[tuple[str, Path, tuple[int, ...]], FileEntry] | None] = ContextVar(
    "_hashed", default=None
)
"""Files that were hashed in this block of `hashing_once`, by path, source and status."""


@contextmanager
def hashing_once() -> Generator[None]:
    """Hash a file only once within a `with` block that enters several bots, unless its status changes.

    All bundled bots have the same files. The block must be short: afterwards each file is read again, because
    a status has a resolution of milliseconds, and a program that maps a file may change it without a trace.
    """
    token = _hashed.set({})
    try:
        yield
    finally:
        _hashed.reset(token)


def _hash(path: str, source: Path, left: int) -> FileEntry:
    known = _hashed.get()
    if known is None:
        return _read(path, source, None, left)
    key = path, source, _status(source)
    if key not in known or known[key].size > left:
        known[key] = _read(path, source, None, left)
    return known[key]


def copy_collection(collection: Collection, folder: Path) -> Inventory:
    """Copy the files of a collection into an empty folder, and hash the bytes that are written.

    The copies and their folders are read-only with a fixed modification time, except for `folder` itself.

    Raises:
        PluginError: a file cannot be read, is not a regular file, or the total size is too large.
        OSError: the folder cannot be written.
    """
    left = MAX_BYTES
    entries: list[FileEntry] = []
    for path, source in sorted(collection.files.items()):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        entry = _copy_one(collection.what, path, source, target, left)
        left -= entry.size
        entries.append(entry)
    for parent, _, _ in os.walk(folder, topdown=False):
        if Path(parent) != folder:
            seal_folder(Path(parent))
    return Inventory(files=tuple(entries), needs=collection.needs)


def seal_folder(folder: Path) -> None:
    """Make a folder read-only, with the fixed modification time of copies."""
    os.utime(folder, (MTIME_S, MTIME_S))
    folder.chmod(_FOLDER)


def _copy_one(what: str, path: str, source: Path, target: Path, left: int) -> FileEntry:
    try:
        # Outside of the block that writes, so that a source that cannot be opened is told from a full disk.
        opened = os.open(source, _OPEN)
    except OSError as error:
        raise unreadable(what, source, error) from error
    try:
        writer = os.open(target, _CREATE, 0o600)
        try:
            entry = _read(path, source, writer, left, opened=opened)
            os.utime(target, (MTIME_S, MTIME_S))
            target.chmod(_PROGRAM if entry.is_executable else _FILE)
        finally:
            os.close(writer)
    finally:
        os.close(opened)
    return entry


def _read(path: str, source: Path, writer: int | None, left: int, *, opened: int | None = None) -> FileEntry:
    """Read a file to its end and hash it; also write it to the descriptor `writer`, if given."""
    reader = os.open(source, _OPEN) if opened is None else opened
    try:
        # The status of the opened file: its path may name another one by now.
        status = os.fstat(reader)
        if not stat.S_ISREG(status.st_mode):
            raise PluginError(f"{source} is no longer a regular file; restore it, or leave it out")
        digest, size = hashlib.sha256(), 0
        # A large buffer takes longer than hashing a small file.
        at_once = min(_CHUNK, max(_SMALL, status.st_size + 1))
        while chunk := os.read(reader, at_once):
            digest.update(chunk)
            size += len(chunk)
            if size > left:
                raise PluginError(f"{source} grew past {MAX_BYTES >> 30} GiB in all; leave it out")
            while writer is not None and chunk:
                # A write may take only a part, as on a disk that is nearly full.
                chunk = chunk[os.write(writer, chunk) :]
    finally:
        if opened is None:
            os.close(reader)
    return FileEntry(path, bool(status.st_mode & 0o111), size, digest.hexdigest())


def _remembered(path: str, source: Path) -> FileEntry:
    return _remembered_entry(path, source, *_status(source))


def _status(source: Path) -> tuple[int, ...]:
    found = source.lstat()
    # Programs cannot set a file's ctime, so a changed file has another state even if its mtime was set back.
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode


_MAX_REMEMBERED = 1 << 14
"""Number of files whose hashes a process keeps."""


@lru_cache(maxsize=_MAX_REMEMBERED)
def _remembered_entry(path: str, source: Path, *state: int) -> FileEntry:
    del state
    return _read(path, source, None, MAX_BYTES)
