"""The check reports an edit of any column of any table, unless it is harmless for a reason given here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import LargeBinary, Table, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from arena_db import seals
from arena_db.backend.sqlite import schema
from arena_db.checking import find_faults
from arena_db.corrections import removals
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.models import REVISION, metadata
from arena_db.points import RatingPoint, SeatRating
from arena_db.records import LiveEvent, Remark
from arena_db.remark_codec import pack_remarks
from arena_db.replays import ReplayRecord
from arena_db.store import Store
from stores import add_cup, editing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Column, Connection, Delete, Update

IN_FILES = {"cold_tournaments", "cold_ends", "pruned_tournaments"}
"""Tables about matches in files: `test_freezing_faults` edits them, because each check reads the files."""
TABLES = [table for table in metadata.sorted_tables if table.name not in IN_FILES]
OTHERS = {
    "bots.content": "c" * 64,
    "bots.identity": "d" * 64,
    "tournaments.type": "gauntlet",
    "tournaments.state": "stopped",
    "tournaments.uid": "e" * 32,
    "tournaments.is_planned": 0,
    "planned.state": "planned",
    "matches.outcome": "draw",
    "matches.termination": "resign",
    "matches.tier": "T3",
    "matches.limits": "kernel",
    "matches.rated": 0,
    "matches.is_final": 0,
    "tallies.outcome": "draw",
    "tallies.termination": "resign",
    "tallies.rated": 0,
    "pools.mode": "fischer",
    "pools.process": "in-process",
    "summing.upgrading": 1,
    "rating_points.rests_on_prior": 1,
    "strays.side": 1,
    "commands.kind": "resume",
    "commands.payload": "{}",
    "live_events.kind": "info",
    "changes.kind": "disqualify",
    "entrants.state": "out",
    "entrants.joined_change": 1,
    "entrants.left_change": 1,
    "voids.match_id": 1,
    "voids.change_id": 3,
    "voids.undone_change": None,
    "live_events.payload": '{"a": 1}',
    "seals.part": "plan",
    "tokens.role": "host",
}
"""Values that the tables' constraints allow; any other column gets the next number, or one more letter."""

_ASKED = "what a person asks of a run: no result or rating follows from it, and it is answered once"
_TOLD = "shown while a match is being played, and removed after it; results come from matches"
_HELD = "who runs the tournament: a wrong owner ends the run at its next beat, and no match is stored twice"
_GONE = "where a tournament went that is not in this store any more"
HARMLESS = {
    "tournaments.state": "a state alone: what is left to play follows from the plan",
    "tournaments.archived_at": "whether lists show it: its matches count all the same",
    **{
        f"leases.{name}": _HELD
        for name in ("uuid", "host", "boot_id", "pid", "pid_start", "epoch", "beat_at", "last_seq")
    },
    **{
        f"removals.{name}": _GONE
        for name in ("id", "uid", "name", "file", "tournament_id", "last_match", "who", "removed_at")
    },
    **{
        f"commands.{name}": _ASKED
        for name in ("id", "kind", "payload", "asked_at", "taken_at", "answered_at", "answer")
    },
    **{f"live_events.{name}": _TOLD for name in ("attempt", "ply", "kind", "payload", "t")},
    "tokens.used_on": "when a token was used last: it allows the same",
    "summing.upgrading": "whoever opens the store next counts the matches and compares the sums",
}


@pytest.fixture(scope="module")
def connection(module_place: str) -> Iterator[Connection]:
    """Yield a connection to a sound store with a row in each table; a test's changes are rolled back."""
    with Store.open(module_place, fast=True) as store:
        fill(store)
    with editing(module_place) as connection:
        if connection.dialect.name == "postgresql":
            # The server refuses an edit with missing references, so the check need not find it.
            connection.exec_driver_sql("SET session_replication_role = origin")
            connection.commit()
        assert find_faults(connection, quick=False) == []
        connection.rollback()
        yield connection


def fill(store: Store) -> None:
    cup = add_cup(store, event="spring", site="here")
    other = add_cup(store, "a", "b", name="other")
    said = pack_remarks([None, None, Remark(depth=4), None])
    setting = {"idle_cpu_first_ms": 0.5, "limits": "polled", "runtime_first": "x", "runtime_second": "y"}
    store.matches.save(
        [cup.match(1, remarks=said, **setting), cup.match(2), cup.void(4), cup.match(3, fault="{}")]
    )
    # Another course of play from one opening, twice: one of them is a stray.
    store.matches.save([cup.match(7, match_hash="11" * 32), cup.match(10, match_hash="11" * 32)])
    store.matches.save([other.match(1), other.match(2)])
    store.sums.sum_up()
    store.changes.void([2], reason="it was helped", who="anna@lab")
    store.changes.unvoid([2], reason="it was not", who="anna@lab")
    store.changes.leave(1, 2, reason="it crashes", who="anna@lab")
    plies = (JudgedPly(value=0.5, loss=0.0, best=(3,)),) * 4
    store.analyses.add(JudgedMatch(match=1, name="solver", plies=plies, made_at=2.0))
    ratings = tuple(SeatRating(seat, 1500.0 + seat, 30.0, rests_on_prior=False) for seat in range(3))
    assert store.ratings.add_point(1, RatingPoint(2, 2, ratings))
    assert store.ratings.add_replay(
        2, ReplayRecord(2, 8, 1.2, 0.9, (20.0, -20.0), ((5.0, -5.0), (-5.0, 5.0)))
    )
    store.events.append([LiveEvent(tournament=1, number=5, kind="started", t=1.0)] * 2)
    store.events.append([LiveEvent(tournament=1, number=None, kind="state", t=1.0)])
    store.commands.send(1, "stop", '{"number": 1}')
    (command,) = store.commands.take(1)
    store.commands.answer(command.id, "it stops")
    store.tokens.add("anna", bytes(32), "viewer", expires_at=2.0)
    store.tokens.note_use(1, 20_000)
    with store._access.write() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - 10,000 events make one
        connection.exec_driver_sql("UPDATE leases SET pruned_seq = 1 WHERE tournament_id = 1")
        # Rows as a merge and a removal write them.
        connection.exec_driver_sql("INSERT INTO origins VALUES (2, 'lab.db', 1.0)")
        gone = (1, "9" * 32, "old", "old.db", 9, 9, "anna@lab", 1.0)
        connection.execute(insert(removals).values(gone))
        seals.seal_anew(connection, 2)


def other_value(column: Column[Any], value: Any) -> object:  # noqa: ANN401 - a column may hold anything
    name = f"{column.table.name}.{column.name}"
    if name in OTHERS:
        return OTHERS[name]
    if isinstance(column.type, LargeBinary):
        return bytes([*value[:-1], value[-1] ^ 1]) if value else b"\x00"
    if value is None:
        return 1.5 if column.type.python_type in {int, float} else "other"
    return value + 100 if isinstance(value, int | float) else value + "x"


def faults_after(connection: Connection, edit: Update | Delete) -> list[str]:
    """Return the faults that a check finds after an edit, or the database's refusal; then undo the edit."""
    is_file = connection.dialect.name == "sqlite"
    try:
        if is_file:
            connection.exec_driver_sql("PRAGMA ignore_check_constraints=1")
        connection.execute(edit)
        if is_file:
            connection.exec_driver_sql("PRAGMA ignore_check_constraints=0")
        return find_faults(connection, quick=False)
    except IntegrityError as error:
        assert not is_file, "a file takes any row"
        return [str(error)]
    finally:
        connection.rollback()


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_every_column(connection: Connection, table: Table) -> None:
    row = connection.execute(select(table).order_by(*table.primary_key).limit(1)).mappings().one()
    connection.rollback()
    own = [column == row[column.name] for column in table.primary_key]
    silent: list[str] = []
    for column in table.c:
        value = other_value(column, row[column.name])
        assert value != row[column.name], column
        if not faults_after(connection, update(table).where(*own).values({column: value})):
            silent.append(f"{table.name}.{column.name}")
    assert silent == [
        name for name in (f"{table.name}.{column.name}" for column in table.c) if name in HARMLESS
    ]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_every_row(connection: Connection, table: Table) -> None:
    """A deleted row is reported, too, if any other row depends on it."""
    may_go = {"commands", "live_events", "analyses", "remarks", "removals", "tokens"}
    assert bool(faults_after(connection, delete(table))) == (table.name not in may_go)


@pytest.mark.sqlite("PRAGMA and sqlite_master describe a file")
def test_nothing_of_the_schema_is_left_out(connection: Connection) -> None:
    """The tests above list every column of a store, so a new column fails this test until they cover it."""
    rows = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")
    tables = {name for (name,) in rows if not name.startswith("sqlite_")} - {"alembic_version"}
    found = {
        name: {row[1] for row in connection.exec_driver_sql(f"PRAGMA table_xinfo({name})")} for name in tables
    }
    connection.rollback()
    assert found == {table.name: {column.name for column in table.c} for table in metadata.sorted_tables}
    named = {*OTHERS, *HARMLESS}
    assert named <= {f"{name}.{column}" for name, columns in found.items() for column in columns}


@pytest.mark.sqlite("the schema of a file is compared with that of its revision")
def test_every_index_and_trigger(connection: Connection) -> None:
    """A missing or altered index is reported, and so is a trigger on any table."""
    made = connection.exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql != ''"
    )
    edits: dict[str, list[list[str]]] = {}
    for name, sql in made.all():
        # The first column of an index on an expression has its own parentheses.
        altered = sql.replace(")", ") DESC" if "((" in sql else " DESC)", 1)
        edits[f"the index {name}"] = [[f"DROP INDEX {name}"], [f"DROP INDEX {name}", altered]]
    num_indexes = len(edits)
    for table in metadata.sorted_tables:
        does = f"AFTER INSERT ON {table} BEGIN DELETE FROM tallies; END"  # noqa: S608
        edits[f"the trigger evil_{table}"] = [[f"CREATE TRIGGER evil_{table} {does}"]]
    connection.rollback()
    silent: list[str] = []
    for what, ways in edits.items():
        for statements in ways:
            for statement in statements:
                connection.exec_driver_sql(statement)
            raw = connection.connection.driver_connection
            assert raw is not None
            if not any(what in found for found in schema.find_differences(raw, REVISION)):
                silent.append("; ".join(statements))
            connection.rollback()
    assert silent == []
    assert num_indexes
