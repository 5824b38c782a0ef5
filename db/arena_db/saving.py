"""Stores played matches and updates everything derived from them: the plan and the tallies."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sqlalchemy import func, select, text, update

from arena_db import remarks
from arena_db.batch import BatchState, StoreFacts, load, ranges
from arena_db.codec import pack_actions, pack_claims, pack_times, record_hash, same_part, setting_part
from arena_db.dialects import driver_text, upsert
from arena_db.errors import DamagedError, RefusedError
from arena_db.models import matches, planned, tallies, tournaments, versions
from arena_db.numbering import floor
from arena_db.server_rows import copy_new, is_many
from arena_db.summing import hash_opening

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from arena_db.batch import PlannedSeats
    from arena_db.records import MatchRecord

_NAMES: Final = [column.name for column in matches.c if column is not matches.c.id]
_ROWS: Final = 10_000
"""Number of matches converted to rows before they are inserted: about a kilobyte of memory each. Smaller
blocks take longer."""


def save(connection: Connection, records: Sequence[MatchRecord], facts: StoreFacts | None = None) -> int:
    """Store the matches that are new, in the order given; return how many.

    Args:
        connection: holds the write lock.
        records: matches of any tournaments.
        facts: cache of what earlier transactions on this store read; updated.
    """
    known = StoreFacts() if facts is None else facts
    ids = _version_ids(connection, {record.versions for record in records}, known)
    # `groupby` joins neighbours only, so matches get their ids in the order given.
    return sum(
        _save_batch(connection, load(connection, tournament, own, known), own, ids)
        for tournament, own in ((key, list(some)) for key, some in groupby(records, attrgetter("tournament")))
    )


def _save_batch(
    connection: Connection, batch: BatchState, records: list[MatchRecord], version_ids: dict[str, int]
) -> int:
    """Store the matches of one tournament, then update the rows derived from them once for all."""
    news, num = _News(), 0
    for start in range(0, len(records), _ROWS):
        rows = _collect(news, batch, records[start : start + _ROWS], version_ids)
        _insert(connection, rows)
        remarks.store(connection, news.said)
        # Stored block by block, like the rows, so that memory stays bounded.
        news.said.clear()
        num += len(rows)
    if num:
        dialect = connection.dialect.name
        # Most numbers of a batch are consecutive, so few ranges cover them.
        _mark(connection, _done_text(dialect), batch.tournament, list(ranges(news.done, gap=1)))
        # One by one: of a match with two void attempts in a batch, both count.
        _mark(connection, _void_text(dialect), batch.tournament, [(number, number) for number in news.void])
        _count(connection, batch, news)
    return num


def _version_ids(connection: Connection, texts: Iterable[str], facts: StoreFacts) -> dict[str, int]:
    """Return the ids of version texts, which are stored once; the first step of a transaction.

    The transaction may still be rolled back, so an inserted id is cached only when a later transaction finds
    it.
    """
    ids: dict[str, int] = {}
    # Sorted, so that two writers insert texts in the same order and cannot deadlock.
    for content in sorted(texts):
        found = facts.versions.get(content)
        if found is None:
            known = select(versions.c.id).where(versions.c.content == content)
            found = connection.scalar(known)
            if found is None:
                new = upsert(versions, connection.dialect.name).values(content=content)
                connection.execute(new.on_conflict_do_nothing())
                found = connection.scalars(known).one()
            else:
                facts.versions[content] = found
        ids[content] = found
    return ids


def _insert(connection: Connection, rows: list[tuple[Any, ...]]) -> None:
    if not rows:
        return
    if connection.dialect.name == "postgresql" and is_many(rows):
        _check_num(copy_new(connection, matches, _NAMES, rows), rows)
        return
    num_stored = 0
    # A sequence of a server never goes back.
    number = floor(connection) if connection.dialect.name == "sqlite" else 0
    # SQLite would assign the ids of removed or cold matches again, and viewers and rating points remember
    # them.
    if number and number > (connection.scalar(select(func.max(matches.c.id))) or 0):
        # The ids after this first one are assigned automatically.
        first, *rows = rows
        connection.exec_driver_sql(insert_text(connection.dialect.name, with_id=True), (number + 1, *first))
    if rows:
        num_stored = connection.exec_driver_sql(insert_text(connection.dialect.name), rows).rowcount
    _check_num(num_stored, rows)


def _check_num(num_stored: int, rows: Sequence[object]) -> None:
    if num_stored != len(rows):
        # What is stored already was left out above, so a conflict contradicts the state of the plan.
        raise DamagedError("a match is stored whose planned match has no result; `arena db check` shows more")


@cache
def insert_text(dialect: str, *, with_id: bool = False) -> str:
    """Return the statement that inserts matches unless they exist; values are the columns in order."""
    names = ["id", *_NAMES] if with_id else _NAMES
    return driver_text(upsert(matches, dialect).on_conflict_do_nothing(), dialect, names)


def _mark(connection: Connection, statement: str, tournament: int, stretches: list[tuple[int, int]]) -> None:
    """Run a statement on ranges of planned matches, given as first and last numbers."""
    if stretches:
        connection.exec_driver_sql(statement, [(tournament, *stretch) for stretch in stretches])


_HERE: Final = (planned.c.tournament_id == 0) & planned.c.number.between(0, 0)
"""Placeholder condition; the driver binds tournament and number range."""


@cache
def _done_text(dialect: str) -> str:
    return driver_text(update(planned).where(_HERE).values(state=text("'done'")), dialect)


@cache
def _void_text(dialect: str) -> str:
    return driver_text(update(planned).where(_HERE).values(attempt=planned.c.attempt + text("1")), dialect)


def _count(connection: Connection, batch: BatchState, news: _News) -> None:
    rows = [(*kind.tally, kind.num_matches) for kind in news.kinds.values()]
    dialect = connection.dialect.name
    connection.exec_driver_sql(count_text(dialect), rows)
    # A dropped match with a result counts as done, for example a result that waited beside the store.
    num_dropped = sum(number in batch.dropped for number in news.done) if batch.dropped else 0
    values = (len(news.done), num_dropped, batch.tournament)
    connection.exec_driver_sql(_num_done_text(dialect), values)


@cache
def count_text(dialect: str) -> str:
    """Return the statement that adds to a tally; values are its key and the number of matches."""
    keys = [column.name for column in tallies.primary_key]
    statement = upsert(tallies, dialect)
    sums = {"num_matches": tallies.c.num_matches + statement.excluded["num_matches"]}
    summed = statement.on_conflict_do_update(index_elements=keys, set_=sums)
    return driver_text(summed, dialect, [*keys, *sums])


@cache
def _num_done_text(dialect: str) -> str:
    own = tournaments.c.id == 0
    # The zeros stand for parameters, as in `_HERE`.
    counts = {"num_done": tournaments.c.num_done + 0, "num_dropped": tournaments.c.num_dropped - 0}
    return driver_text(update(tournaments).where(own).values(counts), dialect)


_Openings: TypeAlias = dict[tuple[int, ...], int]
"""Hashes of openings by their actions."""


@dataclass(slots=True, eq=False)
class Kind:
    """The shared part of many matches: seats, ending, and circumstances of play."""

    tally: tuple[Any, ...]
    """The key of the tally they count for: tournament, seats, outcome, termination, rated."""
    columns: tuple[Any, ...]
    """Seats, ids of the bots, outcome, termination, rated, is_final, tier, id of the versions."""
    same: bytes
    """The part of the hash of a record that all these matches share."""
    num_matches: int = 0


@dataclass(slots=True)
class _News:
    """The changes of a batch of records besides the rows of its matches."""

    done: list[int] = field(default_factory=list[int])
    """Numbers of planned matches that are done; `void` has those with a void attempt."""
    void: list[int] = field(default_factory=list[int])
    kinds: dict[tuple[Any, ...], Kind] = field(default_factory=dict[tuple[Any, ...], Kind])
    openings: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])
    """Hashes of openings by their actions."""
    said: list[MatchRecord] = field(default_factory=list["MatchRecord"])
    """Records that have remarks."""


def _collect(
    news: _News, batch: BatchState, records: Sequence[MatchRecord], versions: Mapping[str, int]
) -> list[tuple[Any, ...]]:
    """Return the rows of the records that are not stored yet; later records of the batch see earlier ones.

    Args:
        news: collects the changes.
        batch: the stored state; updated with the new records.
        records: matches of its tournament.
        versions: ids of the version texts.

    Raises:
        RefusedError: no such planned match, other bots than planned, or a field that cannot be stored.
    """
    rows: list[tuple[Any, ...]] = []
    plans, done, stored, kinds = batch.plan, batch.done, batch.stored, news.kinds
    for record in records:
        number = record.number
        plan = plans.get(number)
        if plan is None:
            raise RefusedError(f"tournament {batch.tournament} has no planned match {number}")
        # Records may be saved twice: after an error of a server, or from a file that a killed process left.
        if stored and (number, record.attempt) in stored:
            continue
        if record.is_final:
            if number in done:
                continue
            done[number] = record.attempt
            news.done.append(number)
        else:
            # Two records of one attempt, the final one first: an attempt is stored once.
            if done.get(number) == record.attempt:
                continue
            stored.add((number, record.attempt))
            news.void.append(number)
        ending = (record.outcome, record.termination, record.rated, record.is_final)
        key = (plan, ending, record.tier, record.versions)
        kind = kinds.get(key)
        if kind is None:
            kind = kinds[key] = _kind(batch.tournament, plan, record, versions)
        kind.num_matches += 1
        if record.remarks:
            news.said.append(record)
        rows.append(_row(batch, plan, record, kind, news.openings))
    return rows


def hash_bytes(record: MatchRecord) -> bytes:
    """Return the hash of a match as bytes.

    Raises:
        RefusedError: it is not hexadecimal.
    """
    try:
        return bytes.fromhex(record.match_hash)
    except ValueError as error:
        raise RefusedError(
            f'match {record.number} has a hash that is not one: "{record.match_hash}"'
        ) from error


def _setting(
    record: MatchRecord,
) -> tuple[tuple[float | None, float | None], tuple[str | None, str | None, str | None]]:
    """Return the idle CPU times of both bots; and limits and runtimes, None if unknown."""
    first, second = record.idle_cpu_first_ms, record.idle_cpu_second_ms
    return (
        (None if first is None else _idle_ms(first), None if second is None else _idle_ms(second)),
        # NULL as in the rows of versions that did not have these columns: their hashes leave them out.
        (record.limits or None, record.runtime_first or None, record.runtime_second or None),
    )


def _idle_ms(time_ms: float) -> float:
    # SQLite stores NaN as NULL and -0.0 as 0.0, which have other hashes.
    if not math.isfinite(time_ms):
        raise RefusedError(f"an idle CPU time is {time_ms} ms, which is not a finite number")
    return time_ms + 0.0


def _kind(tournament: int, plan: PlannedSeats, record: MatchRecord, versions: Mapping[str, int]) -> Kind:
    # Enum members as plain strings, which the drivers bind without conversion.
    outcome, termination, rated = str(record.outcome), str(record.termination), int(record.rated)
    is_final = int(record.is_final)
    seats = (plan.first_seat, plan.second_seat)
    texts = (plan.first.identity, plan.second.identity, outcome, termination, record.tier, record.versions)
    return Kind(
        tally=(tournament, *seats, outcome, termination, rated),
        columns=(
            *(*seats, plan.first.bot, plan.second.bot, outcome, termination, rated, is_final),
            *(record.tier, versions[record.versions]),
        ),
        same=same_part((tournament, *seats, rated, is_final), texts),
    )


# Binary values are `bytearray` in this tuple: for `bytes` SQLite's driver looks for an adapter each time, and
# an insert of three takes five times as long.
def _row(
    batch: BatchState, plan: PlannedSeats, record: MatchRecord, kind: Kind, openings: _Openings
) -> tuple[Any, ...]:
    """Return the columns of a match after its id, in table order; cache the hash of its opening."""
    number, actions, times, values = record.number, record.actions, record.times_ms, record.values
    num_opening = record.num_opening
    if plan.first.identity != record.first or plan.second.identity != record.second:
        raise RefusedError(f"match {number} of tournament {batch.tournament} is planned for other bots")
    if not num_opening <= len(actions) == len(times) == len(values):
        raise RefusedError(
            f"match {number} has {len(actions)} actions, not as many times and values, or a longer opening"
        )
    packed = pack_actions(actions, batch.num_actions), pack_times(times), pack_claims(values)
    match_hash = hash_bytes(record)
    opening = actions[:num_opening]
    opening_hash = openings.get(opening)
    if opening_hash is None:
        opening_hash = openings[opening] = hash_opening(pack_actions(opening, batch.num_actions))
    attempt, reason, fault, started_at = record.attempt, record.reason, record.fault, float(record.started_at)
    seed_first, seed_second, duration_ms = record.seed_first, record.seed_second, record.duration_ms
    numbers = (number, attempt, num_opening, seed_first, seed_second, duration_ms, len(kind.same))
    idle, texts = _setting(record)
    setting = setting_part(idle, texts)
    whole = record_hash(kind.same, numbers, started_at, reason, fault, (*packed, match_hash), setting)
    # One plain tuple without unpacking parts of it: unpacking took a tenth of the time of this function.
    first_seat, second_seat, first_bot, second_bot, outcome, ending, rated, is_final, tier, versions = (
        kind.columns
    )
    return (
        batch.tournament,
        number,
        attempt,
        first_seat,
        second_seat,
        first_bot,
        second_bot,
        outcome,
        ending,
        reason,
        rated,
        is_final,
        packed[0],
        num_opening,
        packed[1],
        packed[2],
        bytearray(match_hash),
        seed_first,
        seed_second,
        started_at,
        duration_ms,
        tier,
        fault,
        versions,
        bytearray(whole),
        *idle,
        *texts,
        len(actions),
        opening_hash,
    )
