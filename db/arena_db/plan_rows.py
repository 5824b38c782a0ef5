"""The rows of a plan: planned matches, batch by batch, and their states."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import case, exists, func, insert, select, update

from arena_db import seals, server_rows
from arena_db.codec import pack_actions, unpack_actions
from arena_db.corrections import voids
from arena_db.dialects import driver_text
from arena_db.errors import RefusedError
from arena_db.models import batches, matches, planned, tournaments
from arena_db.records import BatchRecord, PairedResult, PlannedMatch

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Connection

    from arena_db.records import NewBatch

_POINTS: Final = {"first": 1.0, "draw": 0.5, "second": 0.0}
"""Points of the bot that moved first, by outcome; a void match has none."""
_TEST_KEY: Final = "sprt = "
"""Start of the line by which a configuration defines a sequential test."""


def list_planned(
    connection: Connection,
    tournament: int,
    *,
    after: int = 0,
    limit: int | None = None,
    unplayed: bool = False,
) -> list[PlannedMatch]:
    """Return planned matches of a tournament with numbers above `after`, by number, at most `limit`.

    Args:
        connection: a connection to a store.
        tournament: its id.
        after: number of a match; 0 for all matches.
        limit: maximum number of matches; None for all.
        unplayed: only those that are still to be played.
    """
    own = (planned.c.tournament_id == tournament) & (planned.c.number > after)
    query = select(planned).where(own).order_by(planned.c.number).limit(limit)
    if unplayed:
        query = query.where(planned.c.state == "planned")
    rows = connection.execute(query).all()
    num_actions = _num_actions(connection, tournament) if rows else 0
    return [
        PlannedMatch(
            number=row.number,
            encounter=row.encounter,
            match_no=row.match_no,
            first=row.first_seat,
            second=row.second_seat,
            opening=unpack_actions(row.opening, num_actions),
            attempt=row.attempt,
        )
        for row in rows
    ]


def add_planned(connection: Connection, tournament: int, plan: Sequence[PlannedMatch]) -> None:
    """Insert planned matches, seal them, and add them to the tournament's count.

    Raises:
        RefusedError: there is no such tournament.
    """
    num_actions = _num_actions(connection, tournament)
    rows = [
        (
            tournament,
            match.number,
            match.encounter,
            match.match_no,
            match.first,
            match.second,
            pack_actions(match.opening, num_actions),
            "planned",
            match.attempt,
        )
        for match in plan
    ]
    if rows:
        if connection.dialect.name == "postgresql" and server_rows.is_many(rows):
            # All other writers wait for a new tournament: row by row a long plan takes seconds.
            server_rows.copy(connection, planned, [column.name for column in planned.c], rows)
        else:
            connection.exec_driver_sql(_insert_text(connection.dialect.name), rows)
        # By number, the order in which a check reads them.
        seals.seal_plan(connection, tournament, [row[1:7] for row in sorted(rows)])
    num = tournaments.c.num_planned + len(rows)
    connection.execute(update(tournaments).where(tournaments.c.id == tournament).values(num_planned=num))


def add_batch(connection: Connection, tournament: int, batch: NewBatch) -> None:
    """Insert a batch of planned matches with its basis, and update the state of the plan.

    Raises:
        RefusedError: there is no such tournament, its plan is complete, or the numbers do not continue it.
    """
    own = tournaments.c.id == tournament
    known = connection.execute(
        select(tournaments.c.num_planned, tournaments.c.is_planned).where(own)
    ).one_or_none()
    if known is None:
        raise RefusedError(f"there is no tournament with id {tournament}")
    first = known.num_planned + 1
    if known.is_planned:
        raise RefusedError(f"the plan of tournament {tournament} is complete; no batch can be added")
    numbers = [match.number for match in batch.matches]
    # A gap would never be filled, and two runs that both planned would overlap: the second is refused.
    if not numbers or numbers != list(range(first, first + len(numbers))):
        raise RefusedError(
            f"a batch of tournament {tournament} must have matches with consecutive numbers from {first}"
        )
    add_planned(connection, tournament, batch.matches)
    basis = (batch.basis_match, batch.basis_change)
    _insert_batch(connection, tournament, range(first, first + len(numbers)), basis, batch.note)
    seals.change(connection, tournament, num_total=batch.num_total, is_planned=int(batch.is_last))


def append(connection: Connection, tournament: int, plan: Sequence[PlannedMatch]) -> None:
    """Append matches to a complete plan, which stays complete.

    Raises:
        RefusedError: there is no such tournament.
    """
    add_planned(connection, tournament, plan)
    if plan:
        numbers = [match.number for match in plan]
        _insert_batch(connection, tournament, range(min(numbers), max(numbers) + 1))
    total = tournaments.c.num_planned - tournaments.c.num_dropped
    seals.change(connection, tournament, num_total=total, is_planned=1)


def reopen(connection: Connection, tournament: int, num_total: int | None) -> None:
    """Reopen a plan; `num_total` is the number of matches it will have, None if that is unknown.

    Raises:
        RefusedError: there is no such tournament.
    """
    seals.change(connection, tournament, is_planned=0, num_total=num_total)


def close_plan(
    connection: Connection, tournament: int, decision: str, *, drops: bool, running: Collection[int]
) -> int:
    """Mark a plan as complete; return how many matches were dropped.

    Args:
        connection: holds the write lock.
        tournament: its id.
        decision: what the tournament decided; empty if it decides nothing.
        drops: whether the matches not played yet are no longer needed.
        running: numbers of running matches, which are not dropped.

    Raises:
        RefusedError: there is no such tournament.
    """
    num = _drop(connection, tournament, running) if drops else 0
    dropped = tournaments.c.num_dropped + num
    values = {
        "is_planned": 1,
        "decision": decision,
        "num_dropped": dropped,
        "num_total": tournaments.c.num_planned - dropped,
    }
    seals.change(connection, tournament, **values)
    return num


class Decision(NamedTuple):
    """The decision of an encounter in a plan that continues after it."""

    encounter: int
    """Its number."""
    text: str
    """The decision as stored."""
    num_more: int
    """Number of matches of the complete plan besides those of this encounter."""


def decide(connection: Connection, tournament: int, decision: Decision, running: Collection[int]) -> int:
    """Store the decision of an encounter; return how many of its matches were dropped.

    Raises:
        RefusedError: there is no such tournament.
    """
    encounter = decision.encounter
    num = _drop(connection, tournament, running, encounter)
    here = (planned.c.tournament_id == tournament) & (planned.c.encounter == encounter)
    needed = select(func.count()).select_from(planned).where(here, planned.c.state != "dropped")
    values = {
        "decision": decision.text,
        "num_dropped": tournaments.c.num_dropped + num,
        "num_total": needed.scalar_subquery() + decision.num_more,
    }
    seals.change(connection, tournament, **values)
    return num


def _drop(
    connection: Connection, tournament: int, running: Collection[int], encounter: int | None = None
) -> int:
    """Mark the matches that are neither played nor running as dropped; return how many."""
    left = (planned.c.tournament_id == tournament) & (planned.c.state == "planned")
    if encounter is not None:
        left &= planned.c.encounter == encounter
    # A running match is stored when it ends, so its row must still expect it.
    unneeded = update(planned).where(left, planned.c.number.not_in(list(running)))
    return connection.execute(unneeded.values(state="dropped")).rowcount


def list_tests(connection: Connection) -> dict[int, str]:
    """Return the configurations of the tournaments of type `match` with the key `sprt`, by tournament."""
    config = tournaments.c.config
    has_key = config.like(f"{_TEST_KEY}%") | config.like(f"%\n{_TEST_KEY}%")
    query = select(tournaments.c.id, config).where(tournaments.c.type == "match", has_key)
    return {row.id: row.config for row in connection.execute(query)}


def list_batches(connection: Connection, tournament: int, since: int = 0) -> list[BatchRecord]:
    """Return the batches of a plan that were planned with a change known, by number."""
    own = (batches.c.tournament_id == tournament) & (batches.c.basis_change >= since)
    query = select(batches).where(own).order_by(batches.c.number)
    return [
        BatchRecord(
            number=row.number,
            first=row.first_number,
            last=row.last_number,
            basis_match=row.basis_match,
            basis_change=row.basis_change,
            note=row.note,
        )
        for row in connection.execute(query)
    ]


def list_lengths(connection: Connection, tournament: int) -> list[tuple[int, int]]:
    """Return the length of a plan as of each change: pairs of change id and number of matches, by id."""
    last = func.max(batches.c.last_number)
    query = select(batches.c.basis_change, last).where(batches.c.tournament_id == tournament)
    query = query.group_by(batches.c.basis_change).order_by(batches.c.basis_change)
    return [(change, num) for change, num in connection.execute(query)]


def last_match(connection: Connection, tournament: int) -> int:
    """Return the highest id of a match of a tournament; 0 if it has none."""
    found = select(func.max(matches.c.id)).where(matches.c.tournament_id == tournament)
    return connection.scalar(found) or 0


def play_time(connection: Connection, tournament: int, encounter: int) -> float:
    """Return the total duration of an encounter's matches that need no further attempt, in seconds."""
    here = (planned.c.tournament_id == matches.c.tournament_id) & (planned.c.number == matches.c.number)
    query = (
        select(func.sum(matches.c.duration_ms))
        .join_from(matches, planned, here)
        .where(
            matches.c.tournament_id == tournament,
            matches.c.is_final == 1,
            planned.c.encounter == encounter,
        )
    )
    return (connection.scalar(query) or 0) / 1000


def list_results(
    connection: Connection, tournament: int, ids: tuple[int, int], limit: int | None = None
) -> list[PairedResult]:
    """Return the matches of a tournament that need no further attempt, with ids in `(after, last]`, by id.

    With `limit`, at most that many are returned.
    """
    after, last = ids
    here = matches.c.tournament_id
    is_void = exists().where(voids.c.match_id == matches.c.id, voids.c.undone_change.is_(None))
    points = case((is_void, None), else_=case(_POINTS, value=matches.c.outcome))
    is_low = planned.c.first_seat < planned.c.second_seat
    query = (
        select(
            matches.c.id,
            planned.c.encounter,
            planned.c.match_no,
            # From the view of the lower seat; a void match has no points for either, because NULL stays NULL.
            case((is_low, points), else_=1.0 - points).label("points"),
            planned.c.first_seat,
            planned.c.second_seat,
            matches.c.outcome,
            matches.c.termination,
        )
        .join_from(
            matches, planned, (planned.c.tournament_id == here) & (planned.c.number == matches.c.number)
        )
        .where(here == tournament, matches.c.id > after, matches.c.id <= last, matches.c.is_final == 1)
        .order_by(matches.c.id)
        .limit(limit)
    )
    # Iterating over the result itself would call the driver once per row.
    return [PairedResult._make(row) for row in connection.execute(query).all()]


def _insert_batch(
    connection: Connection,
    tournament: int,
    numbers: range,
    basis: tuple[int, int] = (0, 0),
    note: str = "",
) -> None:
    """Insert a batch of these matches; `basis` is the highest known ids of matches and changes."""
    own = batches.c.tournament_id == tournament
    # No other process can take this number: this transaction holds the lease of the tournament, or excludes
    # all others.
    number = (connection.scalar(select(func.max(batches.c.number)).where(own)) or 0) + 1
    values = {
        "tournament_id": tournament,
        "number": number,
        "first_number": numbers[0],
        "last_number": numbers[-1],
        "basis_match": basis[0],
        "basis_change": basis[1],
        "note": note,
    }
    connection.execute(insert(batches).values(values))
    seals.seal_batch(connection, tournament, number)


def _num_actions(connection: Connection, tournament: int) -> int:
    found = connection.scalar(select(tournaments.c.num_actions).where(tournaments.c.id == tournament))
    if found is None:
        raise RefusedError(f"there is no tournament with id {tournament}")
    return found


@cache
def _insert_text(dialect: str) -> str:
    return driver_text(insert(planned), dialect, [column.name for column in planned.c])
