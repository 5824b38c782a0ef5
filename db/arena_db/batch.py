"""Reads the rows that saving a batch of matches depends on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import select

from arena_db.cold.thawing import require_warm
from arena_db.dialects import driver_text
from arena_db.errors import RefusedError
from arena_db.models import bots, entrants, matches, planned, tournaments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from arena_db.records import MatchRecord
    from arena_db.summing import Key

_GAP: Final = 50
"""Gap between wanted match numbers below which they are read as one range: reading up to 50 extra rows costs
less than another query."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredSeat:
    """A bot in a tournament."""

    bot: int
    """Id of the bot in the store."""
    identity: str


@dataclass(frozen=True, slots=True, eq=False)
class PlannedSeats:
    """The two entrants of a planned match; one object per pair of a batch."""

    first_seat: int
    """Seat of the bot that moves first."""
    second_seat: int
    first: StoredSeat
    second: StoredSeat


class TournamentFacts(NamedTuple):
    """The unchanging facts of a tournament; seats are only ever added."""

    num_actions: int
    seats: dict[int, StoredSeat]


@dataclass(slots=True)
class StoreFacts:
    """Facts read from a store that never change, cached for all batches."""

    tournaments: dict[int, TournamentFacts] = field(default_factory=dict[int, TournamentFacts])
    versions: dict[str, int] = field(default_factory=dict[str, int])
    """Ids of stored version texts."""
    encounters: dict[Key, int] = field(default_factory=dict["Key", int])
    """Ids of encounters, for the stored sums."""


@dataclass(slots=True)
class BatchState:
    """The present state of one tournament, as far as some of its matches need it."""

    tournament: int
    num_actions: int
    plan: dict[int, PlannedSeats] = field(default_factory=dict[int, PlannedSeats])
    """The planned matches by number."""
    done: dict[int, int] = field(default_factory=dict[int, int])
    """Attempt that is the final result, by match number; -1 if the result was in the store before."""
    stored: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    """Number and attempt of stored matches, and of void attempts about to be stored."""
    dropped: set[int] = field(default_factory=set[int])
    """Numbers of matches that are no longer needed."""


def load(
    connection: Connection, tournament: int, records: Sequence[MatchRecord], facts: StoreFacts
) -> BatchState:
    """Read the rows that the records of one tournament depend on.

    Raises:
        RefusedError: there is no such tournament, or its matches are in files.
    """
    known = facts.tournaments.get(tournament)
    if known is None:
        known = facts.tournaments[tournament] = _tournament(connection, tournament)
    plans: dict[tuple[int, int], PlannedSeats] = {}
    batch = BatchState(tournament, known.num_actions)
    dialect = connection.dialect.name
    for numbers in ranges(record.number for record in records):
        place = (tournament, *numbers)
        for number, first, second, state in connection.exec_driver_sql(_plan_text(dialect), place).all():
            pair = (first, second)
            # One object per pair of bots: a batch of a thousand matches has few pairs.
            plan = plans.get(pair)
            if plan is None:
                if not known.seats.keys() >= {first, second}:
                    # Bots have joined since the seats were read.
                    known = facts.tournaments[tournament] = _tournament(connection, tournament)
                plan = plans[pair] = PlannedSeats(first, second, known.seats[first], known.seats[second])
            batch.plan[number] = plan
            if state == "done":
                # The attempt is not read: what was final before this batch cannot become final again.
                batch.done[number] = -1
            elif state == "dropped":
                batch.dropped.add(number)
        # Attempts, not matches: of one match several void attempts may be stored.
        batch.stored.update(tuple(row) for row in connection.exec_driver_sql(_stored_text(dialect), place))
    # A cold tournament has no planned rows. Checked only if none were found, which spares the usual batch a
    # query.
    if not batch.plan:
        require_warm(connection, tournament)
    return batch


def _tournament(connection: Connection, tournament: int) -> TournamentFacts:
    own = tournaments.c.id == tournament
    num_actions = connection.execute(select(tournaments.c.num_actions).where(own)).scalar()
    if num_actions is None:
        raise RefusedError(f"there is no tournament with id {tournament}")
    seats = select(entrants.c.seat, bots.c.id, bots.c.identity)
    seats = seats.join_from(entrants, bots, entrants.c.bot_id == bots.c.id)
    rows = connection.execute(seats.where(entrants.c.tournament_id == tournament))
    return TournamentFacts(num_actions, {seat: StoredSeat(bot, identity) for seat, bot, identity in rows})


def ranges(numbers: Iterable[int], gap: int = _GAP) -> Iterator[tuple[int, int]]:
    """Yield the first and last numbers of ranges that cover all numbers; ranges lie more than `gap` apart."""
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
