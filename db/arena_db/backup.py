"""Copies a store that may be in use to another file, whole or not at all."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from arena_db.engine import Settings, open_raw
from arena_db.errors import AccessError, DamagedError, TakenError
from arena_db.failures import explain
from arena_db.files import part_of, sync_file, sync_folder

if TYPE_CHECKING:
    from pathlib import Path


def copy_to(settings: Settings, target: Path) -> None:
    """Copy a store to a new file: first beside it, checked and synced, then renamed.

    Raises:
        TakenError: the target exists.
        DamagedError: the copy does not pass SQLite's check.
        DatabaseError: reading or writing failed.
    """
    target = target.absolute()
    try:
        # The name is taken first, so that of two backups to one file one is refused.
        target.touch(exist_ok=False)
    except FileExistsError as error:
        raise TakenError(f"{target} exists; give a backup a new name") from error
    except OSError as error:
        raise AccessError(f"cannot write {target}: {error}") from error
    part = part_of(target)
    try:
        copy_whole(settings, part)
        part.replace(target)
    except BaseException:
        target.unlink()
        part.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def copy_whole(settings: Settings, part: Path) -> None:
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
            # The check of the copy evaluates the rules of its tables.
            copy.execute("PRAGMA trusted_schema=off").fetchall()
            source.backup(copy)
            # Without a log of its own the copy is one file, whatever happens to it.
            copy.execute("PRAGMA journal_mode=delete").fetchall()
            faults = [str(row[0]) for row in copy.execute("PRAGMA integrity_check")]
    except (module.Error, UnicodeDecodeError) as error:
        raise explain(error, settings.path) from error
    if faults != ["ok"]:
        raise DamagedError(f"{settings.path} is damaged ({faults[0]}); the copy was not kept")
    sync_file(part)
