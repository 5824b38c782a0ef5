"""Puts files in place so that neither a crash nor a power cut leaves half of one, nor its parts for ever."""

from __future__ import annotations

import os
import re
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
"""What SQLite keeps beside a file that it writes, and the file."""
_MARK: Final = re.compile(r"(\d+)-(\d+)-([0-9a-f]{8})-([0-9a-f]{8})")
"""Process, its start, its machine and the start of its machine; see `_mark`."""
_PART: Final = re.compile(rf"\..+\.({_MARK.pattern})\.[0-9a-f]{{32}}\.part(-journal|-wal|-shm)?")
_UNREADABLE_S: Final = 60.0
"""Seconds after which a claim without a mark is nobody's: its maker was killed before it wrote that."""


def write_durably(path: Path, content: bytes) -> None:
    """Write a file that is there whole, or not at all, even after a power cut; it replaces one of its name.

    Raises:
        OSError: it cannot be written.
    """
    part = part_of(path)
    try:
        part.write_bytes(content)
        sync_file(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


@contextmanager
def written_durably(path: Path) -> Generator[IO[bytes]]:
    """Yield a file to write, which has its name once the block has ended without an error, whole and synced.

    Raises:
        FileExistsError: there is such a file.
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
    """Return a name beside a file, for what is to take its place when it is whole; it names this process."""
    return path.with_name(f".{path.name}.{_mark(current_owner())}.{uuid4().hex}.part")


def remove_part(part: Path) -> None:
    """Remove a part, and what SQLite keeps beside it; nothing where it has its name already.

    Raises:
        OSError: it cannot be removed.
    """
    for side in _SIDES:
        part.with_name(part.name + side).unlink(missing_ok=True)


def sweep_parts(folder: Path) -> None:
    """Remove the parts in a folder that processes of this machine left when they were killed.

    Only names that `part_of` makes are touched, and only those of processes that have ended for sure.
    """
    # A folder may let us write, and not look.
    with suppress(PermissionError):
        for part in _parts(folder):
            with suppress(OSError):
                part.unlink()


def take_name(part: Path, path: Path) -> None:
    """Rename a finished part to its name, which nothing may have; of two processes one succeeds.

    Raises:
        FileExistsError: something has that name.
        OSError: it cannot be given.
    """
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems (FAT, some in user space) have no links; a rename alone would replace a file.
        _rename_new(part, path)
    else:
        part.unlink()


def _rename_new(part: Path, path: Path) -> None:
    """Rename a part, while a claim beside it keeps other processes from taking the same name."""
    claim = path.with_name(f".{path.name}.claim")
    _clear_claim(claim)
    # Raises FileExistsError where another process is about to take the name.
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
    """Remove a claim whose process was killed."""
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
    """Return whether the process of a mark has ended for sure: nothing is known of other machines."""
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
    """Return when the content of a file is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk."""
    # Windows opens no folder, and needs no sync of one.
    with suppress(PermissionError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
