"""What the store already has about matches that are to be saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import select

from arena_db.errors import RefusedError
from arena_db.models import bots, entrants, matches, planned, tournaments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from arena_db.records import MatchRecord

_CHUNK: Final = 1000
"""Numbers of one query: far below the 32,766 parameters SQLite takes."""


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
    numbers = [record.number for record in some]
    hashes = [hash_bytes(record) for record in some]
    plan = select(planned.c.number, planned.c.first_seat, planned.c.second_seat, planned.c.state).where(
        planned.c.tournament_id == batch.tournament, planned.c.number.in_(numbers)
    )
    for number, first, second, state in connection.execute(plan):
        batch.plan[number] = Plan(first, second, state == "done")
    of_it = matches.c.tournament_id == batch.tournament
    stored = select(matches.c.number, matches.c.attempt).where(of_it, matches.c.number.in_(numbers))
    batch.stored.update((number, attempt) for number, attempt in connection.execute(stored))
    repeats = select(
        matches.c.match_hash, matches.c.first_seat, matches.c.second_seat, matches.c.outcome, matches.c.rated
    ).where(of_it, matches.c.match_hash.in_(hashes))
    for match_hash, first, second, outcome, rated in connection.execute(repeats):
        batch.seen.add((match_hash, first, second, outcome, rated))


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
