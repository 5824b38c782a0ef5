"""Moves a store aside to replace it.

After a crash, the next process that opens the store completes or undoes the move.
"""

from __future__ import annotations

import glob
import json
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from arena_db.backend.sqlite.engine import writer_lock
from arena_db.errors import LockedError
from arena_db.files import part_of, remove_part, sweep_parts, sync_folder, write_durably

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from arena_db.backend.sqlite.engine import FileSettings


_SUFFIXES: Final = ("-shm", "-wal", "-spool", "")
"""Files of a store, in the order in which they are moved. A log without its file could become the log of
another store; a file without its log is not opened by anyone while the note exists."""


class StoreMove(NamedTuple):
    """The note that is written before anything is moved."""

    old: Path
    """New place of the old store."""
    part: Path
    """Temporary name of the new store."""


@contextmanager
def moving(settings: FileSettings) -> Generator[StoreMove]:
    """Exclude other moves of this store; afterwards, even after an error, no file is moved halfway.

    Raises:
        LockedError: another process is moving it.
    """
    path = settings.place
    with writer_lock(settings, always=True):
        _undo(path)
        sweep_parts(path.parent)
        # With the lock held no other process is writing a note: these parts belong to killed processes.
        for leftover in path.parent.glob(f".{glob.escape(_note_of(path).name)}.*.part"):
            leftover.unlink()
        move = StoreMove(_free_name(path), part_of(path))
        names = json.dumps({"old": move.old.name, "part": move.part.name})
        # On the disk before anything is moved, so that a move can be undone from any point.
        write_durably(_note_of(path), names.encode())
        try:
            yield move
        finally:
            _undo(path)


def settle(settings: FileSettings) -> None:
    """Undo a move that was interrupted by a crash, if there was one.

    Raises:
        LockedError: the move is still going on, or this store is opened read-only.
    """
    if not _note_of(settings.place).exists():
        return
    if settings.read_only:
        raise LockedError(
            f"{settings.place} is being restored, or a restore was interrupted: a command that writes, "
            "such as `arena db upgrade`, completes it"
        )
    with writer_lock(settings, always=True):
        _undo(settings.place)


def move_aside(path: Path, old: Path) -> bool:
    """Move a store and the files that belong to it; return whether there was one."""
    is_store = path.exists()
    for suffix in _SUFFIXES:
        with suppress(FileNotFoundError):
            _sibling(path, suffix).rename(_sibling(old, suffix))
    sync_folder(path.parent)
    return is_store


def _undo(path: Path) -> None:
    """Move back the files that were moved aside, unless the new store is in place; remove the note."""
    note = _note_of(path)
    try:
        names = json.loads(note.read_bytes())
    except FileNotFoundError:
        return
    old, part = path.with_name(names["old"]), path.with_name(names["part"])
    # The new store is in place once its part was renamed; before that, the old one is moved back.
    if part.exists() or not path.exists():
        # Back in reverse order, so that this name never has a log without its file.
        for suffix in reversed(_SUFFIXES):
            with suppress(FileNotFoundError):
                _sibling(old, suffix).rename(_sibling(path, suffix))
        remove_part(part)
    sync_folder(path.parent)
    # The note is the only trace of the move, so it is removed after the names above are on the disk.
    note.unlink()
    sync_folder(path.parent)


def _note_of(path: Path) -> Path:
    return _sibling(path, "-restore")


def _sibling(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _free_name(target: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    old, number = _sibling(target, f".{stamp}.old"), 1
    while any(_sibling(old, suffix).exists() for suffix in _SUFFIXES):
        number += 1
        old = _sibling(target, f".{stamp}-{number}.old")
    return old
