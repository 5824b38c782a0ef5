"""Classes of durations: the same rule in Python, SQL and the migration, and an index that queries use."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from importlib import util
from typing import TYPE_CHECKING

import pytest
from alembic import command
from alembic.config import Config
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import inspect

from arena_db import migrate, queries
from arena_db.durations import DURATION_CLASS, class_of
from arena_db.filters import match_conditions
from arena_db.match_filter import SIGNS
from arena_db.match_order import OrderPlace
from arena_db.models import matches
from arena_db.records import MatchFilter
from stores import add_cup

if TYPE_CHECKING:
    from sqlalchemy import Select

    from arena_db.store import Store

EDGES = sorted({max(0, (1 << power) + step) for power in range(45) for step in (-1, 0, 1)} | set(range(300)))
LASTED = (0, 1, 127, 128, 129, 130, 255, 256, 259, 260, 1007, 1008, (1 << 31) - 1, 1 << 31, 1 << 40)
"""Durations at the bounds of classes and next to them, in milliseconds."""
INDEX = "ix_matches_duration_class"


def test_the_class_in_sql_is_that_in_python() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE matches (duration_ms INTEGER)")
    connection.executemany("INSERT INTO matches VALUES (?)", [(duration,) for duration in EDGES])
    found = connection.execute(f"SELECT duration_ms, {DURATION_CLASS} FROM matches ORDER BY 1").fetchall()  # noqa: S608 - our own expression
    assert found == [(duration, class_of(duration)) for duration in EDGES]


@given(st.integers(-(1 << 45), 1 << 45), st.integers(0, 1 << 45))
def test_a_longer_match_has_no_lower_class(first: int, second: int) -> None:
    low, high = sorted((first, second))
    assert class_of(low) <= class_of(high)


@given(st.integers(128, 1 << 31))
def test_a_class_is_narrow(duration: int) -> None:
    # A class spans a sixty-fourth of its durations: so few matches share it that sorting them is fast.
    assert class_of(duration) < class_of(duration + duration // 64 + 1)


def test_the_migration_creates_the_same_index() -> None:
    (path,) = migrate.script_location().glob("versions/0018_*.py")
    spec = util.spec_from_file_location("revision_0018", path)
    assert spec is not None
    assert spec.loader is not None
    revision = util.module_from_spec(spec)
    spec.loader.exec_module(revision)
    assert str(DURATION_CLASS) == revision.CLASS


def test_stores_of_the_revision_before_get_the_index(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save([replace(cup.match(number), duration_ms=90 * number) for number in (2, 1)])
    config = Config()
    config.set_main_option("script_location", str(migrate.script_location()).replace("%", "%%"))
    with store._access.write() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - to change it
        config.attributes["connection"] = connection
        command.downgrade(config, "0017")
        indexes = {each["name"]: each["column_names"] for each in inspect(connection).get_indexes("matches")}
    assert indexes["ix_matches_duration_ms_id"] == ["duration_ms", "id"]
    assert INDEX not in plan_of(store, queries.in_order("duration", descending=True))
    with store._access.write() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - see above
        migrate.upgrade(connection)
    assert INDEX in plan_of(store, queries.in_order("duration", descending=True))
    assert store.matches.ids("duration", descending=True, offset=0, limit=2) == [1, 2]
    # 180 ms and the bound are in the same class.
    shorter = MatchFilter(rated_only=False, durations=(("<", 181),))
    assert [match.number for match in store.matches.newest(shorter)] == [1, 2]


@pytest.mark.parametrize("sign", SIGNS)
def test_a_bound_finds_the_same_matches_as_in_python(store: Store, sign: str) -> None:
    cup = add_cup(store, num=len(LASTED))
    played = dict(enumerate(LASTED, start=1))
    store.matches.save([replace(cup.match(number), duration_ms=lasted) for number, lasted in played.items()])
    for bound in {lasted + step for lasted in LASTED for step in (-1, 0, 1)} | {-1000, 1 << 62}:
        where = MatchFilter(rated_only=False, durations=((sign, bound),))
        fitting = {number for number, lasted in played.items() if SIGNS[sign](lasted, bound)}
        assert {match.number for match in store.matches.newest(where, limit=100)} == fitting, bound
        assert store.matches.count(where) == len(fitting), bound


def plan_of(store: Store, query: Select[int]) -> str:
    """Return the database's query plan, if it may neither read nor sort the whole table."""
    with store._access.read() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - to look at it
        is_server = connection.dialect.name == "postgresql"
        if is_server:
            for other in ("seqscan", "bitmapscan", "sort"):
                connection.exec_driver_sql(f"SET LOCAL enable_{other} = off")
        text = query.compile(connection, compile_kwargs={"literal_binds": True})
        asked = "EXPLAIN" if is_server else "EXPLAIN QUERY PLAN"
        return "\n".join(str(row) for row in connection.exec_driver_sql(f"{asked} {text}"))


@pytest.mark.parametrize("descending", [True, False])
def test_an_order_by_duration_reads_the_index(store: Store, *, descending: bool) -> None:
    plan = plan_of(store, queries.in_order("duration", descending=descending).limit(10))
    assert INDEX in plan
    # Sorting takes place only within a class.
    assert "LAST 2 TERMS" in plan or "Presorted Key" in plan


def test_a_bound_of_durations_reads_a_part_of_the_index(store: Store) -> None:
    with store._access.read() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - see above
        longer = match_conditions(connection, MatchFilter(rated_only=False, durations=((">", 5000),)))
    before = queries._up_to(matches.c.duration_ms, OrderPlace(9000, 7), descending=False)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - a part of a search
    plan = plan_of(store, queries.in_order("duration", descending=False).where(*longer, before))
    assert f"{INDEX} (<expr>>? AND <expr><?)" in plan or (INDEX in plan and "Index Cond: (" in plan)
