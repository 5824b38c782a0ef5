"""Stores played matches together with all that follows from them: the plan and the tallies."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import text, update

from arena_db.batch import Batch, Plan, hash_bytes, load
from arena_db.codec import pack_actions, pack_claims, pack_times, record_hash
from arena_db.dialects import driver_text, upsert
from arena_db.errors import DamagedError, RefusedError
from arena_db.models import matches, planned, tallies, tournaments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from arena_db.records import MatchRecord

_THIS_MATCH: Final = (planned.c.tournament_id == 0) & (planned.c.number == 0)
"""Of which the values are given to the driver."""


def save(connection: Connection, records: Sequence[MatchRecord]) -> int:
    """Store the matches that are new, in the order given; return how many."""
    return sum(
        _save_batch(connection, load(connection, tournament, group), group)
        for tournament, group in (
            (key, list(some)) for key, some in groupby(records, attrgetter("tournament"))
        )
    )


class _Tally(NamedTuple):
    first: int
    second: int
    outcome: str
    termination: str
    rated: int


@dataclass(slots=True)
class _News:
    """What a batch of records changes."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    """Numbers of planned matches, as `void`."""
    void: list[int] = field(default_factory=list)
    num_matches: Counter[_Tally] = field(default_factory=Counter)
    num_unique: Counter[_Tally] = field(default_factory=Counter)


def _save_batch(connection: Connection, batch: Batch, records: Sequence[MatchRecord]) -> int:
    news = _News()
    for record in records:
        _add(news, batch, record)
    if news.rows:
        dialect = connection.dialect.name
        _insert(connection, news.rows)
        _mark(connection, batch.tournament, news.done, _done_text(dialect))
        _mark(connection, batch.tournament, news.void, _void_text(dialect))
        _count(connection, batch.tournament, news)
        own = tournaments.c.id == batch.tournament
        num_done = tournaments.c.num_done + len(news.done)
        connection.execute(update(tournaments).where(own).values(num_done=num_done))
    return len(news.rows)


def _add(news: _News, batch: Batch, record: MatchRecord) -> None:
    """Note what a record changes, unless it is left out; later ones of its batch see it as stored."""
    plan = batch.plan.get(record.number)
    if plan is None:
        raise RefusedError(f"tournament {batch.tournament} has no planned match {record.number}")
    if (record.number, record.attempt) in batch.stored or (record.is_final and plan.done):
        return
    batch.stored.add((record.number, record.attempt))
    if record.is_final:
        batch.plan[record.number] = plan._replace(done=True)
    (news.done if record.is_final else news.void).append(record.number)
    match_hash, rated = hash_bytes(record), int(record.rated)
    news.rows.append(_row(batch, plan, record, match_hash, rated))
    tally = _Tally(plan.first, plan.second, record.outcome, record.termination, rated)
    news.num_matches[tally] += 1
    repeat = (match_hash, plan.first, plan.second, record.outcome, rated)
    if repeat not in batch.seen:
        batch.seen.add(repeat)
        news.num_unique[tally] += 1


def _row(batch: Batch, plan: Plan, record: MatchRecord, match_hash: bytes, rated: int) -> tuple[Any, ...]:
    """Return the columns of a match after its id, in the order of the table."""
    first, second = batch.seats[plan.first], batch.seats[plan.second]
    if (first.identity, second.identity) != (record.first, record.second):
        raise RefusedError(
            f"match {record.number} of tournament {batch.tournament} is planned for other bots"
        )
    num = len(record.actions)
    if not record.num_opening <= num == len(record.times_ms) == len(record.values):
        raise RefusedError(
            f"match {record.number} has {num} actions, and not as many times and values, or a longer opening"
        )
    actions = pack_actions(record.actions, batch.num_actions)
    times, claims = pack_times(record.times_ms), pack_claims(record.values)
    started_at = float(record.started_at)
    plain = (
        record.num_opening,
        record.seed_first,
        record.seed_second,
        started_at,
        record.duration_ms,
        record.tier,
        record.fault,
        record.versions,
    )
    result = (record.outcome, record.termination, record.reason, rated, int(record.is_final))
    whole = record_hash(
        (batch.tournament, record.number, record.attempt, record.first, record.second, *result, *plain),
        (actions, times, claims, match_hash),
    )
    return (
        batch.tournament,
        record.number,
        record.attempt,
        plan.first,
        plan.second,
        first.bot,
        second.bot,
        *result,
        actions,
        record.num_opening,
        times,
        claims,
        match_hash,
        *plain[1:],
        whole,
    )


def _insert(connection: Connection, rows: list[tuple[Any, ...]]) -> None:
    num_stored = connection.exec_driver_sql(_insert_text(connection.dialect.name), rows).rowcount
    if num_stored != len(rows):
        raise DamagedError("a match is stored whose planned match has no result; `arena db check` tells more")


@cache
def _insert_text(dialect: str) -> str:
    names = [column.name for column in matches.c if column is not matches.c.id]
    return driver_text(upsert(matches, dialect).on_conflict_do_nothing(), dialect, names)


def _mark(connection: Connection, tournament: int, numbers: list[int], text: str) -> None:
    if numbers:
        connection.exec_driver_sql(text, [(tournament, number) for number in numbers])


@cache
def _done_text(dialect: str) -> str:
    return driver_text(update(planned).where(_THIS_MATCH).values(state=text("'done'")), dialect)


@cache
def _void_text(dialect: str) -> str:
    return driver_text(
        update(planned).where(_THIS_MATCH).values(attempt=planned.c.attempt + text("1")), dialect
    )


def _count(connection: Connection, tournament: int, news: _News) -> None:
    keys = [column.name for column in tallies.primary_key]
    rows = [
        dict(zip(keys, (tournament, *tally), strict=True))
        | {"num_matches": num, "num_unique": news.num_unique[tally]}
        for tally, num in news.num_matches.items()
    ]
    statement = upsert(tallies, connection.dialect.name)
    sums = {name: tallies.c[name] + statement.excluded[name] for name in ("num_matches", "num_unique")}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=sums), rows)
