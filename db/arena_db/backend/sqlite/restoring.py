"""Replaces a store with a backup, and keeps the old store."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from arena_db.backend.sqlite.backup import copy_whole
from arena_db.backend.sqlite.engine import FileSettings, make_engine, open_raw
from arena_db.backend.sqlite.moving import move_aside, moving
from arena_db.backend.sqlite.opening import read_revision
from arena_db.backend.sqlite.schema import find_differences
from arena_db.coordination import held_by_living
from arena_db.errors import (
    AlteredError,
    DamagedError,
    ForeignError,
    LockedError,
    MissingError,
    NewerError,
    TakenError,
)
from arena_db.failures import translated
from arena_db.files import sync_folder

if TYPE_CHECKING:
    from pathlib import Path


def restore(backup: Path, settings: FileSettings) -> Path | None:
    """Replace a store with a copy of a backup.

    Returns:
        The new place of the old store, with its log and its waiting results beside it; None if there was no
            old store.

    Raises:
        LockedError: a tournament of the old store is being run.
        MissingError: there is no backup.
        TakenError: the backup is the store itself.
        ForeignError: the backup, or the file in the place of the store, is not a store; it stays unchanged.
        AlteredError: the backup has a table, trigger or rule that is not part of its revision.
        NewerError: one of them was made by a newer version.
        DamagedError: the backup is damaged.
    """
    backup, target = backup.absolute(), settings.place
    _check_backup(replace(settings, place=backup))
    if target.exists() and target.samefile(backup):
        raise TakenError(f"{backup} is the store itself; name a backup of it")
    with moving(settings) as move:
        _check_target(settings)
        # The copy is complete and checked before the old store leaves its place.
        copy_whole(replace(settings, place=backup), move.part)
        is_kept = move_aside(target, move.old)
        # From this rename on, `moving` keeps the new store; after a crash before it, the old one is moved
        # back.
        move.part.replace(target)
        sync_folder(target.parent)
    return move.old if is_kept else None


def _check_backup(settings: FileSettings) -> None:
    path = settings.place
    if not path.is_file():
        raise MissingError(f"no backup at {path}; `arena db backup FILE` makes one")
    with closing(open_raw(replace(settings, read_only=True))) as raw:
        revision = read_revision(raw, settings)
        if revision is None:
            raise ForeignError(f"{path} is empty; name a backup of a store")
        differences = find_differences(raw, revision)
    if differences:
        raise AlteredError(
            f"{path} is not a backup made by arena: {differences[0]}{_and_more(len(differences) - 1)}; "
            "nothing was restored; name another backup"
        )


def _and_more(num: int) -> str:
    return f" (and {num} more)" if num else ""


def _check_target(settings: FileSettings) -> None:
    """Refuse to move a store in use or a foreign file; one too damaged to be examined may be moved."""
    path, reading = settings.place, replace(settings, read_only=True)
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        with closing(open_raw(reading)) as raw:
            read_revision(raw, settings)
        engine = make_engine(reading)
        try:
            with translated(path), engine.connect() as connection:
                held = held_by_living(connection)
        finally:
            engine.dispose()
    except DamagedError:
        # It is moved aside as a whole, so nothing of it is lost.
        return
    except (AlteredError, ForeignError, NewerError) as error:
        raise type(error)(f"{error}; to put a backup in its place, move it away first") from error
    if held is not None:
        raise LockedError(f"{path} is in use: {held} is being run; arena stop {held} stops it")
