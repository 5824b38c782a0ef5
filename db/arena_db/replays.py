"""Stored ratings of tournaments that were paired by their own results, corrected by replaying them."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import delete, func, insert, select, text

from arena_db import points, seals
from arena_db.cold_tables import cold_tournaments
from arena_db.counted import COUNTS
from arena_db.errors import DamagedError, RefusedError
from arena_db.kept import replays
from arena_db.models import entrants, matches, tournaments

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Row

    from arena_db.access import Access
    from arena_db.points import RatingPoint

__all__ = ["ReplayRecord", "StoredRatings"]


_BYTES: Final = 8
"""Bytes of a float."""


class ReplayRecord(NamedTuple):
    """Replayed ratings of a tournament, and the matches they are computed from."""

    num_matches: int
    """Number of rated matches."""
    last_match: int
    """Id of the last of them."""
    slope: float
    """Factor by which a plain fit overestimates the spread of such a field."""
    weight: float
    """Weight of a match of this tournament relative to one of others, by variance; above 0, at most 1."""
    strength: tuple[float, ...]
    """Elo above the mean of the field, by seat."""
    away: tuple[tuple[float, ...], ...]
    """Error of the ratings in each replay, Elo, by seat."""


def find(connection: Connection, tournament: int) -> ReplayRecord | None:
    """Return the replayed ratings of a tournament; None if there are none for its present matches."""
    row = connection.execute(select(replays).where(replays.c.tournament_id == tournament)).first()
    # Ratings without the newest match would contradict the table beside them.
    if row is None or _has_later(connection, tournament, row.match_id):
        return None
    return _record(row)


def marks(connection: Connection) -> dict[int, int]:
    """Return the id of the last match that replayed ratings include, by tournament."""
    rows = connection.execute(select(replays.c.tournament_id, replays.c.match_id))
    return {row[0]: row[1] for row in rows}


def forget(connection: Connection, tournament: int) -> None:
    """Remove the replayed ratings of a tournament, because its matches have changed."""
    if connection.execute(delete(replays).where(replays.c.tournament_id == tournament)).rowcount:
        seals.forget_replay(connection, tournament)


def find_faults(connection: Connection) -> Iterator[str]:
    """Compare replayed ratings with their matches and seals; yield one sentence for each contradiction."""
    yield from _told(connection, _wrong(connection))


def find_unmatched(connection: Connection, tournament: int) -> Iterator[str]:
    """Compare the replayed ratings of one tournament with its matches only."""
    yield from _told(connection, _unmatched(connection, replays.c.tournament_id == tournament))


def _told(connection: Connection, wrong: dict[int, str]) -> Iterator[str]:
    names = {row[0]: row[1] for row in connection.execute(select(tournaments.c.id, tournaments.c.name))}
    for tournament, why in sorted(wrong.items()):
        yield (
            f"the replayed ratings of {names.get(tournament, tournament)} {why}; `arena db repair` computes "
            "them again"
        )


def remove_wrong(connection: Connection) -> list[str]:
    """Remove the replayed ratings that `find_faults` reports.

    Return a sentence with their number. They can be computed again.
    """
    wrong = _wrong(connection)
    for tournament in wrong:
        connection.execute(delete(replays).where(replays.c.tournament_id == tournament))
        seals.forget_replay(connection, tournament)
    return [f"{len(wrong)} wrong replayed ratings are removed"] if wrong else []


def _wrong(connection: Connection) -> dict[int, str]:
    # The matches of cold tournaments are in files, so only the seals of their ratings are checked here.
    is_warm = replays.c.tournament_id.not_in(select(cold_tournaments.c.tournament_id))
    found = _unmatched(connection, is_warm)
    for tournament in seals.wrong_replays(connection):
        found.setdefault(tournament, "are not as they were stored")
    return found


def _unmatched(connection: Connection, chosen: ColumnElement[bool]) -> dict[int, str]:
    found: dict[int, str] = {}
    for row in connection.execute(select(replays).where(chosen)).all():
        last = _matches_up_to(connection, row.tournament_id, row.match_id)
        if last != (row.num_matches, row.match_id):
            found[row.tournament_id] = "do not fit the matches that they name"
    return found


def _matches_up_to(connection: Connection, tournament: int, last: int) -> tuple[int, int]:
    """Return the number of rated matches of a tournament up to an id, and the id of the last of them."""
    own = (matches.c.tournament_id == tournament, matches.c.id <= last)
    query = select(func.count(), func.max(matches.c.id)).select_from(matches).where(*own, text(COUNTS))
    num, newest = connection.execute(query).one()
    return num, newest or 0


def _has_later(connection: Connection, tournament: int, match: int) -> bool:
    own = (matches.c.tournament_id == tournament, matches.c.id > match)
    query = select(matches.c.id).where(*own, text(COUNTS)).limit(1)
    return connection.scalar(query) is not None


def add(connection: Connection, tournament: int, replay: ReplayRecord) -> bool:
    """Store replayed ratings if they still fit the matches of their tournament; return whether they do.

    Raises:
        RefusedError: the rating of a seat is missing or is not a number.
    """
    seats = select(func.count()).select_from(entrants).where(entrants.c.tournament_id == tournament)
    num_seats = connection.scalar(seats) or 0
    rows = (replay.strength, *replay.away)
    if not num_seats or any(len(row) != num_seats for row in rows) or not replay.away:
        raise RefusedError(f"tournament {tournament} has {num_seats} bots, but these ratings have not")
    if not all(math.isfinite(value) for row in rows for value in row):
        raise RefusedError("a rating is not a finite number")
    # Under the write lock: while the replays were computed, a match may have become void, or a later one
    # stored.
    here = _matches_up_to(connection, tournament, replay.last_match)
    if here != (replay.num_matches, replay.last_match) or _has_later(
        connection, tournament, replay.last_match
    ):
        return False
    forget(connection, tournament)
    # Points that include the last match were computed without the replays.
    points.remove_since(connection, tournament, replay.last_match)
    values = {
        "tournament_id": tournament,
        "num_matches": replay.num_matches,
        "match_id": replay.last_match,
        "slope": replay.slope,
        "weight": replay.weight,
        "strength": _packed(replay.strength),
        "away": b"".join(_packed(row) for row in replay.away),
    }
    connection.execute(insert(replays).values(values))
    seals.seal_replay(connection, tournament)
    return True


def _record(row: Row[Any]) -> ReplayRecord:
    num = len(row.strength) // _BYTES
    if not num or len(row.strength) % _BYTES or not row.away or len(row.away) % len(row.strength):
        raise DamagedError(
            f"the replayed ratings of tournament {row.tournament_id} are damaged; `arena db repair` computes "
            "them again"
        )
    away = _unpacked(row.away)
    return ReplayRecord(
        row.num_matches,
        row.match_id,
        row.slope,
        row.weight,
        _unpacked(row.strength),
        tuple(tuple(away[start : start + num]) for start in range(0, len(away), num)),
    )


def _packed(values: Sequence[float]) -> bytes:
    # Little-endian on every machine, since stores are copied between them.
    return struct.pack(f"<{len(values)}d", *values)


def _unpacked(content: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(content) // _BYTES}d", content)


class StoredRatings:
    """The ratings of tournaments over time, and their replayed ratings."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def add_point(self, tournament: int, point: RatingPoint) -> bool:
        """Store a point if it is newer than the stored ones; return whether it is.

        Beyond 40 points, some are removed so that the others stay spread evenly. A power cut may take the
        newest points, but never a match.

        Raises:
            RefusedError: no such tournament, seat or match, or a rating that is not a number.
        """
        settings = replace(self._access.in_a_hurry(), fast=True)
        with self._access.transaction(settings, alone=False) as connection:
            return points.add(connection, tournament, point)

    def points(
        self, tournament: int, *, after: int = 0, seats: Collection[int] | None = None
    ) -> list[RatingPoint]:
        """Return the stored points of a tournament, oldest first.

        Args:
            tournament: its id.
            after: only points of more matches.
            seats: only ratings of these seats, and only points that have some; None for all.
        """
        with self._access.read() as connection:
            return points.find(connection, tournament, after, seats)

    def add_replay(self, tournament: int, replay: ReplayRecord) -> bool:
        """Store the replayed ratings of a tournament; return whether they still fit its matches.

        Ratings over time that include its last match are removed, because they were computed without it.

        Raises:
            RefusedError: no such tournament, or the rating of a seat is missing or is not a number.
        """
        with self._access.write() as connection:
            return add(connection, tournament, replay)

    def replay_of(self, tournament: int) -> ReplayRecord | None:
        """Return the replayed ratings of a tournament; None if there are none for its present matches."""
        with self._access.read() as connection:
            return find(connection, tournament)

    def replay_marks(self) -> dict[int, int]:
        """Return the id of the last match that replayed ratings include, by tournament.

        Data that was computed with replayed ratings may be outdated once this differs.
        """
        with self._access.read() as connection:
            return marks(connection)
