"""Looks for everything in a store that contradicts itself."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select

from arena_db.codec import record_hash
from arena_db.models import APPLICATION_ID, REVISION, bots, matches, planned, tallies, tournaments
from arena_db.tallying import KEYS, recount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

_MOST_NAMED: Final = 20
"""Faulty rows of one kind that are named."""


def find_faults(connection: Connection, *, quick: bool) -> list[str]:
    """Return one sentence per fault; the quick check leaves out what reads every match."""
    looks = [
        _marks(connection),
        _pages(connection, "quick_check" if quick else "integrity_check"),
        _plans(connection),
    ]
    if not quick:
        looks += [_references(connection), _hashes(connection), _tallies(connection)]
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
    counts = select(tournaments.c.name, tournaments.c.num_planned, tournaments.c.num_done, size, done, final)
    for name, num_planned, num_done, num_rows, num_marked, num_final in connection.execute(counts):
        if num_planned != num_rows:
            yield f"tournament {name} has {num_rows} planned matches, not {num_planned}"
        if not num_done == num_marked == num_final:
            yield (
                f"tournament {name} counts {num_done} planned matches as done, "
                f"marks {num_marked} and stores {num_final}"
            )


def _hashes(connection: Connection) -> Iterator[str]:
    first, second = bots.alias(), bots.alias()
    plain = [matches.c[name] for name in _PLAIN]
    blobs = [matches.c[name] for name in ("actions", "times", "claims", "match_hash")]
    query = (
        select(
            matches.c.id,
            matches.c.record_hash,
            *plain[:3],
            first.c.identity,
            second.c.identity,
            *plain[3:],
            *blobs,
        )
        .join_from(matches, first, first.c.id == matches.c.first_bot)
        .join(second, second.c.id == matches.c.second_bot)
        .order_by(matches.c.id)
    )
    for row in connection.execution_options(yield_per=1000).execute(query):
        fields: tuple[Any, ...] = tuple(row)
        if record_hash(fields[2:-4], fields[-4:]) != fields[1]:
            yield f"match #{fields[0]} is not as it was stored"


_PLAIN: Final = (
    "tournament_id",
    "number",
    "attempt",
    "outcome",
    "termination",
    "reason",
    "rated",
    "is_final",
    "num_opening",
    "seed_first",
    "seed_second",
    "started_at",
    "duration_ms",
    "tier",
    "fault",
    "versions",
)
"""The columns of a record's hash, but for the identities and the blobs."""


def _tallies(connection: Connection) -> Iterator[str]:
    names = (*KEYS, "num_matches", "num_unique")
    kept = {tuple(row) for row in connection.execute(select(*(tallies.c[name] for name in names)))}
    counted = {tuple(row) for row in connection.execute(recount([]))}
    for row in sorted(kept ^ counted):
        what = "kept, but not counted" if row in kept else "counted, but not kept"
        yield f"tally {dict(zip(names, row, strict=True))} is {what}"
