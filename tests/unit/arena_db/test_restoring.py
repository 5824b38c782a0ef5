"""A backup replaces a store completely or not at all; the old store is kept."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena_db.backend.sqlite import restoring
from arena_db.backend.sqlite.engine import FileSettings, open_raw, writer_lock
from arena_db.errors import (
    AccessError,
    DamagedError,
    ForeignError,
    LockedError,
    MissingError,
    NewerError,
    TakenError,
)
from arena_db.owner import Owner, current_owner
from arena_db.records import MatchFilter
from arena_db.store import Store
from children import run_child
from stores import add_cup, break_index, tamper

if TYPE_CHECKING:
    from collections.abc import Callable

    from stores import Cup

pytestmark = pytest.mark.sqlite("a database on a server is restored by pg_restore")

ELSEWHERE = Owner(uuid="one", host="elsewhere", boot_id="b", pid=1, pid_start=1)


@pytest.fixture
def cup(store: Store) -> Cup:
    """Return a tournament of which one match is stored."""
    cup = add_cup(store)
    store.matches.save([cup.match(1)])
    return cup


@pytest.fixture
def backup(store: Store, cup: Cup, tmp_path: Path) -> Path:
    """Return a backup with one match; its store has two by now, one of them only in the log."""
    target = tmp_path / "kept %41?.db"
    store.backup(target)
    store.matches.save([cup.match(2)])
    return target


def numbers(path: Path) -> list[int]:
    with Store.open(path, create=False) as store:
        assert store.integrity.check() == []
        return [match.number for match in store.matches.of_tournament(1)]


def everything(folder: Path) -> dict[str, bytes]:
    passing = ("-shm", "-lock")
    return {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith(passing)}


def test_the_old_store_is_kept_whole(store: Store, backup: Path) -> None:
    assert store.path.with_name("arena.db-wal").stat().st_size > 0
    old = Store.restore(backup, store.path)
    assert old is not None
    assert re.fullmatch(r"arena\.db\.\d{8}-\d{6}\.old", old.name)
    assert numbers(store.path) == [1]
    assert numbers(old) == [1, 2], "its log went with it"
    assert numbers(backup) == [1]
    assert {file.name for file in store.path.parent.iterdir()} >= {"arena.db", old.name}
    assert not list(store.path.parent.glob(".*part"))


def test_two_in_one_second(store: Store, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = time.gmtime(0)
    monkeypatch.setattr(time, "gmtime", lambda: moment)
    store.close()
    names = [old.name for old in (Store.restore(backup, store.path) for _ in range(3)) if old]
    assert names == [f"arena.db.19700101-000000{number}.old" for number in ("", "-2", "-3")]


def test_where_no_store_is(backup: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.db"
    assert Store.restore(backup, f"sqlite:///{target}") is None
    assert numbers(target) == [1]
    target.write_bytes(b"")
    assert Store.restore(backup, target) is not None
    assert numbers(target) == [1]


def test_a_log_without_its_store_is_moved_too(backup: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.db"
    target.with_name("new.db-wal").write_bytes(b"of another store")
    assert Store.restore(backup, target) is None
    assert numbers(target) == [1]


def test_results_that_wait_go_with_the_old_store(store: Store, cup: Cup, backup: Path) -> None:
    with (
        closing(open_raw(FileSettings(place=store.path))) as other,
        Store.open(store.place, busy_ms=1) as waiting,
    ):
        other.execute("BEGIN IMMEDIATE")
        waiting.matches.save([cup.match(3)])
        other.execute("ROLLBACK")
    old = Store.restore(backup, store.path)
    assert old is not None
    assert numbers(store.path) == [1]
    assert numbers(old) == [1, 2, 3]


@pytest.mark.parametrize("owner", [replace(current_owner(), uuid="me"), ELSEWHERE])
def test_a_store_in_use_stays(store: Store, backup: Path, owner: Owner) -> None:
    held = store.claim(1, owner)
    assert held is not None
    before = everything(store.path.parent)
    with pytest.raises(LockedError, match="rr-1 is being run; arena stop rr-1"):
        Store.restore(backup, store.path)
    assert everything(store.path.parent) == before
    held.leases.release()
    assert Store.restore(backup, store.path) is not None


@pytest.mark.parametrize(
    "owner", [replace(current_owner(), uuid="dead", pid_start=1), replace(ELSEWHERE, uuid="late")]
)
def test_a_lease_of_nobody_is_no_obstacle(store: Store, backup: Path, owner: Owner) -> None:
    assert store.claim(1, owner, expires_s=0 if owner.uuid == "late" else 60)
    assert Store.restore(backup, store.path) is not None


@pytest.mark.parametrize("start", [100, 4096])
def test_a_damaged_store_is_replaced(store: Store, backup: Path, start: int) -> None:
    store.close()
    content = bytearray(store.path.read_bytes())
    content[start:] = b"\xff" * (len(content) - start)
    store.path.write_bytes(content)
    old = Store.restore(backup, store.path)
    assert old is not None
    assert old.read_bytes() == content
    assert numbers(store.path) == [1]


def test_what_is_not_ours_stays(store: Store, backup: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.db"
    notes.write_text("no database at all, but long enough to be looked at\n" * 40)
    with pytest.raises(ForeignError, match="move it away first"):
        Store.restore(backup, notes)
    assert notes.read_text().startswith("no database")
    tamper(store.place, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(NewerError, match="move it away first"):
        Store.restore(backup, store.path)
    assert list(store.path.parent.glob("*.old")) == []


def test_what_is_no_backup(store: Store, backup: Path, tmp_path: Path) -> None:
    before = everything(store.path.parent)
    with pytest.raises(MissingError, match="no backup at"):
        Store.restore(tmp_path / "nowhere.db", store.path)
    with pytest.raises(TakenError, match="the store itself"):
        Store.restore(store.path, store.path)
    empty, foreign = tmp_path / "empty.db", tmp_path / "foreign.db"
    empty.touch()
    with pytest.raises(ForeignError, match="empty"):
        Store.restore(empty, store.path)
    foreign.write_text("no database at all, but long enough to be looked at\n" * 40)
    with pytest.raises(ForeignError, match=re.escape(str(foreign))):
        Store.restore(foreign, store.path)
    tamper(backup, "DROP TABLE alembic_version")
    with pytest.raises(DamagedError, match="no such table"):
        Store.restore(backup, store.path)
    assert everything(store.path.parent) == before


def test_a_damaged_backup(store: Store, cup: Cup, backup: Path) -> None:
    before = everything(store.path.parent)
    with Store.open(backup) as copy:
        copy.matches.save([cup.match(2)])
    break_index(backup)
    with pytest.raises(DamagedError, match="the copy was not kept"):
        Store.restore(backup, store.path)
    assert everything(store.path.parent) == before


def test_a_newer_backup(store: Store, backup: Path) -> None:
    tamper(backup, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(NewerError, match="pip install -U"):
        Store.restore(backup, store.path)


@pytest.mark.parametrize("num_moves", range(6))
def test_a_failure_leaves_all_as_it_was(
    store: Store, backup: Path, monkeypatch: pytest.MonkeyPatch, num_moves: int
) -> None:
    before = everything(store.path.parent)
    left = [num_moves]

    def failing(move: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
        def fail(path: Path, target: Path) -> Path:
            left[0] -= 1
            if left[0] == -1:
                raise PermissionError(13, "held by another process")
            return move(path, target)

        return fail

    for name in ("rename", "replace"):
        monkeypatch.setattr(Path, name, failing(getattr(Path, name)))
    with pytest.raises(AccessError, match="held by another process"):
        Store.restore(backup, store.path)
    assert left[0] < 0
    assert everything(store.path.parent) == before


_KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from arena_db.store import Store
source, backup, target = map(Path, sys.argv[1:])
steps = [0]
def killing(step):
    def count(*arguments, **options):
        steps[0] -= 1
        if steps[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*arguments, **options)
    return count
for owner, name in ((Path, "rename"), (Path, "replace"), (Path, "unlink"), (os, "fsync")):
    setattr(owner, name, killing(getattr(owner, name)))
num = 0
while True:
    num += 1
    steps[0] = 0
    shutil.copytree(source, target / str(num))
    steps[0] = num
    child = os.fork()
    if child == 0:
        Store.restore(backup, target / str(num) / "arena.db")
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
print(num)
"""


def test_killed_between_every_two_steps(store: Store, cup: Cup, backup: Path, tmp_path: Path) -> None:
    with (
        closing(open_raw(FileSettings(place=store.path))) as other,
        Store.open(store.place, busy_ms=1) as waiting,
    ):
        other.execute("BEGIN IMMEDIATE")
        waiting.matches.save([cup.match(3)])
        other.execute("ROLLBACK")
    source, target = tmp_path / "source", tmp_path / "killed"
    # The state that a killed process leaves: with a log, and a result that waits beside the store.
    shutil.copytree(store.path.parent, source)
    store.close()
    target.mkdir()
    script = f"import sys; sys.path[:0] = {sys.path!r}\n{_KILLED}"
    done = run_child([sys.executable, "-c", script, source, backup, target], cwd=tmp_path)
    num = int(done.stdout)
    assert num > 12, "there are that many steps"
    found: list[list[int]] = []
    for step in range(1, num + 1):
        path = target / str(step) / "arena.db"
        again = shutil.copytree(path.parent, tmp_path / f"again {step}") / "arena.db"
        found.append(listed(path))
        assert not path.with_name("arena.db-restore").exists()
        if found[-1] == [1]:
            assert [listed(old) for old in path.parent.glob("*.old")] == [[1, 2, 3]]
        Store.restore(backup, again)
        assert listed(again) == [1]
        assert not list(again.parent.glob(".*")), "nothing lies about"
        kept = [listed(old) for old in again.parent.glob("*.old")]
        assert kept.count([1, 2, 3]) == 1, "nothing of the old store is lost"
    assert found[0] == [1, 2, 3]
    assert found[-1] == [1]
    assert all(each in ([1, 2, 3], [1]) for each in found), "the one or the other, and whole"


def listed(path: Path) -> list[int]:
    """Return the numbers of the matches, after a quick check."""
    with Store.open(path, create=False, fast=True) as store:
        assert store.integrity.check(quick=True) == []
        return [match.number for match in store.matches.of_tournament(1)]


def test_a_viewer_waits_for_a_restore(store: Store, backup: Path) -> None:
    note = store.path.with_name("arena.db-restore")
    note.write_text('{"old": "arena.db.old", "part": "arena.db.part"}')
    with pytest.raises(LockedError, match="arena db upgrade"):
        Store.open(store.place, read_only=True)
    store.close()
    assert numbers(store.path) == [1, 2]
    assert not note.exists()
    assert numbers(backup) == [1]


def test_one_restore_at_a_time(store: Store, backup: Path) -> None:
    with writer_lock(FileSettings(place=store.path), always=True), pytest.raises(LockedError):
        restoring.restore(backup, FileSettings(place=store.path, busy_ms=20))
    assert Store.restore(backup, store.path) is not None


def test_everything_is_synced(store: Store, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    Store.restore(backup, store.path)
    folder = store.path.parent.name
    assert [name if name == folder else name.split(".")[-1] for name in synced] == [
        *("part", folder),  # the note
        "part",
        *(folder, folder),  # the old store aside, the new one in its place
        *(folder, folder),  # the note removed
    ]
    assert synced[0].startswith(".arena.db-restore.")


def test_a_store_that_cannot_be_read_is_not_moved(
    store: Store, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AccessError("no")

    monkeypatch.setattr(restoring, "held_by_living", fail)
    with pytest.raises(AccessError):
        Store.restore(backup, store.path)
    assert len(store.matches.newest(MatchFilter())) == 2
