"""Runs all checks of a store."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final

from sqlalchemy import CheckConstraint, func, select, text
from sqlalchemy.exc import DBAPIError

from arena_db import (
    analyses,
    cold_faults,
    match_faults,
    mending,
    plan_faults,
    points,
    remarks,
    replays,
    run_faults,
    seals,
    sum_faults,
    tokens,
)
from arena_db.backend import integrity
from arena_db.cold_tables import cold_tournaments
from arena_db.errors import DatabaseError
from arena_db.failures import ODD
from arena_db.models import tallies
from arena_db.naming import metadata
from arena_db.tallying import KEYS, recount

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from sqlalchemy import Connection

_MOST_NAMED: Final = 20
"""Maximum number of faults reported by one check."""


def find_faults(connection: Connection, *, quick: bool) -> list[str]:
    """Return one sentence per fault; a quick check leaves out the checks that read every match.

    If the schema is not arena's, nothing else is checked: SQLite's own check would evaluate its rules.
    """
    if differences := _schema(connection):
        return differences
    looks = [
        integrity.find_faults(connection, quick=quick),
        plan_faults.wrong_counts(connection),
    ]
    reading = match_faults.MatchReading()
    if not quick:
        looks += [
            _rules(connection),
            integrity.find_loose_references(connection, _MOST_NAMED),
            seals.find_faults(connection),
            plan_faults.wrong_plans(connection),
            reading.find_faults(connection),
            cold_faults.find_faults(connection, reading),
            remarks.find_faults(connection),
            analyses.find_faults(connection),
            _tallies(connection, reading),
            sum_faults.find_faults(connection, reading),
            points.find_faults(connection),
            replays.find_faults(connection),
            run_faults.find_faults(connection),
            tokens.find_faults(connection),
        ]
    with _uncollected():
        return [fault for look in looks for fault in _cut(_survived(look, connection))]


@contextmanager
def _uncollected() -> Generator[None]:
    """Disable Python's cyclic garbage collector for a `with` block.

    A check creates millions of rows, none of them in a cycle; collection would take a sixth of its time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def find_run_faults(connection: Connection, tournament: int) -> list[str]:
    """Return faults that would make a run play or store the wrong thing, without reading its past.

    These are faults of the schema, of the tournament's fields and bots, and of the unplayed part of its plan.
    """
    if differences := _schema(connection):
        return differences
    return list(_cut(_survived(seals.find_faults(connection, tournament, whole=False), connection)))


def _schema(connection: Connection) -> list[str]:
    return _cut(_survived(_differences(connection), connection))


def _differences(connection: Connection) -> Iterator[str]:
    for key, told in integrity.find_differing(connection):
        yield f"{told}; `arena db repair` rebuilds it" if mending.is_mendable(*key) else told


def _survived(faults: Iterator[str], connection: Connection) -> Iterator[str]:
    """Yield faults; an error that ends a check is yielded as one of them."""
    try:
        yield from faults
    except DatabaseError as error:
        yield str(error)
    except (DBAPIError, integrity.driver_error(connection)) as error:
        database = "SQLite" if integrity.is_file(connection) else "PostgreSQL"
        yield f"{database} finds: {error.orig if isinstance(error, DBAPIError) else error}"
        if not integrity.is_file(connection):
            # PostgreSQL runs no further query in a transaction that has failed.
            connection.rollback()
    except ODD as error:
        yield f"a damaged row cannot be read ({type(error).__name__}: {error})"


def _cut(faults: Iterator[str]) -> list[str]:
    found = list(islice(faults, _MOST_NAMED + 1))
    if len(found) > _MOST_NAMED:
        found[-1] = "more of the same kind"
    return found


def _rules(connection: Connection) -> Iterator[str]:
    """Yield a sentence for each rule of a table that some rows break.

    SQLite's own check leaves the rules out on a read-only connection.
    """
    for table in metadata.sorted_tables:
        rules = [rule for rule in table.constraints if isinstance(rule, CheckConstraint)]
        broken = " OR ".join(f"NOT ({rule.sqltext})" for rule in rules)
        if rules and connection.scalar(select(text("1")).select_from(table).where(text(broken)).limit(1)):
            for rule in sorted(rules, key=lambda rule: str(rule.name)):
                query = select(func.count()).select_from(table).where(text(f"NOT ({rule.sqltext})"))
                if num := connection.scalar(query):
                    yield f"{num} rows of {table.name} break the rule {rule.name}"


def _tallies(connection: Connection, reading: match_faults.MatchReading) -> Iterator[str]:
    if reading.is_lacking:
        return
    names = (*KEYS, "num_matches")
    kept = {tuple(row) for row in connection.execute(select(*(tallies.c[name] for name in names)))}
    counted = reading.tallies()
    if counted is None:
        cold = set(connection.scalars(select(cold_tournaments.c.tournament_id)))
        counted = {tuple(row) for row in connection.execute(recount([]))}
        counted |= {row for row in kept if row[0] in cold}
    for row in sorted(kept ^ counted):
        what = "kept, but not counted" if row in kept else "counted, but not kept"
        yield f"tally {dict(zip(names, row, strict=True))} is {what}; `arena db repair` counts again"
