"""Compares every stored match with its hash, and what it repeats of the plan with the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import select

from arena_db.models import bots, entrants, matches, planned, versions
from arena_db.row_hash import KIND, from_row, row_hash

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

_POINTERS: Final = from_row("first_bot", "second_bot", "versions_id")
_HASH: Final = from_row("record_hash")


class _Known(NamedTuple):
    """Small tables that matches point to, each by its key."""

    identities: dict[int, str]
    versions: dict[int, str]
    seats: dict[tuple[int, int], int]
    """Ids of bots by tournament and seat."""


def find_faults(connection: Connection) -> Iterator[str]:
    """Say which matches are not as they were stored, or not as they were planned."""
    known = _load(connection)
    is_planned = (planned.c.tournament_id == matches.c.tournament_id) & (planned.c.number == matches.c.number)
    plan = (planned.c.first_seat, planned.c.second_seat)
    query = select(matches, *plan).outerjoin_from(matches, planned, is_planned).order_by(matches.c.id)
    for row in connection.execution_options(yield_per=1000).execute(query):
        stored = tuple(row)
        yield from _wrong_copies(stored, known)
        if not _is_as_stored(stored, known):
            yield f"match #{stored[0]} is not as it was stored"


def _load(connection: Connection) -> _Known:
    seats = select(entrants.c.tournament_id, entrants.c.seat, entrants.c.bot_id)
    return _Known(
        dict(map(tuple, connection.execute(select(bots.c.id, bots.c.identity)))),
        dict(map(tuple, connection.execute(select(versions.c.id, versions.c.content)))),
        {(tournament, seat): bot for tournament, seat, bot in connection.execute(seats)},
    )


def _wrong_copies(row: tuple[Any, ...], known: _Known) -> Iterator[str]:
    number, tournament = row[:2]
    _, *seats, _, _ = KIND(row)
    *bot_ids, _ = _POINTERS(row)
    planned_seats = list(row[-2:])
    if number < 1:
        yield f"match #{number} has a number that none is given"
    if seats != planned_seats or bot_ids != [known.seats.get((tournament, seat)) for seat in seats]:
        yield f"match #{number} is of other bots than planned"


def _is_as_stored(row: tuple[Any, ...], known: _Known) -> bool:
    one, other, content = _POINTERS(row)
    identities, contents = known.identities, known.versions
    if one not in identities or other not in identities or content not in contents:
        return False
    return _HASH(row) == row_hash(row, (identities[one], identities[other]), contents[content])
