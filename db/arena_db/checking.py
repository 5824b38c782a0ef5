"""Runs all checks of a store, and rebuilds its derived data: indexes, marks of plans, counts, sums."""

from __future__ import annotations

import gc
import json
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import CheckConstraint, func, or_, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex

from arena_db import (
    analyses,
    kept,
    live,
    match_faults,
    plan_faults,
    points,
    remarks,
    replays,
    resumming,
    seals,
    sum_faults,
    tokens,
)
from arena_db.backend import integrity
from arena_db.clock import now
from arena_db.cold import archive
from arena_db.cold.thawing import list_cold, thawed, told_damage
from arena_db.cold_tables import cold_ends, cold_tournaments
from arena_db.errors import DamagedError, DatabaseError
from arena_db.failures import ODD
from arena_db.kept import rating_points
from arena_db.models import commands, leases, live_events, matches, tallies, tournaments
from arena_db.naming import metadata
from arena_db.points import end_of
from arena_db.tallying import KEYS, recount

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from sqlalchemy import Connection, Index, Select

    from arena_db.access import Access
    from arena_db.cold.thawing import ColdTournament
    from arena_db.match_faults import MatchReading

__all__ = ["StoreIntegrity"]

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
            # Before the tallies and sums, which are compared with what `reading` has counted by then.
            reading.find_faults(connection),
            _faults_of_cold(connection, reading),
            remarks.find_faults(connection),
            analyses.find_faults(connection),
            _tallies(connection, reading),
            sum_faults.find_faults(connection, reading),
            points.find_faults(connection),
            replays.find_faults(connection),
            _faults_of_runs(connection),
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


def _find_run_faults(connection: Connection, tournament: int) -> list[str]:
    """Return faults that would make a run play or store the wrong thing, without reading played matches.

    These are faults of the schema, of the tournament's fields and bots, and of the unplayed part of its plan.
    """
    if differences := _schema(connection):
        return differences
    return list(_cut(_survived(seals.find_faults(connection, tournament, whole=False), connection)))


def _schema(connection: Connection) -> list[str]:
    return _cut(_survived(_differences(connection), connection))


def _differences(connection: Connection) -> Iterator[str]:
    for key, told in integrity.find_differing(connection):
        yield f"{told}; `arena db repair` rebuilds it" if _is_mendable(*key) else told


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
    for table, any_broken, counts in _rule_queries():
        if connection.scalar(any_broken):
            for rule, num_broken in counts.items():
                if num := connection.scalar(num_broken):
                    yield f"{num} rows of {table} break the rule {rule}"


@cache
def _rule_queries() -> list[tuple[str, Select[Any], dict[str, Select[Any]]]]:
    """Return each table with rules, the query for a row that breaks one, and those that count, by rule."""
    found: list[tuple[str, Select[Any], dict[str, Select[Any]]]] = []
    for table in metadata.sorted_tables:
        rules = {str(rule.name): rule for rule in table.constraints if isinstance(rule, CheckConstraint)}
        broken = {name: text(f"NOT ({rules[name].sqltext})") for name in sorted(rules)}
        if broken:
            # A sound table takes one query; only if a row breaks any rule are the rules checked one by one.
            counts = {name: select(func.count()).select_from(table).where(broken[name]) for name in broken}
            any_broken = select(text("1")).select_from(table).where(or_(*broken.values())).limit(1)
            found.append((table.name, any_broken, counts))
    return found


def _tallies(connection: Connection, reading: match_faults.MatchReading) -> Iterator[str]:
    # Files that cannot be read were reported; without their matches every count would differ.
    if reading.is_lacking:
        return
    names = (*KEYS, "num_matches")
    kept = {tuple(row) for row in connection.execute(select(*(tallies.c[name] for name in names)))}
    counted = reading.tallies()
    if counted is None:
        # The pass over all matches was cut short by damage, so SQL counts the stored ones. Matches in files
        # are not counted, and their tallies are taken as right.
        cold = set(connection.scalars(select(cold_tournaments.c.tournament_id)))
        counted = {tuple(row) for row in connection.execute(recount([]))}
        counted |= {row for row in kept if row[0] in cold}
    for row in sorted(kept ^ counted):
        what = "kept, but not counted" if row in kept else "counted, but not kept"
        yield f"tally {dict(zip(names, row, strict=True))} is {what}; `arena db repair` counts again"


_LONGEST_LEASE_S: Final = 86_400.0
"""Maximum seconds that a lease may still last: normally a minute; one of more than a day would keep all other
processes out."""


def _faults_of_runs(connection: Connection) -> Iterator[str]:
    """Yield one sentence for each lease, command or live event that contradicts itself."""
    yield from _leases(connection)
    yield from _commands(connection)
    yield from _events(connection)


def _leases(connection: Connection) -> Iterator[str]:
    is_held = leases.c.uuid != ""
    query = select(tournaments.c.name, is_held, leases.c.expires_at, now())
    query = query.join_from(leases, tournaments, tournaments.c.id == leases.c.tournament_id)
    for name, held, expires_at, moment in connection.execute(query):
        if expires_at > moment + _LONGEST_LEASE_S:
            yield f"the lease of tournament {name} does not end for {(expires_at - moment) / 3600:.0f} hours"
        elif not held and expires_at != 0:
            yield f"the lease of tournament {name} has an end, and nobody holds it"


def _commands(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(commands)):
        # The payload may be anything: the run refuses a command that it cannot parse.
        if row.answer and row.answered_at is None:
            yield f"command {row.id} has an answer but no time of answering"


def _events(connection: Connection) -> Iterator[str]:
    newest = select(live_events.c.tournament_id, func.max(live_events.c.seq).label("seq"))
    told = newest.group_by(live_events.c.tournament_id).subquery()
    query = select(told.c.seq).join(leases, leases.c.tournament_id == told.c.tournament_id)
    for seq in connection.scalars(query.where(told.c.seq > leases.c.last_seq)):
        yield f"event {seq} has a number that is not assigned yet; `arena db repair` counts on from it"
    odd = or_(live_events.c.number.is_(None) & (live_events.c.attempt != 0), live_events.c.t < 0)
    for seq in connection.scalars(select(live_events.c.seq).where(odd)):
        yield f"event {seq} has an attempt without a match, or a negative time"
    for seq, payload in connection.execute(select(live_events.c.seq, live_events.c.payload)):
        if payload and not _is_object(payload):
            yield f"event {seq} has a payload that cannot be read"


def _is_object(text: Any) -> bool:  # noqa: ANN401 - of a damaged row, anything
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, TypeError, RecursionError):
        return False


class StoreIntegrity:
    """Checks the data of a store, and repairs those derived from plans and matches."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def check(self, *, quick: bool = False) -> list[str]:
        """Return the faults of the store, one sentence each; empty if it is sound.

        Args:
            quick: leave out the checks that read every match: indexes, hashes of records, seals, recounts.
        """
        refused = [] if self._access.spool is None else self._access.spool.refused()
        with self._access.read() as connection:
            faults = find_faults(connection, quick=quick)
        return faults + [f"{file} has results that the store refuses" for file in refused]

    def check_run(self, tournament: int) -> None:
        """Check before a run continues that schema, tournament and unplayed matches are undamaged.

        Raises:
            DamagedError: they are damaged; the text names the first fault.
        """
        with self._access.read() as connection:
            faults = _find_run_faults(connection, tournament)
        if faults:
            raise DamagedError(
                f"{self._access.place} is damaged: {faults[0]}; nothing is played; "
                "`arena db check` shows more, `arena db restore` puts a backup in its place"
            )

    def repair(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """Rebuild what is derived from plans and matches, in one transaction; these stay unchanged.

        Rebuilt are indexes, marks of the plan, counts, tallies and sums. Ratings over time that contradict
        the matches or their seals are removed.

        Args:
            tell: called with one sentence for each change, after all changes are stored.

        Raises:
            DamagedError: the file, the schema or the plan has damage that rebuilding cannot repair; then
                nothing is changed.
        """
        with self._access.guarded(), self._access.write() as connection:
            done = repair(connection)
        for change in done:
            tell(change)


_DERIVED: Final = frozenset(
    table.name for table in (*resumming.KEPT, kept.summing, tallies, kept.rating_points, kept.replays)
)
"""Tables that a repair computes again from plans and matches, or whose rows it may remove."""


def repair(connection: Connection) -> list[str]:
    """Rebuild all derived data in the transaction of a connection; return the changes, one sentence each.

    Raises:
        DamagedError: other damage keeps it from being rebuilt.
    """
    return [
        # In this order, because each step reads what the steps before it have rebuilt.
        *_mend_schema(connection),
        *integrity.mend_pages(connection, _DERIVED),
        *plan_faults.repair(connection),
        *live.mend_numbers(connection),
        *resumming.rebuild(connection),
        *points.remove_wrong(connection),
        *replays.remove_wrong(connection),
    ]


def _is_mendable(kind: str, name: str) -> bool:
    """Return whether an object of the schema can be rebuilt: an index that belongs to arena."""
    return kind == "index" and name in _indexes()


def _mend_schema(connection: Connection) -> list[str]:
    """Rebuild indexes that are missing or differ from arena's.

    Raises:
        DamagedError: a table differs, or there is an object that is not arena's.
    """
    done: list[str] = []
    for key, sentence in integrity.find_differing(connection):
        name = key[1]
        if not _is_mendable(*key):
            raise DamagedError(f"{sentence}, which cannot be repaired; {integrity.WAY_OUT}")
        connection.exec_driver_sql(f"DROP INDEX IF EXISTS {name}")
        connection.execute(CreateIndex(_indexes()[name]))
        done.append(f"the index {name} is rebuilt")
    return done


def _indexes() -> dict[str, Index]:
    return {str(index.name): index for table in metadata.sorted_tables for index in table.indexes}


_MOST: Final = 20
"""Maximum number of faults reported for one tournament."""


def _faults_of_cold(connection: Connection, reading: MatchReading) -> Iterator[str]:
    """Yield a sentence for each fault of the files of cold tournaments, or of what is in them.

    Args:
        connection: only read from.
        reading: a pass over all matches, to which those in files are added.
    """
    of_warm = cold_ends.c.tournament_id.not_in(select(cold_tournaments.c.tournament_id))
    if connection.scalar(select(cold_ends.c.match_id).where(of_warm).limit(1)) is not None:
        yield "the end of a match is stored as if its tournament were archived, which it is not"
    for cold in list_cold(connection):
        try:
            found = _faults_of(connection, cold, reading)
        except DamagedError as error:
            reading.is_lacking = True
            found = [str(error)]
        yield from found


def _faults_of(connection: Connection, cold: ColdTournament, reading: MatchReading) -> list[str]:
    with told_damage(cold):
        manifest, _ = archive.read_manifest(cold.folder)
        archive.check_files(cold.folder, manifest)
    # A list: a generator that is not exhausted would leave the stored tables hidden.
    with thawed(connection, cold):
        found = list(islice(_looks(connection, cold, reading), _MOST + 1))
    if len(found) > _MOST:
        reading.is_lacking = True
        found[-1] = "more of the same kind"
    return found


def _looks(connection: Connection, cold: ColdTournament, reading: MatchReading) -> Iterator[str]:
    counted = select(func.count(), func.min(matches.c.id), func.max(matches.c.id))
    if tuple(connection.execute(counted).one()) != (cold.num_matches, cold.first_match, cold.last_match):
        yield f"the number or the ids of the archived matches of {cold.name} are not those of its files"
    dated = select(rating_points.c.match_id).where(rating_points.c.tournament_id == cold.id)
    ended = select(matches.c.id, end_of(matches)).where(matches.c.id.in_(dated))
    kept = select(cold_ends.c.match_id, cold_ends.c.ended_at).where(cold_ends.c.tournament_id == cold.id)
    if set(map(tuple, connection.execute(ended))) != set(map(tuple, connection.execute(kept))):
        yield f"the dates of the ratings over time of {cold.name} are not those of its archived matches"
    yield from reading.read(connection)
    yield from plan_faults.wrong_counts(connection, cold.id)
    yield from plan_faults.wrong_matches(connection)
    yield from seals.wrong_plan(connection, cold.id, whole=True)
    yield from remarks.find_faults(connection)
    yield from analyses.find_faults(connection)
    yield from points.find_unmatched(connection, cold.id)
    yield from replays.find_unmatched(connection, cold.id)
