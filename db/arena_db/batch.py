"""What the store already has about matches that are to be saved."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import select, text

from arena_db.dialects import driver_text
from arena_db.errors import RefusedError
from arena_db.models import bots, entrants, matches, planned, tournaments
from arena_db.summing import HALF_POINTS, Counted, Key, padded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from arena_db.records import MatchRecord

_CHUNK: Final = 512
"""Rows of one statement."""
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
    pool: int
    """Its id in the store."""
    seats: dict[int, Seat]


@dataclass(slots=True)
class Facts:
    """What was read of a store and never changes: read once for all batches."""

    tournaments: dict[int, Tournament] = field(default_factory=dict[int, Tournament])
    versions: dict[str, int] = field(default_factory=dict[str, int])
    """Ids of texts that are stored."""
    encounters: dict[Key, int] = field(default_factory=dict[Key, int])
    """Ids of encounters."""


@dataclass(slots=True)
class Batch:
    """The present state of one tournament, as far as some matches of it need it."""

    tournament: int
    num_actions: int
    pool: int
    """Id of its pool."""
    plan: dict[int, Plan] = field(default_factory=dict[int, Plan])
    """By number."""
    done: dict[int, int] = field(default_factory=dict[int, int])
    """The attempt that is the final result, by number; -1 of one in the store."""
    stored: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    """Number and attempt of what is in the store, and of void attempts that are to be."""
    places: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """Encounter and place in it, by number; of neighbours of the matches, too."""
    numbers: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """The same the other way round."""
    counted: dict[int, Counted] = field(default_factory=dict[int, Counted])
    """By number the matches that the kept sums count; neighbours, too."""

    def find_partners(self, connection: Connection, numbers: Iterable[int]) -> None:
        """Look up the other matches of pairs that are no neighbours: a plan may play the two far apart."""
        places = (self.places[number] for number in numbers)
        others = [(encounter, match_no ^ 1) for encounter, match_no in places]
        wanted = [place for place in others if place not in self.numbers]
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            values, num = padded(chunk)
            text = _partners_text(connection.dialect.name, num)
            for row in connection.exec_driver_sql(text, (*values, self.tournament)).all():
                (
                    encounter,
                    match_no,
                    number,
                    first_seat,
                    second_seat,
                    first_bot,
                    second_bot,
                    outcome,
                    opening,
                ) = row
                self.numbers[encounter, match_no] = number
                if outcome in HALF_POINTS:
                    half_points = HALF_POINTS[outcome]
                    self.counted[number] = Counted(
                        first_seat, second_seat, first_bot, second_bot, half_points, opening
                    )

    def partner(self, number: int) -> Counted | None:
        """Return the other match of a pair, if it is counted."""
        encounter, match_no = self.places[number]
        return self.counted.get(self.numbers.get((encounter, match_no ^ 1), 0))


def load(connection: Connection, tournament: int, records: Sequence[MatchRecord], facts: Facts) -> Batch:
    """Read what matches of one tournament need.

    Raises:
        RefusedError: there is no such tournament.
    """
    known = facts.tournaments.get(tournament)
    if known is None:
        known = facts.tournaments[tournament] = _tournament(connection, tournament)
    plans: dict[tuple[int, int], Plan] = {}
    batch = Batch(tournament, known.num_actions, known.pool)
    plan, places, numbers, counted = batch.plan, batch.places, batch.numbers, batch.counted
    dialect = connection.dialect.name
    for low, high in ranges(record.number for record in records):
        # With the neighbours: the other match of a pair is mostly one of them.
        place = (tournament, low - 1, high + 1)
        rows = connection.exec_driver_sql(_plan_text(dialect), place).all()
        for number, first, second, state, encounter, match_no in rows:
            pair = (first, second)
            own = plans.get(pair)
            if own is None:
                own = plans[pair] = Plan(first, second, known.seats[first], known.seats[second])
            plan[number] = own
            places[number] = at = (encounter, match_no)
            numbers[at] = number
            if state == "done":
                batch.done[number] = -1
        for row in connection.exec_driver_sql(_stored_text(dialect), place).all():
            number, attempt, is_counted, first_seat, second_seat, first_bot, second_bot, outcome, opening = (
                row
            )
            batch.stored.add((number, attempt))
            if is_counted and outcome in HALF_POINTS:
                half_points = HALF_POINTS[outcome]
                counted[number] = Counted(
                    first_seat, second_seat, first_bot, second_bot, half_points, opening
                )
    return batch


def _tournament(connection: Connection, tournament: int) -> Tournament:
    own = tournaments.c.id == tournament
    found = connection.execute(select(tournaments.c.num_actions, tournaments.c.pool_id).where(own)).first()
    if found is None:
        raise RefusedError(f"there is no tournament with id {tournament}")
    seats = select(entrants.c.seat, bots.c.id, bots.c.identity)
    seats = seats.join_from(entrants, bots, entrants.c.bot_id == bots.c.id)
    rows = connection.execute(seats.where(entrants.c.tournament_id == tournament))
    return Tournament(
        found.num_actions, found.pool_id, {seat: Seat(bot, identity) for seat, bot, identity in rows}
    )


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
    names = ("number", "first_seat", "second_seat", "state", "encounter", "match_no")
    here = (planned.c.tournament_id == 0) & planned.c.number.between(0, 0)
    return driver_text(select(*(planned.c[name] for name in names)).where(here), dialect)


_COUNTED: Final = ("first_seat", "second_seat", "first_bot", "second_bot", "outcome", "opening_hash")


@cache
def _stored_text(dialect: str) -> str:
    here = (matches.c.tournament_id == 0) & matches.c.number.between(0, 0)
    is_counted = matches.c.rated * matches.c.is_final
    names = (matches.c[name] for name in _COUNTED)
    return driver_text(select(matches.c.number, matches.c.attempt, is_counted, *names).where(here), dialect)


@cache
def _partners_text(dialect: str, num: int) -> str:
    names = ", ".join(f"matches.{name}" for name in _COUNTED)
    marks = ", ".join(f"(:e{index}, :m{index})" for index in range(num))
    query = (
        f"SELECT planned.encounter, planned.match_no, planned.number, {names} "  # noqa: S608 - our own names
        f"FROM (VALUES {marks}) AS wanted CROSS JOIN planned CROSS JOIN matches "
        "WHERE planned.tournament_id = :tournament AND planned.encounter = wanted.column1 "
        "AND planned.match_no = wanted.column2 AND matches.tournament_id = planned.tournament_id "
        "AND matches.number = planned.number AND matches.is_final = 1 AND matches.rated = 1"
    )
    return driver_text(text(query), dialect)
