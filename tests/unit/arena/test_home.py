"""Folders and stores by option, environment and system; errors of the store become errors of the arena."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from threading import Thread, Timer, current_thread
from threading import enumerate as enumerate_threads
from typing import TYPE_CHECKING, TypedDict

import platformdirs
import pytest

from arena import home
from arena.errors import ConfigError, StoreError
from arena_db.backend.sqlite.engine import find_driver
from arena_db.errors import LockedError, MissingError
from arena_db.store import Store
from children import modules_after
from stores import add_cup

if TYPE_CHECKING:
    from typing import Unpack

    from arena_db.backend.places import Place


class _OpenOptions(TypedDict, total=False):
    """Names of the options of `Store.open`."""

    read_only: bool
    fast: bool
    create: bool
    busy_ms: int


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the user's own settings from the environment."""
    for name in ("ARENA_HOME", "ARENA_CACHE", "ARENA_DB", "ARENA_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def test_usual_places() -> None:
    assert home.home() == platformdirs.user_data_path("arena", appauthor=False)
    assert home.cache() == platformdirs.user_cache_path("arena", appauthor=False)
    assert home.store_place() == home.home() / "arena.db"


def test_places_by_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("ARENA_CACHE", "~/somewhere")
    assert home.home() == tmp_path / "data"
    assert home.cache() == Path.home() / "somewhere"
    assert home.store_place() == tmp_path / "data" / "arena.db"
    monkeypatch.setenv("ARENA_DB", "~/one.db")
    assert home.store_place() == Path.home() / "one.db"
    assert home.store_place(f"sqlite:///{tmp_path}/two.db") == tmp_path / "two.db"
    assert home.store_place(str(tmp_path / "three.db")) == tmp_path / "three.db"


@pytest.mark.parametrize("location", ["mysql://host/arena", "."])
def test_no_place_for_a_store(location: str) -> None:
    with pytest.raises(StoreError, match="give a file"):
        home.store_place(location)


def test_a_store_at_the_usual_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "new" / "data"))
    with pytest.raises(StoreError, match="no store at"), home.open_store(read_only=True):
        pass
    with pytest.raises(StoreError, match="no folder"), home.open_store(str(tmp_path / "other" / "a.db")):
        pass
    with home.open_store(fast=True) as store:
        assert store.path == tmp_path / "new" / "data" / "arena.db"
        assert add_cup(store).record.name == "rr-1"
    with home.open_store(read_only=True) as store:
        assert len(store.tournaments.newest()) == 1


def test_a_backup_at_the_usual_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    backup = tmp_path / "kept.db"
    with home.open_store(str(tmp_path / "a.db"), fast=True) as store:
        add_cup(store)
        store.backup(backup)
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "new" / "data"))
    assert home.restore_store(backup) is None
    assert home.restore_store(backup) is not None
    with home.open_store(read_only=True) as store:
        assert len(store.tournaments.newest()) == 1
    with pytest.raises(StoreError, match="no backup at"):
        home.restore_store(tmp_path / "nowhere.db")


def test_no_folder_for_the_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "file"))
    with pytest.raises(StoreError, match="set ARENA_HOME"), home.open_store():
        pass


def test_errors_within_the_block(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no planned match 99"):
        save_too_much(tmp_path / "a.db")
    with pytest.raises(StoreError, match=r"^busy$"), home.store_errors():
        raise LockedError("busy")


def save_too_much(path: Path) -> None:
    with home.open_store(str(path)) as store:
        cup = add_cup(store)
        store.matches.save([replace(cup.match(1), number=99)])


@pytest.mark.sqlite("a reader on a server waits for no lock")
def test_a_locked_store_is_told_while_waiting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with home.open_store(str(path), fast=True) as store:
        add_cup(store)
    monkeypatch.setattr(home, "_TOLD_MS", 10)
    lock = find_driver().module.connect(path, isolation_level=None, check_same_thread=False)
    lock.execute("PRAGMA locking_mode = EXCLUSIVE")
    lock.execute("BEGIN EXCLUSIVE")

    class Unlocking(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(record.getMessage())
            lock.close()

    told: list[str] = []
    handler = Unlocking()
    logging.getLogger(home.__name__).addHandler(handler)
    try:
        with home.open_store(str(path), read_only=True) as store:
            assert len(store.tournaments.newest()) == 1
    finally:
        logging.getLogger(home.__name__).removeHandler(handler)
    assert told == [f"{path} is locked by another process; waiting up to 30 s for it"]


@pytest.mark.sqlite("a reader on a server waits for no lock")
@pytest.mark.parametrize("is_lost", [False, True])
def test_a_store_that_opens_slowly_is_not_said_to_be_locked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_lost: bool
) -> None:
    path = str(tmp_path / "a.db")
    with home.open_store(path, fast=True) as store:
        add_cup(store)
    asked: list[Thread] = []
    usual = Store.open

    def slow(location: str | Place, **options: Unpack[_OpenOptions]) -> Store:
        if isinstance(current_thread(), Timer):
            asked.append(current_thread())
            if is_lost:
                raise MissingError("it is being replaced")
        else:
            for thread in enumerate_threads():
                if isinstance(thread, Timer):
                    thread.join()
        return usual(location, **options)

    monkeypatch.setattr(home, "_TOLD_MS", 10)
    monkeypatch.setattr(Store, "open", slow)
    with home.open_store(path, read_only=True):
        assert len(asked) == 1
    assert caplog.records == []


def test_importing_it_loads_no_database(tmp_path: Path) -> None:
    loaded = modules_after("import arena.home", tmp_path)
    assert "arena.home" in loaded
    assert not {"sqlalchemy", "alembic", "sqlite3", "pysqlite3"} & loaded


def test_the_user_s_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def usual(*_: object, **__: object) -> Path:
        return tmp_path

    monkeypatch.setattr(platformdirs, "user_config_path", usual)
    assert home.user_config() is None
    (tmp_path / "arena.toml").touch()
    assert home.user_config() == tmp_path / "arena.toml"
    monkeypatch.setenv("ARENA_CONFIG", str(tmp_path / "mine.toml"))
    with pytest.raises(ConfigError, match=r"mine\.toml"):
        home.user_config()
    (tmp_path / "mine.toml").touch()
    assert home.user_config() == tmp_path / "mine.toml"
