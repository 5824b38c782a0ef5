"""Commands are delivered once and answered once; users who may only read can send them, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arena_db.backend.sqlite import engine
from arena_db.backend.sqlite.engine import FileSettings, writer_lock
from arena_db.errors import AccessError, LockedError, RefusedError
from arena_db.models import COMMAND_KINDS
from arena_db.store import Store
from stores import add_cup, locked


def test_commands_are_taken_once(store: Store) -> None:
    one, two = add_cup(store).record.id, add_cup(store).record.id
    assert store.commands.take(one) == []
    ids = [store.commands.send(one, kind, f'{{"of": "{kind}"}}') for kind in COMMAND_KINDS]
    store.commands.send(two, "abort")
    taken = store.commands.take(one)
    assert [(command.id, command.kind) for command in taken] == list(zip(ids, COMMAND_KINDS, strict=True))
    assert taken[4].payload == '{"of": "move"}'
    assert store.commands.take(one) == []
    assert [command.kind for command in store.commands.take(two)] == ["abort"]


def test_an_answer_is_given_once(store: Store) -> None:
    number = store.commands.send(add_cup(store).record.id, "hint")
    asked = store.commands.find(number)
    assert asked is not None
    assert (asked.taken_at, asked.answered_at, asked.answer) == (None, None, "")
    (taken,) = store.commands.take(1)
    assert taken.taken_at is not None
    assert taken.taken_at >= taken.asked_at
    store.commands.answer(number, "play the middle")
    answered = store.commands.find(number)
    assert answered is not None
    assert answered.answer == "play the middle"
    assert answered.answered_at is not None
    for unanswerable in (number, 99):
        with pytest.raises(RefusedError, match=f"command {unanswerable} does not exist"):
            store.commands.answer(unanswerable, "again")
    assert store.commands.find(99) is None


def test_a_viewer_asks(store: Store) -> None:
    add_cup(store)
    with Store.open(store.place, read_only=True) as viewer:
        number = viewer.commands.send(1, "pause")
        version = viewer.data_version()
        assert [command.id for command in store.commands.take(1)] == [number]
        store.commands.answer(number, "paused")
        assert viewer.data_version() != version
        command = viewer.commands.find(number)
        assert command is not None
        assert command.answer == "paused"


@pytest.mark.sqlite("the write-ahead log beside a file")
def test_asking_checkpoints_no_log(store: Store) -> None:
    add_cup(store)
    log = store.path.with_name("arena.db-wal")
    with Store.open(store.place, read_only=True) as viewer:
        size = log.stat().st_size
        viewer.commands.send(1, "pause")
        assert log.stat().st_size > size
    store.close()
    with Store.open(store.place, read_only=True) as viewer:
        viewer.commands.send(1, "stop")
        assert log.stat().st_size > 0


def test_nobody_else_has_the_store_open(store: Store) -> None:
    add_cup(store)
    store.close()
    with Store.open(store.place, read_only=True) as viewer:
        viewer.commands.send(1, "stop")
    with Store.open(store.place) as coordinator:
        assert [command.kind for command in coordinator.commands.take(1)] == ["stop"]


@pytest.mark.parametrize(
    ("tournament", "kind", "payload"),
    [(9, "stop", ""), (1, "dance", ""), (1, "move", "x" * 4097), (1, "move", "\ud800")],
)
def test_refused(store: Store, tournament: int, kind: str, payload: str) -> None:
    add_cup(store)
    with pytest.raises(RefusedError, match=re.escape(str(store.place))):
        store.commands.send(tournament, kind, payload)
    store.commands.send(1, "stop")
    assert len(store.commands.take(1)) == 1


def test_asking_does_not_wait_long_for_a_writer(store: Store) -> None:
    add_cup(store)
    with locked(store.place), Store.open(store.place, read_only=True, busy_ms=20) as viewer:
        if isinstance(store.place, Path):
            with pytest.raises(LockedError, match="locked by another process"):
                viewer.commands.send(1, "stop")
        else:
            assert viewer.commands.send(1, "stop"), "a command is one row, for which a server needs no lock"


@pytest.mark.sqlite("old libraries of SQLite")
def test_one_writer_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add_cup(store)
    store.close()
    monkeypatch.setattr(engine, "SAFE_SQLITE", (99, 0, 0))
    with Store.open(store.place, read_only=True, busy_ms=20) as viewer:
        with writer_lock(FileSettings(place=store.path)), pytest.raises(LockedError):
            viewer.commands.send(1, "stop")
        assert viewer.commands.send(1, "stop") == 1


@pytest.mark.sqlite("a file that may only be read")
def test_a_store_that_cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(path) as store:
        add_cup(store)
        with Store.open(path, read_only=True) as viewer:
            # Root may write anything, so the test opens a read-only connection of the SQLite library.
            uri = f"{path.as_uri()}?mode=ro"

            def may_only_read(_settings: FileSettings, *, create: bool) -> str:
                assert not create
                return uri

            monkeypatch.setattr(engine, "_uri", may_only_read)
            with pytest.raises(AccessError, match="permissions"):
                viewer.commands.send(1, "stop")


def test_asking_for_commands_writes_nothing(store: Store) -> None:
    tournament = add_cup(store).record.id
    version = store.data_version()
    store.commands.take(tournament)
    assert store.data_version() == version
    store.commands.send(tournament, "stop")
    assert store.data_version() != version
