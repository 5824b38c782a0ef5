"""What the store already has about matches that are to be saved."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import select

from arena_db.dialects import driver_text
from arena_db.errors import RefusedError
from arena_db.models import bots, entrants, matches, planned, tournaments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from arena_db.records import MatchRecord
    from arena_db.summing import Key

_GAP: Final = 50
"""Numbers that are read with their neighbours, though nobody asked for them, cost less than another query."""


@dataclass(frozen=True, slots=True, eq=False)
class Seat:
    """A bot in a tournament."""

    bot: int
    """Its id in the store."""
    identity: str


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Who is to meet whom in some matches; there is one for each such pair of a batch."""

    first_seat: int
    """Of the bot that moves first."""
    second_seat: int
    first: Seat
    second: Seat


class Tournament(NamedTuple):
    """What never changes of a tournament."""

    num_actions: int
    seats: dict[int, Seat]


@dataclass(slots=True)
class Facts:
    """What was read of a store and never changes: read once for all batches."""

    tournaments: dict[int, Tournament] = field(default_factory=dict[int, Tournament])
    versions: dict[str, int] = field(default_factory=dict[str, int])
    """Ids of texts that are stored."""
    encounters: dict[Key, int] = field(default_factory=dict["Key", int])
    """Ids of encounters, for the kept sums."""


@dataclass(slots=True)
class Batch:
    """The present state of one tournament, as far as some matches of it need it."""

    tournament: int
    num_actions: int
    plan: dict[int, Plan] = field(default_factory=dict[int, Plan])
    """By number."""
    done: dict[int, int] = field(default_factory=dict[int, int])
    """The attempt that is the final result, by number; -1 of one in the store."""
    stored: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    """Number and attempt of what is in the store, and of void attempts that are to be."""
    dropped: set[int] = field(default_factory=set[int])
    """Numbers of matches that are not needed any more."""


def load(connection: Connection, tournament: int, records: Sequence[MatchRecord], facts: Facts) -> Batch:
    """Read what matches of one tournament need.

    Raises:
        RefusedError: there is no such tournament.
    """
    known = facts.tournaments.get(tournament)
    if known is None:
        known = facts.tournaments[tournament] = _tournament(connection, tournament)
    plans: dict[tuple[int, int], Plan] = {}
    batch = Batch(tournament, known.num_actions)
    dialect = connection.dialect.name
    for numbers in ranges(record.number for record in records):
        place = (tournament, *numbers)
        for number, first, second, state in connection.exec_driver_sql(_plan_text(dialect), place).all():
            pair = (first, second)
            plan = plans.get(pair)
            if plan is None:
                plan = plans[pair] = Plan(first, second, known.seats[first], known.seats[second])
            batch.plan[number] = plan
            if state == "done":
                batch.done[number] = -1
            elif state == "dropped":
                batch.dropped.add(number)
        batch.stored.update(tuple(row) for row in connection.exec_driver_sql(_stored_text(dialect), place))
    return batch


def _tournament(connection: Connection, tournament: int) -> Tournament:
    own = tournaments.c.id == tournament
    num_actions = connection.execute(select(tournaments.c.num_actions).where(own)).scalar()
    if num_actions is None:
        raise RefusedError(f"there is no tournament with id {tournament}")
    seats = select(entrants.c.seat, bots.c.id, bots.c.identity)
    seats = seats.join_from(entrants, bots, entrants.c.bot_id == bots.c.id)
    rows = connection.execute(seats.where(entrants.c.tournament_id == tournament))
    return Tournament(num_actions, {seat: Seat(bot, identity) for seat, bot, identity in rows})


def ranges(numbers: Iterable[int], gap: int = _GAP) -> Iterator[tuple[int, int]]:
    """Yield first and last of stretches that cover all numbers, apart by more than a gap."""
    ordered = sorted(numbers)
    start = 0
    for index in range(1, len(ordered) + 1):
        if index == len(ordered) or ordered[index] - ordered[index - 1] > gap:
            yield ordered[start], ordered[index - 1]
            start = index


@cache
def _plan_text(dialect: str) -> str:
    names = (planned.c.number, planned.c.first_seat, planned.c.second_seat, planned.c.state)
    here = (planned.c.tournament_id == 0) & planned.c.number.between(0, 0)
    return driver_text(select(*names).where(here), dialect)


@cache
def _stored_text(dialect: str) -> str:
    here = (matches.c.tournament_id == 0) & matches.c.number.between(0, 0)
    return driver_text(select(matches.c.number, matches.c.attempt).where(here), dialect)
