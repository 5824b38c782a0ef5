"""Stores played matches and updates everything derived from them: the plan and the tallies."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select, text, update

from arena_db import remarks
from arena_db.batch import BatchState, StoreFacts, load, ranges
from arena_db.dialects import driver_text, upsert
from arena_db.errors import DamagedError
from arena_db.models import matches, planned, tallies, tournaments, versions
from arena_db.news import News, collect
from arena_db.numbering import floor
from arena_db.server_rows import copy_new, is_many

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

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
    return sum(
        _save_batch(connection, load(connection, tournament, own, known), own, ids)
        for tournament, own in ((key, list(some)) for key, some in groupby(records, attrgetter("tournament")))
    )


def _save_batch(
    connection: Connection, batch: BatchState, records: list[MatchRecord], version_ids: dict[str, int]
) -> int:
    """Store the matches of one tournament, then update the rows derived from them once for all."""
    news, num = News(), 0
    for start in range(0, len(records), _ROWS):
        rows = collect(news, batch, records[start : start + _ROWS], version_ids)
        _insert(connection, rows)
        remarks.store(connection, news.said)
        news.said.clear()
        num += len(rows)
    if num:
        dialect = connection.dialect.name
        # Most numbers of a batch are consecutive, so few ranges cover them.
        _mark(connection, _done_text(dialect), batch.tournament, list(ranges(news.done, gap=1)))
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
    if number and number > (connection.scalar(select(func.max(matches.c.id))) or 0):
        # The ids after this first one are assigned automatically.
        first, *rows = rows
        connection.exec_driver_sql(insert_text(connection.dialect.name, with_id=True), (number + 1, *first))
    if rows:
        num_stored = connection.exec_driver_sql(insert_text(connection.dialect.name), rows).rowcount
    _check_num(num_stored, rows)


def _check_num(num_stored: int, rows: Sequence[object]) -> None:
    if num_stored != len(rows):
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


def _count(connection: Connection, batch: BatchState, news: News) -> None:
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
    counts = {"num_done": tournaments.c.num_done + 0, "num_dropped": tournaments.c.num_dropped - 0}
    return driver_text(update(tournaments).where(own).values(counts), dialect)
