"""Writes the results of a tournament to a file when its store is lost, and merges them into a store again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import select

from arena_db import saving
from arena_db.corrections import origins
from arena_db.errors import ForeignError, RefusedError
from arena_db.files import written_durably
from arena_db.models import matches, tournaments
from arena_db.queries import list_tournament_matches
from arena_db.remarks import find_packed
from arena_db.spool_lines import decode, encode, uid_of
from arena_db.voiding import refuse_running

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Row

    from arena_db.fence import Fence
    from arena_db.records import MatchRecord
    from arena_db.spool_lines import SpoolLine

_BEFORE_ALL: Final = (0, -1)


def write(connection: Connection, fence: Fence, unsaved: Sequence[MatchRecord], target: Path) -> int:
    """Write all stored matches of a tournament, then the unsaved ones; return how many.

    Args:
        connection: a connection to the file that was opened.
        fence: the claim of the run; each line names it.
        unsaved: results of the same tournament; those that are stored as well are written once.
        target: a new file; it is complete at the end, or absent after an error.

    Raises:
        FileExistsError: the file exists.
        OSError: it cannot be written.
        DatabaseError: the store cannot be read.
    """
    uid, num = uid_of(connection, fence.tournament), 0
    with written_durably(target) as file:
        # The failed save may have committed: it also fails if the file is found to be gone afterwards.
        left = {(record.number, record.attempt): record for record in unsaved}
        for record in _stored(connection, fence.tournament):
            file.write(encode(record, fence.epoch, uid))
            left.pop((record.number, record.attempt), None)
            num += 1
        for record in left.values():
            file.write(encode(record, fence.epoch, uid))
    return num + len(left)


def write_unsaved(uid: str, fence: Fence, unsaved: Sequence[MatchRecord], target: Path) -> int:
    """Write only the results that were not saved; return how many; see `write`."""
    with written_durably(target) as file:
        for record in unsaved:
            file.write(encode(record, fence.epoch, uid))
    return len(unsaved)


def _stored(connection: Connection, tournament: int) -> Iterator[MatchRecord]:
    after = _BEFORE_ALL
    while page := list_tournament_matches(connection, tournament, after):
        # Matches are listed without their remarks.
        said = find_packed(connection, [match.id for match in page])
        for match in page:
            yield replace(match, remarks=said.get(match.id, b""))
        after = (page[-1].number, page[-1].attempt)


class RescueMerge(NamedTuple):
    """What merging a rescue file did."""

    tournament: int
    """Id of the tournament in this store."""
    num_results: int
    num_new: int
    """Number of results that were missing here."""
    num_unplanned: int
    """Results of matches that are not planned here: the store is older than the lost one."""


def is_rescue(path: Path) -> bool:
    """Return whether a file is a rescue file rather than a store; False if it cannot be read."""
    try:
        with path.open("rb") as file:
            # A line of results begins with a brace, a store with "SQLite format 3".
            return file.read(1) == b"{"
    except OSError:
        return False


def read(path: Path) -> list[SpoolLine]:
    """Return the results of a rescue file.

    Raises:
        ForeignError: a line is not a result, or the results belong to several tournaments.
        OSError: it cannot be read.
    """
    found: list[SpoolLine] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            found.append(decode(line))
        except (LookupError, ValueError, TypeError) as error:
            raise ForeignError(
                f"line {number} of {path} is not the result of a match: this is not a rescue file, or "
                "it was damaged; nothing was merged"
            ) from error
    if len({line.uid for line in found}) != 1 or not found[0].uid:
        raise ForeignError(f"{path} does not say which tournament its results belong to; nothing was merged")
    return found


def merge(connection: Connection, lines: Sequence[SpoolLine], path: Path) -> RescueMerge:
    """Store the missing results of a rescue file; its tournament is identified by its uid.

    Args:
        connection: holds the write lock.
        lines: what `read` returned.
        path: the file, for messages.

    Raises:
        RefusedError: the tournament is not in this store, is a copy or is being run, or a match is stored
            here with other moves.
    """
    uid = lines[0].uid
    row = connection.execute(select(tournaments).where(tournaments.c.uid == uid)).first()
    if row is None:
        raise RefusedError(
            f"{path} holds results of a tournament that is not in this store (uid {uid}); merge it into the "
            "lost store or a backup of it; nothing was merged"
        )
    if connection.scalar(select(origins.c.source).where(origins.c.tournament_id == row.id)) is not None:
        raise RefusedError(
            f"{row.name} is a copy here, and results are stored only where it is played; merge {path} into "
            "the store it came from"
        )
    # A run has read the plan already, and would play matches again whose results are stored now.
    refuse_running(connection, row.id)
    records = [replace(line.record, tournament=row.id) for line in lines]
    # Before the save, which skips matches that are stored here already, even with other moves.
    _compare(connection, row, records, path)
    # A backup may be older than the last batches of the plan: their matches cannot be stored in it, and are
    # reported.
    known = [record for record in records if record.number <= row.num_planned]
    try:
        num = saving.save(connection, known)
    except RefusedError as error:
        raise RefusedError(f"{path} does not fit {row.name}: {error}; nothing was merged") from error
    return RescueMerge(row.id, len(records), num, len(records) - len(known))


def _compare(
    connection: Connection, row: Row[*tuple[Any, ...]], records: Sequence[MatchRecord], path: Path
) -> None:
    """Refuse the results if one of their matches is stored here with other moves."""
    names = (matches.c.number, matches.c.attempt, matches.c.match_hash)
    here = {
        (number, attempt): match_hash.hex()
        for number, attempt, match_hash in connection.execute(
            select(*names).where(matches.c.tournament_id == row.id)
        )
    }
    for record in records:
        known = here.get((record.number, record.attempt))
        if known is not None and known != record.match_hash:
            raise RefusedError(
                f"match {record.number} of {row.name} is stored here with other moves than {path} has, so it "
                "was played again meanwhile; nothing was merged"
            )
