"""Writes files atomically and durably: a crash or power cut leaves neither half a file nor stray parts."""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import IO, TYPE_CHECKING, Final
from uuid import uuid4

from arena_db.owner import Owner, current_owner, is_alive

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

_SIDES: Final = ("", "-journal", "-wal", "-shm")
"""Suffixes of a file and of the files that SQLite keeps beside it."""
_MARK: Final = re.compile(r"(\d+)-(\d+)-([0-9a-f]{8})-([0-9a-f]{8})")
"""Process id, its start time, hash of its host, hash of its boot id; see `_mark`."""
_PART: Final = re.compile(rf"\..+\.({_MARK.pattern})\.[0-9a-f]{{32}}\.part(-journal|-wal|-shm)?")
_UNREADABLE_S: Final = 60.0
"""Seconds after which a claim file without a mark is stale: its maker was killed before writing the mark."""


def write_durably(path: Path, content: bytes) -> None:
    """Write a file atomically and durably; it replaces an existing one.

    After a power cut the file is complete or absent.

    Raises:
        OSError: it cannot be written.
    """
    part = part_of(path)
    try:
        part.write_bytes(content)
        # Before the rename: otherwise a power cut could leave the name with an empty file.
        sync_file(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    # The name is part of the folder, which is synced on its own.
    sync_folder(path.parent)


@contextmanager
def written_durably(path: Path) -> Generator[IO[bytes]]:
    """Yield a file to write; if the block ends without error, it is synced and gets its name.

    Raises:
        FileExistsError: the file exists.
        OSError: it cannot be written.
    """
    part = part_of(path)
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        take_name(part, path)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def part_of(path: Path) -> Path:
    """Return a temporary name beside a file for its content until it is complete; it names this process."""
    return path.with_name(f".{path.name}.{_mark(current_owner())}.{uuid4().hex}.part")


def remove_part(part: Path) -> None:
    """Remove a part and what SQLite keeps beside it; a part that was renamed already is ignored.

    Raises:
        OSError: it cannot be removed.
    """
    for side in _SIDES:
        part.with_name(part.name + side).unlink(missing_ok=True)


def sweep_parts(folder: Path) -> None:
    """Remove the parts in a folder that killed processes of this machine left behind.

    Only names made by `part_of` are removed, and only if their process has certainly ended.
    """
    # A folder may be writable without being readable.
    with suppress(PermissionError):
        for part in _parts(folder):
            with suppress(OSError):
                if part.is_dir():
                    shutil.rmtree(part)
                else:
                    part.unlink()


def take_name(part: Path, path: Path) -> None:
    """Rename a finished part to an unused name; of two competing processes only one succeeds.

    Raises:
        FileExistsError: the name is in use.
        OSError: it cannot be renamed.
    """
    try:
        # Fails if the name exists, in one step; a rename would replace that file.
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems (FAT, some in user space) have no hard links; `rename` alone would replace a file.
        _rename_new(part, path)
    else:
        part.unlink()


def _rename_new(part: Path, path: Path) -> None:
    """Rename a part, while a claim file beside it keeps other processes from using the same name."""
    claim = path.with_name(f".{path.name}.claim")
    _clear_claim(claim)
    # Raises FileExistsError if another process is about to use the name.
    descriptor = os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_mark(current_owner()).encode())
        if os.path.lexists(path):
            raise FileExistsError(f"{path} exists")
        part.rename(path)
    finally:
        claim.unlink(missing_ok=True)


def _clear_claim(claim: Path) -> None:
    """Remove a claim file whose process was killed."""
    with suppress(FileNotFoundError):
        mark = claim.read_text(encoding="ascii", errors="replace")
        is_unreadable = not _MARK.fullmatch(mark)
        if _has_ended(mark) or (is_unreadable and time.time() - claim.stat().st_mtime > _UNREADABLE_S):
            claim.unlink()


def _parts(folder: Path) -> Iterator[Path]:
    """Yield the parts of processes that have ended."""
    for file in folder.iterdir():
        found = _PART.fullmatch(file.name)
        if found and _has_ended(found[1]):
            yield file


def _mark(owner: Owner) -> str:
    return f"{owner.pid}-{owner.pid_start}-{_short(owner.host)}-{_short(owner.boot_id)}"


def _has_ended(mark: str) -> bool:
    """Return whether the process of a mark has certainly ended; processes of other machines are unknown."""
    found = _MARK.fullmatch(mark)
    own = current_owner()
    if found is None or found[3] != _short(own.host) or not own.boot_id:
        return False
    boot_id = own.boot_id if found[4] == _short(own.boot_id) else "before the last start"
    owner = Owner(uuid="", host=own.host, boot_id=boot_id, pid=int(found[1]), pid_start=int(found[2]))
    return is_alive(owner) is False


def _short(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]


def sync_file(path: Path) -> None:
    """Flush the content of a file to the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    # Windows cannot open a folder, and does not need it to be synced.
    with suppress(PermissionError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
