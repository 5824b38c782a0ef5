"""A backup is whole, never in the way of another file, and leaves nothing behind when it fails."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from arena_db import backup as backups
from arena_db.engine import Settings, open_raw
from arena_db.errors import AccessError, DamagedError, DatabaseError, TakenError
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import add_cup, break_index

if TYPE_CHECKING:
    from pathlib import Path


def test_a_backup_of_a_store_in_use(store: Store, tmp_path: Path) -> None:
    cup = add_cup(store)
    store.save([cup.match(1), cup.match(2)])
    target = tmp_path / "kept 100%41.db"
    with closing(open_raw(Settings(path=store.path))) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE matches SET reason = 'not committed'")
        store.backup(target)
        other.execute("ROLLBACK")
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == [target.name]
    store.save([cup.match(3)])
    with Store.open(target) as copy:
        assert copy.check() == []
        assert [match.reason for match in copy.matches(MatchFilter())] == [cup.match(1).reason] * 2
        assert copy.save([cup.match(3)]) == 1


def test_a_target_that_exists_is_kept(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "mine.txt"
    target.write_text("mine")
    with pytest.raises(TakenError, match="new name"):
        store.backup(target)
    assert target.read_text() == "mine"
    with pytest.raises(AccessError, match="cannot write"):
        store.backup(tmp_path / "nowhere" / "copy.db")


def test_nothing_is_left_of_a_failure(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "copy.db"

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KeyboardInterrupt):
        store.backup(target)
    monkeypatch.setattr(backups, "copy_whole", fail)
    with pytest.raises(KeyboardInterrupt):
        store.backup(target)
    assert [file for file in tmp_path.iterdir() if file.is_file()] == []


def test_a_store_with_a_wrong_index_gives_no_backup(store: Store, tmp_path: Path) -> None:
    cup = add_cup(store)
    store.save([cup.match(1), cup.match(2)])
    store.close()
    break_index(store.path)
    with pytest.raises(DamagedError, match="the copy was not kept"):
        store.backup(tmp_path / "copy.db")
    assert [file for file in tmp_path.iterdir() if file.is_file()] == []


@pytest.mark.parametrize("place", [0, 40])
def test_a_damaged_store_gives_no_backup(store: Store, tmp_path: Path, place: int) -> None:
    cup = add_cup(store, num=200)
    store.save([cup.match(number) for number in range(1, 201)])
    store.close()
    content = bytearray(store.path.read_bytes())
    content[4096 * place : 4096 * (place + 3)] = b"\xff" * 4096 * 3
    store.path.write_bytes(content)
    with pytest.raises(DatabaseError) as caught:
        store.backup(tmp_path / "copy.db")
    assert isinstance(caught.value, DamagedError) or place == 0
    assert [file for file in tmp_path.iterdir() if file.is_file()] == []
