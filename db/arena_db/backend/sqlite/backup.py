"""Copies a store that may be in use to another file, completely or not at all."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from arena_db.backend.sqlite.engine import FileSettings, open_raw
from arena_db.errors import AccessError, DamagedError, TakenError
from arena_db.failures import explain
from arena_db.files import part_of, remove_part, sweep_parts, sync_file, sync_folder, take_name

if TYPE_CHECKING:
    from pathlib import Path


def copy_to(settings: FileSettings, target: Path) -> None:
    """Copy a store to a new file; it gets its name only after the copy was checked and synced.

    A process that is killed meanwhile leaves a complete backup or none. Its unfinished copy is removed by the
    next backup into the same folder.

    Raises:
        TakenError: the target exists.
        DamagedError: the copy does not pass SQLite's check.
        DatabaseError: reading or writing failed.
    """
    target = target.absolute()
    # Before the copy, which may take minutes; `take_name` decides at its end.
    if os.path.lexists(target):
        raise _taken(target)
    part = part_of(target)
    try:
        sweep_parts(target.parent)
        part.touch(exist_ok=False)
    except OSError as error:
        raise AccessError(f"cannot write {target}: {error}") from error
    try:
        copy_whole(settings, part)
        try:
            take_name(part, target)
        except FileExistsError as error:
            raise _taken(target) from error
    finally:
        remove_part(part)
    sync_folder(target.parent)


def _taken(target: Path) -> TakenError:
    return TakenError(f"{target} exists; give a backup a new name")


def copy_whole(settings: FileSettings, part: Path) -> None:
    """Copy a store, its write-ahead log included, to one file; check the copy and sync it.

    Raises:
        DamagedError: the copy does not pass SQLite's check.
        DatabaseError: reading or writing failed.
    """
    module = settings.driver.module
    try:
        with (
            closing(open_raw(replace(settings, read_only=True))) as source,
            closing(module.connect(part)) as copy,
        ):
            # The check evaluates expressions of the schema, so these must not have side effects.
            copy.execute("PRAGMA trusted_schema=off").fetchall()
            # All pages in one step, which reads one snapshot. In several steps, each commit of a run in
            # between would restart the copy.
            source.backup(copy)
            # Without write-ahead logging the copy is a single file.
            copy.execute("PRAGMA journal_mode=delete").fetchall()
            faults = [str(row[0]) for row in copy.execute("PRAGMA integrity_check")]
    except (module.Error, UnicodeDecodeError) as error:
        raise explain(error, settings.place) from error
    if faults != ["ok"]:
        raise DamagedError(f"{settings.place} is damaged ({faults[0]}); the copy was not kept")
    sync_file(part)
