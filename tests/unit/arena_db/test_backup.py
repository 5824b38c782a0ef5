"""A backup is complete, never overwrites another file, and leaves nothing behind when it fails."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena_db.backend.sqlite import backup as backups
from arena_db.backend.sqlite.engine import FileSettings, open_raw
from arena_db.errors import AccessError, DamagedError, DatabaseError, TakenError
from arena_db.files import _mark  # pyright: ignore[reportPrivateUsage] - what parts of other processes are named by
from arena_db.owner import current_owner
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import add_cup, break_index

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.sqlite("a database on a server is copied by pg_dump")


def test_a_backup_of_a_store_in_use(store: Store, tmp_path: Path) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1), cup.match(2)])
    target = tmp_path / "kept 100%41.db"
    with closing(open_raw(FileSettings(place=store.path))) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE matches SET reason = 'not committed'")
        store.backup(target)
        other.execute("ROLLBACK")
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == [target.name]
    store.matches.save([cup.match(3)])
    with Store.open(target) as copy:
        assert copy.integrity.check() == []
        assert [match.reason for match in copy.matches.newest(MatchFilter())] == [cup.match(1).reason] * 2
        assert copy.matches.save([cup.match(3)]) == 1


def test_a_target_that_exists_is_kept(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "mine.txt"
    target.write_text("mine")
    with pytest.raises(TakenError, match="new name"):
        store.backup(target)
    assert target.read_text() == "mine"
    with pytest.raises(AccessError, match="cannot write"):
        store.backup(tmp_path / "nowhere" / "copy.db")


def test_a_backup_is_on_the_disk_before_it_has_its_name(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, sync, synced = tmp_path / "copy.db", os.fsync, list[tuple[int, bool]]()

    def note(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, target.exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    store.backup(target)
    assert synced == [(target.stat().st_ino, False), (tmp_path.stat().st_ino, True)]


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
    store.matches.save([cup.match(1), cup.match(2)])
    store.close()
    break_index(store.path)
    with pytest.raises(DamagedError, match="the copy was not kept"):
        store.backup(tmp_path / "copy.db")
    assert [file for file in tmp_path.iterdir() if file.is_file()] == []


@pytest.mark.parametrize("page", [0, 40])
def test_a_damaged_store_gives_no_backup(store: Store, tmp_path: Path, page: int) -> None:
    cup = add_cup(store, num=200)
    store.matches.save([cup.match(number) for number in range(1, 201)])
    store.close()
    content = bytearray(store.path.read_bytes())
    content[4096 * page : 4096 * (page + 3)] = b"\xff" * 4096 * 3
    store.path.write_bytes(content)
    with pytest.raises(DatabaseError) as caught:
        store.backup(tmp_path / "copy.db")
    assert isinstance(caught.value, DamagedError) or page == 0
    assert [file for file in tmp_path.iterdir() if file.is_file()] == []


def _dead() -> str:
    """Return the mark of a process of this machine that has ended."""
    return _mark(replace(current_owner(), pid_start=current_owner().pid_start + 1))


def test_parts_of_dead_processes_go_with_the_next_backup(store: Store, tmp_path: Path) -> None:
    add_cup(store)
    number = "0" * 32
    marks = {
        "dead": _dead(),
        "restarted": _mark(replace(current_owner(), boot_id="before")),
        "alive": _mark(current_owner()),
        "elsewhere": _mark(replace(current_owner(), host="elsewhere", pid_start=1)),
    }
    for name, mark in marks.items():
        for side in ("", "-journal", "-wal", "-shm"):
            (tmp_path / f".{name}.db.{mark}.{number}.part{side}").touch()
    (tmp_path / f".mine.{number}.part").touch()
    (tmp_path / ".mine.part").touch()
    store.backup(tmp_path / "copy.db")
    left = {file.name.split(".")[1] for file in tmp_path.iterdir() if file.name.startswith(".")}
    assert left == {"alive", "elsewhere", "mine"}
    assert len(list(tmp_path.glob(".mine*"))) == 2


def test_a_name_that_is_taken_meanwhile(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, usual = tmp_path / "copy.db", backups.copy_whole

    def copy_late(settings: FileSettings, part: Path) -> None:
        usual(settings, part)
        target.write_text("mine")

    monkeypatch.setattr(backups, "copy_whole", copy_late)
    with pytest.raises(TakenError, match="new name"):
        store.backup(target)
    assert target.read_text() == "mine"
    assert [file for file in tmp_path.iterdir() if file.is_file()] == [target]


def test_a_link_to_nowhere_is_a_taken_name(store: Store, tmp_path: Path) -> None:
    (tmp_path / "copy.db").symlink_to("nowhere")
    with pytest.raises(TakenError):
        store.backup(tmp_path / "copy.db")


@pytest.fixture
def without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", fail)


@pytest.mark.usefixtures("without_links")
@pytest.mark.parametrize("claim", [None, "dead", "broken"])
def test_a_file_system_without_links(store: Store, tmp_path: Path, claim: str | None) -> None:
    target, place = tmp_path / "copy.db", tmp_path / ".copy.db.claim"
    if claim is not None:
        place.write_text(_dead() if claim == "dead" else "")
        os.utime(place, (0, 0))
    store.backup(target)
    with pytest.raises(TakenError):
        store.backup(target)
    assert [file for file in tmp_path.iterdir() if file.is_file()] == [target]
    with Store.open(target, read_only=True) as copy:
        assert copy.integrity.check() == []


@pytest.mark.usefixtures("without_links")
def test_a_tournament_moves_out_without_links(store: Store, tmp_path: Path) -> None:
    cup = add_cup(store, name="goes")
    store.matches.save([cup.match(1)])
    target = tmp_path / "goes.db"
    store.transfers.remove(cup.record.id, target, who="u@h")
    assert [file for file in tmp_path.iterdir() if file.is_file()] == [target]
    with Store.open(target, read_only=True) as moved:
        assert moved.matches.count(MatchFilter()) == 1
    assert store.tournaments.find("goes") is None


@pytest.mark.usefixtures("without_links")
@pytest.mark.parametrize("claim", ["alive", "new"])
def test_a_claim_keeps_others_out(store: Store, tmp_path: Path, claim: str) -> None:
    """Two backups to one file exclude each other; with renames alone, the second would replace the first."""
    place = tmp_path / ".copy.db.claim"
    place.write_text(_mark(current_owner()) if claim == "alive" else "")
    with pytest.raises(TakenError):
        store.backup(tmp_path / "copy.db")
    assert [file for file in tmp_path.iterdir() if file.is_file()] == [place]


@pytest.mark.usefixtures("without_links")
def test_a_rename_replaces_nothing(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test_a_name_that_is_taken_meanwhile(store, tmp_path, monkeypatch)
