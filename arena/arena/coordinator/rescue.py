"""Saves the results of a run whose store was removed, moved or replaced during the run."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from arena.errors import ArenaError
from arena.home import home
from arena_db.errors import AwayError, DatabaseError, MovedError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_MOST_FILES = 99
"""Maximum number of rescue files of one tournament."""
_MAX_NAME = 100
"""Maximum number of characters of a tournament's name in the name of a file."""


@contextmanager
def rescuing(store: Store, tournament: TournamentRecord) -> Generator[None]:
    """Write the results of a tournament to a rescue file if its store is lost within a `with` block.

    Args:
        store: the store of the run.
        tournament: the running tournament.

    Raises:
        MovedError: the store was removed, moved or replaced; the text names the file, and how to merge it.
        AwayError: the server cannot be reached; the text names the file with the results it did not store.
    """
    try:
        yield
    # The open file can still be read, so all results are written. A server that is away cannot be read, so
    # only the results of the last save are.
    except MovedError as error:
        raise MovedError(f"{error}; {_rescue(store, tournament)}") from error
    except AwayError as error:
        raise AwayError(f"{error}; {_keep_unsaved(store, tournament)}") from error


def _keep_unsaved(store: Store, tournament: TournamentRecord) -> str:
    """Write the results that the server did not store; return a text with the file and how to merge it."""
    target = _free_name(home().absolute() / "rescue", tournament)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        num = store.transfers.rescue_unsaved(target, tournament.uid)
    except (DatabaseError, OSError) as error:
        return f"play has ended, and the last results could not be written to {target}: {error}"
    goes_on = f"arena resume {tournament.name} continues it once the server answers"
    if not num:
        return f"play has ended, and every result is stored; {goes_on}"
    return (
        f"play has ended, and {num} results that it did not store are in {target}: arena db merge {target} "
        f"stores them; {goes_on}"
    )


def _rescue(store: Store, tournament: TournamentRecord) -> str:
    """Write the file; return a text with its place and how to merge it, or why there is none."""
    target = _free_name(home().absolute() / "rescue", tournament)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        num = store.transfers.rescue(target)
    except (DatabaseError, OSError) as error:
        return f"play has ended, and the results could not be written to {target}: {error}"
    return (
        f"play has ended, and all {num} results of {tournament.name} are in {target}; restore the store, "
        f"or a backup of it, then arena db merge {target} stores those that are missing, and arena resume "
        f"{tournament.name} continues it"
    )


def _free_name(folder: Path, tournament: TournamentRecord) -> Path:
    # A name may contain characters that are not valid in file names.
    name = re.sub(r"[^\w.-]", "_", tournament.name)[:_MAX_NAME]
    for number in range(1, _MOST_FILES + 1):
        target = folder / f"{name}-{tournament.uid[:8]}{'' if number == 1 else f'-{number}'}.spool"
        if not target.exists():
            return target
    raise ArenaError(f"{folder} has {_MOST_FILES} rescue files of {tournament.name}; move them away")
