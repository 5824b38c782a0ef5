"""What is found at a place decides how it is opened; a foreign file is never written."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from arena_db.backend import places
from arena_db.backend.sqlite import engine
from arena_db.backend.sqlite.engine import FileSettings, open_raw
from arena_db.errors import (
    AccessError,
    DamagedError,
    DatabaseError,
    ForeignError,
    MissingError,
    NewerError,
    UnsupportedError,
)
from arena_db.records import MatchFilter
from arena_db.store import Store
from children import run_child
from stores import add_cup, tamper

pytestmark = pytest.mark.sqlite("what lies at the path of a file")

ALL = MatchFilter(rated_only=False)


@pytest.mark.parametrize("fast", [True, False])
def test_settings_of_a_connection(path: Path, *, fast: bool) -> None:
    with Store.open(path, fast=fast, busy_ms=1234) as store, store._access.read() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] — to look at it
        found = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar()
            for name in (
                *("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "trusted_schema"),
                *("cell_size_check", "application_id", "user_version"),
            )
        }
    assert found == {
        "journal_mode": "wal",
        "synchronous": 1 if fast else 2,
        "foreign_keys": 1,
        "busy_timeout": 1234,
        "trusted_schema": 0,
        "cell_size_check": 1,
        "application_id": 0x61726E61,
        "user_version": 0,
    }


def test_a_new_store_is_empty_and_sound(path: Path) -> None:
    with Store.open(str(path)) as store:
        assert store.path == path
        assert (store.integrity.check(), store.tournaments.newest(), store.names.bots()) == ([], [], {})
        assert (store.matches.newest(ALL), store.sums.tallies(ALL)) == ([], [])
    assert [file.name for file in path.parent.iterdir()] == ["arena.db"]


def test_devices_and_pipes_are_no_places(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(UnsupportedError, match="not a regular file"):
            Store.open(place)


def test_places(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    assert places.find_place("a.db") == path.with_name("a.db")
    assert places.find_place(f"sqlite:///{path}") == path
    assert places.find_place("sqlite:///a.db") == path.with_name("a.db")
    for url in ("postgresql://user:secret@host/db", "mysql+pymysql://host/db", "sqlite://host/a.db"):
        with pytest.raises(UnsupportedError, match=r"give a file|holds a password") as caught:
            Store.open(url)
        assert "secret" not in str(caught.value)
    with pytest.raises(UnsupportedError, match="folder"):
        Store.open(path.parent)


def test_missing(path: Path) -> None:
    for open_it in (
        lambda: Store.open(path, read_only=True),
        lambda: Store.open(path, create=False),
        lambda: Store.open(path.parent / "nowhere" / "arena.db"),
    ):
        with pytest.raises(MissingError, match=re.escape(str(path.parent))):
            open_it()
    path.touch()
    with pytest.raises(MissingError, match="empty"):
        Store.open(path, read_only=True)
    Store.open(path, create=False).close()


def test_foreign(path: Path) -> None:
    tamper_settings = FileSettings(place=path)
    open_raw(tamper_settings, create=True).close()
    tamper(path, "CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('mine')")
    before = path.read_bytes()
    for read_only in (True, False):
        with pytest.raises(ForeignError, match=re.escape(str(path))):
            Store.open(path, read_only=read_only)
    assert path.read_bytes() == before
    path.write_text("no database at all, but long enough to be looked at\n" * 40)
    with pytest.raises(ForeignError, match="not a store of arena"):
        Store.open(path)


def test_newer(store: Store) -> None:
    tamper(store.place, "UPDATE alembic_version SET version_num = '9999'")
    for read_only in (True, False):
        with pytest.raises(NewerError, match=r"pip install -U bot-arena"):
            Store.open(store.place, read_only=read_only)


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_damaged(store: Store, share: float) -> None:
    cup = add_cup(store, num=300)
    store.matches.save([cup.match(number) for number in range(1, 301)])
    store.close()
    content = bytearray(store.path.read_bytes())
    start = 4096 + int(share * len(content)) // 4096 * 4096
    content[start : start + 4096 * 8] = b"\xff" * 4096 * 8
    store.path.write_bytes(content)
    with pytest.raises(DamagedError, match=r"arena db check|page \d+"):
        read_all(store.path)


def test_without_a_readable_revision(store: Store) -> None:
    with closing(open_raw(FileSettings(place=store.path))) as raw:
        (page,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
    store.close()
    content = bytearray(store.path.read_bytes())
    content[4096 * (page - 1) : 4096 * page] = b"\xff" * 4096
    store.path.write_bytes(content)
    for read_only in (True, False):
        with pytest.raises(DamagedError, match="arena db check"):
            Store.open(store.place, read_only=read_only)
    assert store.path.read_bytes() == content


def read_all(path: Path) -> None:
    with Store.open(path, read_only=True) as store:
        for tournament in store.tournaments.newest():
            list(store.matches.of_tournament(tournament.id))
        if faults := store.integrity.check():
            raise DamagedError("; ".join(faults))


def test_a_reader_where_nothing_can_be_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1)])

    def denied(*_: object) -> bool:
        return False

    # Root may write everywhere; the test below asks the operating system.
    monkeypatch.setattr(os, "access", denied)
    with Store.open(store.place, read_only=True) as beside_a_log:
        assert len(beside_a_log.matches.newest(ALL)) == 1
    store.close()
    with Store.open(store.place, read_only=True) as alone:
        assert len(alone.matches.newest(ALL)) == 1
        assert [file.name for file in store.path.parent.iterdir()] == ["arena.db"]
    with pytest.raises(AccessError, match="is not writable"):
        Store.open(store.place)


def test_a_reader_cannot_write(store: Store) -> None:
    cup = add_cup(store)
    with Store.open(store.place, read_only=True) as reader:
        assert [record.id for record in reader.tournaments.newest()] == [cup.record.id]
        with pytest.raises(DatabaseError, match="readonly"):
            reader.matches.save([cup.match(1)])
        store.matches.save([cup.match(1)])
        assert len(reader.matches.newest(ALL)) == 1


def test_a_system_without_write_ahead_logs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_memory(_: FileSettings, *, create: bool) -> str:
        return f"file:{create}?mode=memory"

    monkeypatch.setattr(engine, "_uri", in_memory)
    with pytest.raises(UnsupportedError, match="local disk"):
        open_raw(FileSettings(place=path))


_AS_NOBODY = """
import os, sys
import arena_db.migrate, pysqlite3.dbapi2
from arena_db.errors import DatabaseError
from arena_db.records import MatchFilter
from arena_db.store import Store
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for open_it in (lambda: Store.open(sys.argv[1]), lambda: Store.open(sys.argv[1] + ".new")):
    try:
        open_it()
    except DatabaseError as error:
        print(type(error).__name__, str(error).partition(";")[0])
with Store.open(sys.argv[1], read_only=True) as store:
    print(len(store.matches.newest(MatchFilter())))
"""


def test_a_folder_nobody_may_write_in(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1), cup.match(2)])
    store.close()
    # pytest creates its folders with access for one user only.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arena.db"
        shutil.copy(store.path, path)
        path.chmod(0o444)
        path.parent.chmod(0o555)
        child = run_child([sys.executable, "-c", _AS_NOBODY, path], cwd=Path("/"))
        assert child.stdout.splitlines() == [
            f"AccessError {path} is not writable for you",
            f"AccessError {path}.new is not writable for you",
            "2",
        ]
        path.parent.chmod(0o755)


def test_a_store_whose_maker_was_killed(path: Path) -> None:
    """A killed writer without a write-ahead log leaves a rollback journal, which a reader cannot apply."""
    killed = run_child([sys.executable, "-c", _KILLED, path], cwd=path.parent, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.with_name("arena.db-journal").stat().st_size > 0

    with pytest.raises(MissingError, match="its creator was killed; run the tournament again"):
        Store.open(path, read_only=True)
    with Store.open(path) as store:
        assert store.integrity.check() == []
    assert not path.with_name("arena.db-journal").exists()
    Store.open(path, read_only=True).close()


_KILLED = """
import os, signal, sqlite3, sys
raw = sqlite3.connect(sys.argv[1], isolation_level=None)
raw.execute("PRAGMA cache_size=2")
raw.execute("BEGIN IMMEDIATE")
raw.execute("CREATE TABLE half (done)")
raw.executemany("INSERT INTO half VALUES (?)", [("x" * 500,)] * 2000)
os.kill(os.getpid(), signal.SIGKILL)
"""
