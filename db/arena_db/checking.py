"""Looks for everything in a store that contradicts itself."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, func, select, true

from arena_db import analyses, points, remarks, resumming
from arena_db.codec import row_hash
from arena_db.models import (
    APPLICATION_ID,
    REVISION,
    bots,
    entrants,
    matches,
    planned,
    tallies,
    tournaments,
    versions,
)
from arena_db.schema import find_differences
from arena_db.tallying import KEYS, recount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

_MOST_NAMED: Final = 20
"""Faulty rows of one kind that are named."""


def find_faults(connection: Connection, *, quick: bool) -> list[str]:
    """Return one sentence per fault; the quick check leaves out what reads every match.

    Where the schema is not ours the rest is not looked at: a check of SQLite evaluates the rules in it.
    """
    raw: Any = connection.connection.driver_connection
    if differences := find_differences(raw, REVISION):
        return _cut(iter(differences))
    looks = [
        _marks(connection),
        _pages(connection, "quick_check" if quick else "integrity_check"),
        _plans(connection),
    ]
    if not quick:
        looks += [
            _references(connection),
            _copies(connection),
            _hashes(connection),
            remarks.find_faults(connection),
            analyses.find_faults(connection),
            _tallies(connection),
            resumming.find_faults(connection),
            points.find_faults(connection),
        ]
    return [fault for look in looks for fault in _cut(look)]


def _cut(faults: Iterator[str]) -> list[str]:
    found = list(islice(faults, _MOST_NAMED + 1))
    if len(found) > _MOST_NAMED:
        found[-1] = "more of the same kind"
    return found


def _marks(connection: Connection) -> Iterator[str]:
    application_id = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
    if application_id != APPLICATION_ID:
        yield f"the application id is {application_id:#x}, not {APPLICATION_ID:#x}"
    revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one()
    if revision != REVISION:
        yield f"the tables have revision {revision}, not {REVISION}"


def _pages(connection: Connection, pragma: str) -> Iterator[str]:
    for text in connection.exec_driver_sql(f"PRAGMA {pragma}").scalars():
        if text != "ok":
            yield f"SQLite finds: {text}"


def _references(connection: Connection) -> Iterator[str]:
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(
        _MOST_NAMED
    ):
        yield f"row {row} of {table} points to no row of {parent}"


def _plans(connection: Connection) -> Iterator[str]:
    """Compare what a tournament says of its plan with the plan, and the plan with the matches."""
    own, of_own = planned.c.tournament_id == tournaments.c.id, matches.c.tournament_id == tournaments.c.id
    size = select(func.count()).where(own).scalar_subquery()
    done = select(func.count()).where(own, planned.c.state == "done").scalar_subquery()
    final = select(func.count()).where(of_own, matches.c.is_final == 1).scalar_subquery()
    dropped = select(func.count()).where(own, planned.c.state == "dropped").scalar_subquery()
    counts = select(tournaments.c.name, tournaments.c.num_planned, tournaments.c.num_done, size, done, final)
    counts = counts.add_columns(tournaments.c.num_dropped, dropped)
    for name, num_planned, num_done, num_rows, num_marked, num_final, *of_dropped in connection.execute(
        counts
    ):
        if of_dropped[0] != of_dropped[1]:
            yield "tournament {} counts {} planned matches as dropped, and marks {}".format(name, *of_dropped)
        if num_planned != num_rows:
            yield f"tournament {name} has {num_rows} planned matches, not {num_planned}"
        if not num_done == num_marked == num_final:
            yield (
                f"tournament {name} counts {num_done} planned matches as done, "
                f"marks {num_marked} and stores {num_final}"
            )


def _copies(connection: Connection) -> Iterator[str]:
    """Compare what matches repeat of the plan, for the indexes, with the plan."""
    first, second = entrants.alias(), entrants.alias()
    here = matches.c.tournament_id
    is_planned = (planned.c.tournament_id == here) & (planned.c.number == matches.c.number)
    is_same = and_(
        planned.c.first_seat == matches.c.first_seat,
        planned.c.second_seat == matches.c.second_seat,
        first.c.bot_id == matches.c.first_bot,
        second.c.bot_id == matches.c.second_bot,
    )
    query = (
        select(matches.c.id)
        .outerjoin(planned, is_planned)
        .outerjoin(first, (first.c.tournament_id == here) & (first.c.seat == matches.c.first_seat))
        .outerjoin(second, (second.c.tournament_id == here) & (second.c.seat == matches.c.second_seat))
        .where(is_same.is_not(true()))
        .order_by(matches.c.id)
        .limit(_MOST_NAMED + 1)
    )
    for number in connection.scalars(query):
        yield f"match #{number} is of other bots than planned"


def _hashes(connection: Connection) -> Iterator[str]:
    first, second = bots.alias(), bots.alias()
    query = (
        select(matches, versions.c.content, first.c.identity, second.c.identity)
        .join_from(matches, first, first.c.id == matches.c.first_bot)
        .join(second, second.c.id == matches.c.second_bot)
        .join(versions, versions.c.id == matches.c.versions_id)
        .order_by(matches.c.id)
    )
    for row in connection.execution_options(yield_per=1000).execute(query):
        *stored, content, one, other = tuple(row)
        match = dict(zip(_COLUMNS, stored, strict=True))
        if row_hash(match, (one, other), content) != match["record_hash"]:
            yield f"match #{match['id']} is not as it was stored"


_COLUMNS: Final = [column.name for column in matches.c]


def _tallies(connection: Connection) -> Iterator[str]:
    names = (*KEYS, "num_matches")
    kept = {tuple(row) for row in connection.execute(select(*(tallies.c[name] for name in names)))}
    counted = {tuple(row) for row in connection.execute(recount([]))}
    for row in sorted(kept ^ counted):
        what = "kept, but not counted" if row in kept else "counted, but not kept"
        yield f"tally {dict(zip(names, row, strict=True))} is {what}; `arena db repair` counts again"
