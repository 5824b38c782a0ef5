"""What the store already has about matches that are to be saved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import select

from arena_db.dialects import driver_text
from arena_db.errors import RefusedError
from arena_db.models import bots, entrants, matches, planned, tournaments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Table

    from arena_db.records import MatchRecord

_CHUNK: Final = 1000
"""Numbers of one query: far below the 32,766 parameters SQLite takes."""


_QUERIES: Final[dict[str, tuple[Table, *tuple[str, ...]]]] = {
    "plan": (planned, "number", "number", "first_seat", "second_seat", "state"),
    "stored": (matches, "number", "number", "attempt"),
    "repeats": (matches, "match_hash", "match_hash", "first_seat", "second_seat", "outcome", "rated"),
}
"""A table, the column that is listed, and the columns asked for."""


class Seat(NamedTuple):
    """A bot in a tournament."""

    bot: int
    """Its id in the store."""
    identity: str


class Plan(NamedTuple):
    """What is planned under a number."""

    first: int
    """Seat of the bot that moves first."""
    second: int
    done: bool


@dataclass(slots=True)
class Batch:
    """The present state of one tournament, as far as some matches of it need it."""

    tournament: int
    num_actions: int
    seats: dict[int, Seat]
    plan: dict[int, Plan]
    stored: set[tuple[int, int]]
    """Number and attempt."""
    seen: set[tuple[bytes, int, int, str, int]]
    """What makes a match a repeat: match hash, seats, outcome, rated."""


def load(connection: Connection, tournament: int, records: Sequence[MatchRecord]) -> Batch:
    """Read what matches of one tournament need.

    Raises:
        RefusedError: there is no such tournament, or a match hash is not hexadecimal.
    """
    num_actions = connection.execute(
        select(tournaments.c.num_actions).where(tournaments.c.id == tournament)
    ).scalar_one_or_none()
    if num_actions is None:
        raise RefusedError(f"there is no tournament with id {tournament}")
    seats = (
        select(entrants.c.seat, bots.c.id, bots.c.identity)
        .join_from(entrants, bots, entrants.c.bot_id == bots.c.id)
        .where(entrants.c.tournament_id == tournament)
    )
    batch = Batch(
        tournament=tournament,
        num_actions=num_actions,
        seats={seat: Seat(bot, identity) for seat, bot, identity in connection.execute(seats)},
        plan={},
        stored=set(),
        seen=set(),
    )
    for start in range(0, len(records), _CHUNK):
        _load_some(connection, batch, records[start : start + _CHUNK])
    return batch


def _load_some(connection: Connection, batch: Batch, some: Sequence[MatchRecord]) -> None:
    dialect, num = connection.dialect.name, len(some)
    numbers = (batch.tournament, *(record.number for record in some))
    for number, first, second, state in connection.exec_driver_sql(_text("plan", dialect, num), numbers):
        batch.plan[number] = Plan(first, second, state == "done")
    for number, attempt in connection.exec_driver_sql(_text("stored", dialect, num), numbers):
        batch.stored.add((number, attempt))
    hashes = (batch.tournament, *map(hash_bytes, some))
    repeats = connection.exec_driver_sql(_text("repeats", dialect, num), hashes)
    for match_hash, first, second, outcome, rated in repeats:
        batch.seen.add((match_hash, first, second, outcome, rated))


@cache
def _text(query: str, dialect: str, num: int) -> str:
    """Return a query for `num` numbers or hashes of a tournament, in the words of the driver.

    Expanding such a list anew costs more than the query itself.
    """
    table, key, *names = _QUERIES[query]
    these = (table.c.tournament_id == 0) & table.c[key].in_([None] * num)
    return driver_text(select(*(table.c[name] for name in names)).where(these), dialect)


def hash_bytes(record: MatchRecord) -> bytes:
    """Return the bytes of the hash of a match.

    Raises:
        RefusedError: it is not hexadecimal.
    """
    try:
        return bytes.fromhex(record.match_hash)
    except ValueError as error:
        raise RefusedError(
            f'match {record.number} has a hash that is not one: "{record.match_hash}"'
        ) from error
