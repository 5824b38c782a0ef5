"""Locks, full disks and killed processes: the error says what to do, and nothing is stored in part."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from arena_db.backend.sqlite.engine import FileSettings
from arena_db.errors import (
    AccessError,
    DamagedError,
    DatabaseError,
    ForeignError,
    FullError,
    LockedError,
    RefusedError,
)
from arena_db.failures import explain, reading
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import add_cup, locked, new_tournament

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

ALL = MatchFilter(rated_only=False)


def test_locked_by_another_process(store: Store) -> None:
    cup = add_cup(store)
    with Store.open(store.place, busy_ms=20) as waiting:
        with locked(store.place):
            with pytest.raises(LockedError, match="locked by another process"):
                waiting.tournaments.set_state(1, "stopped")
            assert waiting.tournaments.find(1) == cup.record, "a reader does not wait"
        assert waiting.matches.save([cup.match(1)]) == 1


def test_a_writer_waits_for_the_other(store: Store) -> None:
    cup = add_cup(store)
    with locked(store.place) as other:
        saving = threading.Thread(target=lambda: store.matches.save([cup.match(1)]))
        saving.start()
        other.execute("UPDATE tournaments SET event = 'now'")
        other.execute("COMMIT")
    saving.join(30)
    record = store.tournaments.find(1)
    assert record is not None
    assert (record.event, record.num_done) == ("now", 1)


@pytest.mark.sqlite("SQLite limits the pages of a file")
def test_a_full_disk(store: Store) -> None:
    cup = add_cup(store, num=2000)
    store.matches.save([cup.match(1)])
    records = [cup.match(number, reason="long" * 500) for number in range(2, 1001)]

    def fill_up(connection: Connection) -> None:
        size = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={size + 20}")

    engine = store._access.engine  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] — to set a limit on its connections
    event.listen(engine, "begin", fill_up)
    with pytest.raises(FullError, match="nothing is half stored"):
        store.matches.save(records)
    event.remove(engine, "begin", fill_up)
    assert [match.number for match in store.matches.newest(ALL)] == [1]
    assert store.integrity.check() == []


_SMALL_FILES = """
import resource, signal, sys
from arena_db.errors import DatabaseError
from arena_db.store import Store
from stores import add_cup
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Store.open(sys.argv[1]) as store:
    cup = add_cup(store, num=2000)
    store.matches.save([cup.match(1)])
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    try:
        store.matches.save([cup.match(number, reason="long" * 500) for number in range(2, 2001)])
    except DatabaseError as error:
        print(type(error).__name__)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


@pytest.mark.sqlite("a file may not grow")
def test_a_disk_that_takes_no_more(path: Path) -> None:
    child = _start(_SMALL_FILES, path)
    assert child.communicate(timeout=120)[0].strip() in {"AccessError", "FullError"}
    with Store.open(path) as store:
        assert [match.number for match in store.matches.newest(ALL)] == [1]
        assert store.integrity.check() == []


_SAVING = """
import sys
from arena_db.store import Store
from stores import Cup, plan, entrants
with Store.open(sys.argv[1], fast=True) as store:
    record = store.tournaments.find(1)
    cup = Cup(record, store.tournaments.entrants(1), store.plans.planned(1))
    left = [match.number for match in store.plans.unplayed(1)]
    print("ready", flush=True)
    for start in range(0, len(left), 7):
        store.matches.save([cup.match(number) for number in left[start : start + 7]])
        print(start, flush=True)
"""


def test_killed_while_saving(store: Store, place: str) -> None:
    cup = add_cup(store, num=4000)
    stored = 0
    for lines in (1, 2, 9, 30):
        child = _start(_SAVING, place)
        assert child.stdout is not None
        for _ in range(lines):
            assert child.stdout.readline()
        child.kill()
        # Not by communicate(), which misses the lines that readline() has buffered.
        acknowledged = lines - 1 + len(child.stdout.read().split())
        child.communicate(timeout=60)
        now = len(list(store.matches.of_tournament(cup.record.id)))
        assert now % 7 == 0, "whole or not at all"
        assert acknowledged <= (now - stored) // 7 <= acknowledged + 1
        stored = now
    assert store.integrity.check() == []
    assert len(store.plans.unplayed(cup.record.id)) == 4000 - stored


def test_two_writers_store_each_match_once(store: Store, place: str) -> None:
    cup = add_cup(store, num=400)
    children = [_start(_SAVING, place) for _ in range(2)]
    for child in children:
        child.communicate(timeout=120)
        assert child.returncode == 0
    assert [match.number for match in store.matches.of_tournament(cup.record.id)] == list(range(1, 401))
    assert store.integrity.check() == []


_CREATING = """
import sys
from arena_db.store import Store
sys.stdin.readline()
with Store.open(sys.argv[1]) as store:
    print(store.integrity.check())
"""


def test_a_store_is_created_once(nowhere: str) -> None:
    children = [_start(_CREATING, nowhere) for _ in range(3)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [child.communicate(timeout=120)[0] for child in children] == ["[]\n"] * 3


def _begin(path: Path) -> Any:  # noqa: ANN401 — a connection of one of two libraries
    """Return a connection that locks an empty file, as one does that creates the first tables."""
    raw = FileSettings(place=path).driver.module.connect(path, isolation_level=None, check_same_thread=False)
    raw.execute("BEGIN IMMEDIATE")
    return raw


@pytest.mark.sqlite("a file without a log")
def test_a_store_that_another_process_begins_is_waited_for(path: Path) -> None:
    # SQLite itself does not wait here: the file has no write-ahead log yet.
    with closing(_begin(path)) as other:
        timer = threading.Timer(0.3, other.execute, ["ROLLBACK"])
        timer.start()
        with Store.open(path) as store:
            assert store.integrity.check() == []
        timer.join()


@pytest.mark.sqlite("a file without a log")
def test_a_store_that_another_process_never_lets_go_is_refused(path: Path) -> None:
    with closing(_begin(path)), pytest.raises(LockedError, match="is locked by another process"):
        Store.open(path, busy_ms=100)


def test_threads_share_a_store(store: Store) -> None:
    cup = add_cup(store, num=200)
    failures: list[BaseException] = []

    def save(numbers: range) -> None:
        try:
            for number in numbers:
                store.matches.save([cup.match(number)])
                store.sums.tallies(MatchFilter())
        except BaseException as error:  # noqa: BLE001 — whatever it is, the test shall fail
            failures.append(error)

    threads = [threading.Thread(target=save, args=(range(start, 201, 4),)) for start in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert sum(tally.num_matches for tally in store.sums.tallies(MatchFilter())) == 200
    assert store.integrity.check() == []


def test_a_damaged_length_asks_for_more_memory_than_there_is(store: Store) -> None:
    def ask() -> None:
        with reading(store.place, sqlite3.Error):
            raise MemoryError

    with pytest.raises(DamagedError, match="has a row that cannot be read"):
        ask()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SQLITE_BUSY_SNAPSHOT", LockedError),
        ("SQLITE_LOCKED_SHAREDCACHE", LockedError),
        ("SQLITE_FULL", FullError),
        ("SQLITE_NOTADB", ForeignError),
        ("SQLITE_CORRUPT_INDEX", DamagedError),
        ("SQLITE_READONLY_DBMOVED", AccessError),
        ("SQLITE_CANTOPEN", AccessError),
        ("SQLITE_PERM", AccessError),
        ("SQLITE_IOERR_WRITE", AccessError),
        ("SQLITE_CONSTRAINT_CHECK", RefusedError),
        ("", RefusedError),
    ],
)
@pytest.mark.sqlite("codes of SQLite")
def test_results_of_sqlite(path: Path, name: str, kind: type[DatabaseError]) -> None:
    error = OSError("cause")
    error.sqlite_errorname = name  # pyright: ignore[reportAttributeAccessIssue] — as the drivers name it
    explained = explain(error, path)
    assert type(explained) is kind
    assert str(path) in str(explained)


def test_an_error_leaves_the_store_usable(store: Store) -> None:
    for _ in range(20):
        with pytest.raises(RefusedError):
            store.tournaments.add(new_tournament(type="cup"), [], [])
    assert add_cup(store).record.id == 1


def _start(script: str, place: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{script}", str(place)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 — the tests' own scripts
