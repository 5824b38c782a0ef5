"""The write-ahead log stays short while readers come and go; a reader that keeps it long is reported."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from arena_db.backend.sqlite import database
from arena_db.backend.sqlite.engine import FileSettings, open_raw
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from arena_db.store import Store

pytestmark = pytest.mark.sqlite("the write-ahead log beside a file")

KIB = 1 << 10


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every limit of the log small, so that tests reach it quickly."""
    for name, size in (("LIMIT", 256), ("WARNED_AT", 384), ("BOUND", 512), ("STEP", 64)):
        monkeypatch.setattr(database, name, size * KIB)


@contextmanager
def reading(path: Path) -> Generator[Any]:
    """Yield a connection in the middle of a read transaction."""
    with closing(open_raw(FileSettings(place=path, read_only=True))) as raw:
        raw.execute("BEGIN")
        raw.execute("SELECT count(*) FROM tournaments").fetchall()
        yield raw


def grow(store: Store, num: int, start: int = 0) -> list[int]:
    """Write to a store; return the size of its log in KiB after each write."""
    sizes: list[int] = []
    for index in range(start, start + num):
        store.plans.extend(1, [], f"{index:6}" * 10_000)
        sizes.append(store.path.with_name("arena.db-wal").stat().st_size // KIB)
    return sizes


@pytest.mark.usefixtures("small")
def test_readers_that_take_turns(store: Store) -> None:
    add_cup(store)
    sizes: list[int] = []
    writer = threading.Thread(target=lambda: sizes.extend(grow(store, 60)))
    with ExitStack() as first:
        first.enter_context(reading(store.path))
        writer.start()
        while writer.is_alive():
            # At any time one of two readers is reading, so SQLite cannot restart the log by itself.
            with ExitStack() as second:
                second.enter_context(reading(store.path))
                first.close()
                first.push(second.pop_all())
    assert len(sizes) == 60
    assert max(sizes) < 384
    assert store.take_warnings() == []


@pytest.mark.usefixtures("small")
def test_a_reader_that_stands_still(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    clock = [0.0]
    monkeypatch.setattr(database, "WAIT_MS", 1)
    monkeypatch.setattr(database, "monotonic", lambda: clock[0])
    add_cup(store)
    with reading(store.path):
        with store._access.write() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] — to see what is asked
            raw: Any = connection.connection.driver_connection
            raw.set_trace_callback(asked.append)
        sizes = grow(store, 30)
        assert sizes[-1] > 512, "it cannot be bounded"
        waits = sum("TRUNCATE" in statement for statement in asked)
        assert 2 * database.WAITS < waits < 8 * database.WAITS, (
            "it waits as the log grows, and above the bound by the clock"
        )
        (warning,) = store.take_warnings()
        assert f"{store.path}-wal has grown to 0 MiB, because process {os.getpid()} has been" in warning
        assert store.take_warnings() == [], "it is said once"
        clock[0] = database.PAUSE * database.WAITS / 1000
        grow(store, 2)
        assert sum("TRUNCATE" in statement for statement in asked) == waits + database.WAITS, (
            "the clock says it is time"
        )
    clock[0] = 1.0
    assert grow(store, 2)[0] == 0, "its end is seen at the next look"
    with reading(store.path):
        grow(store, 30)
    assert len(store.take_warnings()) == 1, "another one is told of, too"


_READING = """
import sys
from arena_db.backend.sqlite.engine import FileSettings, open_raw
from pathlib import Path
raw = open_raw(FileSettings(place=Path(sys.argv[1]), read_only=True))
raw.execute("BEGIN")
raw.execute("SELECT * FROM tournaments").fetchall()
print("reads", flush=True)
sys.stdin.readline()
raw.execute("COMMIT")
print("rests", flush=True)
sys.stdin.readline()
"""


def test_who_reads(store: Store) -> None:
    add_cup(store)
    with subprocess.Popen(  # noqa: S603 — a script of this test
        [sys.executable, "-c", _READING, str(store.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "reads\n"
        assert database.readers_of(store.path) == [child.pid]
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "rests\n"
        assert database.readers_of(store.path) == []
    assert database.readers_of(store.path.with_name("nowhere.db")) == []


def test_locks_of_others(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = store.path.with_name("arena.db-shm").stat()
    place = f"{os.major(shared.st_dev):02x}:{os.minor(shared.st_dev):02x}:{shared.st_ino}"
    lines = [
        f"1: POSIX  ADVISORY  READ 11 {place} 124 124",
        f"2: POSIX  ADVISORY  READ 12 {place} 127 128",
        f"3: POSIX  ADVISORY  READ 13 {place} 0 EOF",
        f"4: POSIX  ADVISORY  READ 14 {place} 128 128",
        f"5: POSIX  ADVISORY  WRITE 15 {place} 120 124",
        "6: POSIX  ADVISORY  READ 16 00:00:1 124 124",
        f"7: OFDLCK ADVISORY  READ -1 {place} 124 124",
        f"7: -> POSIX  ADVISORY  READ 11 {place} 125 125",
    ]
    locks = tmp_path / "locks"
    locks.write_text("\n".join(lines))
    monkeypatch.setattr(database, "_LOCKS", locks)
    assert database.readers_of(store.path) == [11, 12, 13]


@pytest.mark.usefixtures("small")
def test_nobody_can_tell_who_reads(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_LOCKS", tmp_path / "nowhere")
    monkeypatch.setattr(database, "WAIT_MS", 1)
    add_cup(store)
    with reading(store.path):
        grow(store, 12)
    assert "because another program has been reading" in store.take_warnings()[0]
