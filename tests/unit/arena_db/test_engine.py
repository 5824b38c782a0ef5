"""The choice of the SQLite library, and the lock between writers for libraries that need it."""

from __future__ import annotations

import sys
import threading
import types
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import pytest
from sqlalchemy import Integer, literal_column, select
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine.interfaces import CacheStats

from arena_db.backend.sqlite import engine
from arena_db.backend.sqlite.dialect import ArenaSqlite
from arena_db.backend.sqlite.engine import FileSettings, find_driver, make_engine, writer_lock
from arena_db.errors import AccessError, LockedError
from arena_db.records import MatchFilter
from arena_db.store import Store
from children import run_child
from stores import add_cup

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.sqlite("pragmas and locks of SQLite")


@pytest.fixture
def old_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every SQLite library of this machine count as unsafe with several writers."""
    monkeypatch.setattr(engine, "SAFE_SQLITE", (99, 0, 0))


def test_the_library_is_safe_where_one_is() -> None:
    driver = find_driver()
    assert driver.single_writer == (driver.module.sqlite_version_info < engine.SAFE_SQLITE)


def test_a_safe_python_needs_no_other_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SAFE_SQLITE", (3, 0, 0))
    monkeypatch.setattr(engine, "_DRIVERS", ("no_such_library", "sqlite3"))
    driver = find_driver()
    assert (driver.module.__name__, driver.single_writer) == ("sqlite3", False)


def test_one_safe_library_is_loaded_and_no_other(tmp_path: Path) -> None:
    script = """
import sys
from arena_db.backend.sqlite import engine
engine.SAFE_SQLITE = (3, 0, 0)
name = engine.find_driver().module.__name__
assert name == "sqlite3" or "sqlite3" not in sys.modules, name
"""
    run_child([sys.executable, "-c", script], cwd=tmp_path)


def test_stores_of_one_process_share_their_compiled_statements(tmp_path: Path) -> None:
    statement = select(literal_column("1", Integer).label("only here"))
    hits: list[CacheStats] = []
    for name in ("first.db", "second.db"):
        path = tmp_path / name
        Store.open(path).close()
        with closing(make_engine(FileSettings(place=path)).connect()) as connection:
            hits.append(connection.execute(statement).context.cache_hit)
    assert hits == [CacheStats.CACHE_MISS, CacheStats.CACHE_HIT]


def test_libraries_of_sqlite_share_no_compiled_statements() -> None:
    old, new = types.ModuleType("old"), types.ModuleType("new")
    for library, version in ((old, (3, 20, 0)), (new, (3, 51, 3))):
        library.__dict__.update(sqlite_version_info=version, paramstyle="qmark")
    first, again, other = (ArenaSqlite(dbapi=cast("Any", library)) for library in (old, old, new))
    assert first == again
    assert hash(first) == hash(again)
    assert first != other
    assert first != SQLiteDialect_pysqlite(dbapi=cast("Any", old))
    # They must not share compiled statements, because their SQL differs.
    assert not first.insert_returning
    assert other.insert_returning


@pytest.mark.usefixtures("old_library")
def test_without_a_safe_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for names in (("no_such_library", "sqlite3"), ("pysqlite3.dbapi2", "sqlite3")):
        monkeypatch.setattr(engine, "_DRIVERS", names)
        driver = find_driver()
        assert driver.single_writer
        assert driver.module.__name__ == "sqlite3"


_SINGLE_WRITER = """
import sys
from arena_db.backend.sqlite import engine
engine.SAFE_SQLITE = (99, 0, 0)
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import add_cup
with Store.open(sys.argv[1], busy_ms=10000) as store, Store.open(sys.argv[1], read_only=True) as reader:
    cup = add_cup(store)
    store.matches.save([cup.match(1), cup.match(2)])
    assert len(reader.matches.newest(MatchFilter())) == 2
    assert store.integrity.check() == []
    with store._access.read() as connection:
        assert connection.exec_driver_sql("PRAGMA wal_autocheckpoint").scalar() == 0
"""


def test_one_writer_at_a_time(path: Path) -> None:
    # In a separate process: two SQLite libraries in one process must not use one file.
    script = f"import sys; sys.path[:0] = {sys.path!r}\n{_SINGLE_WRITER}"
    run_child([sys.executable, "-c", script, path], cwd=path.parent)
    assert sorted(file.name for file in path.parent.iterdir()) == ["arena.db", "arena.db-lock"]
    with Store.open(path) as store:
        assert len(store.matches.newest(MatchFilter())) == 2


def test_a_writer_keeps_others_out_before_it_writes(store: Store) -> None:
    # Otherwise both could read, and the second one to write would fail whatever its timeout.
    settings = FileSettings(place=store.path, busy_ms=0)
    with closing(engine.open_raw(settings)) as other:
        with engine.writing(engine.make_engine(settings), settings) as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM bots").scalar() == 0
            with pytest.raises(settings.driver.module.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")


@pytest.mark.usefixtures("old_library")
def test_the_lock_keeps_others_out(path: Path) -> None:
    settings = FileSettings(place=path, busy_ms=20)
    order: list[str] = []

    def write() -> None:
        with writer_lock(FileSettings(place=path)):
            order.append("second")

    with writer_lock(settings):
        with pytest.raises(LockedError, match="locked by another process"), writer_lock(settings):
            order.append("never")
        other = threading.Thread(target=write)
        other.start()
        order.append("first")
    other.join(30)
    assert order == ["first", "second"]


@pytest.mark.usefixtures("old_library")
def test_writers_of_an_old_library(store: Store) -> None:
    # The settings of this store were made before, for the safe library; only a new store takes the lock.
    store.close()
    with Store.open(store.place, busy_ms=50) as locking, writer_lock(FileSettings(place=store.path)):
        with pytest.raises(LockedError):
            add_cup(locking)
        assert locking.tournaments.newest() == []
    with Store.open(store.place) as locking:
        cup = add_cup(locking)
        assert locking.matches.save([cup.match(1)]) == 1
        assert locking.integrity.check() == []


@pytest.mark.usefixtures("old_library")
def test_no_place_for_a_lock(path: Path) -> None:
    settings = FileSettings(place=path.parent / "nowhere" / "arena.db")
    with pytest.raises(AccessError), writer_lock(settings):
        pass
