"""A store that is removed, moved or replaced during a run: noticed, and no reported result is lost."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena_db import rescue
from arena_db.backend.sqlite.spool import Spool
from arena_db.errors import AccessError, DatabaseError, ForeignError, FullError, MovedError, RefusedError
from arena_db.owner import current_owner
from arena_db.records import Remark
from arena_db.remark_codec import pack_remarks
from arena_db.spool_lines import encode
from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stores import Cup

pytestmark = pytest.mark.sqlite("a file that is moved or removed")


def remove(path: Path) -> None:
    for name in ("", "-wal", "-shm"):
        path.with_name(path.name + name).unlink()


def remove_file(path: Path) -> None:
    path.unlink()


def remove_log(path: Path) -> None:
    path.with_name(path.name + "-wal").unlink()


def remove_index(path: Path) -> None:
    path.with_name(path.name + "-shm").unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


def replace_by_copy(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


def replace_by_rubbish(path: Path) -> None:
    path.rename(path.with_name("moved.db"))
    path.write_text("rubbish")


WAYS: dict[Callable[[Path], None], str] = {
    remove: r"arena\.db was removed",
    remove_file: r"arena\.db was removed",
    remove_log: r"arena\.db-wal was removed",
    remove_index: r"arena\.db-shm was removed",
    move: r"arena\.db was moved to .*moved\.db",
    move_folder: r"arena\.db was moved to .*elsewhere.*arena\.db",
    replace_by_copy: r"arena\.db was replaced by another file",
    replace_by_rubbish: r"arena\.db was replaced by another file and is .*moved\.db now",
}


@pytest.fixture
def cup(store: Store) -> Cup:
    return add_cup(store)


def held(store: Store) -> Store:
    fenced = store.claim(1, current_owner())
    assert fenced is not None
    return fenced


@pytest.mark.parametrize("way", WAYS)
def test_it_is_noticed_at_the_next_save_and_beat(store: Store, cup: Cup, way: Callable[[Path], None]) -> None:
    fenced = held(store)
    assert fenced.matches.save([cup.match(1)]) == 1
    fenced.check_place()
    way(store.path)
    for use in (
        fenced.check_place,
        fenced.leases.beat,
        fenced.sums.sum_up,
        lambda: fenced.matches.save([cup.match(2)]),
    ):
        with pytest.raises(MovedError, match=WAYS[way]):
            use()


@pytest.mark.parametrize("way", WAYS)
def test_all_results_are_rescued(store: Store, cup: Cup, tmp_path: Path, way: Callable[[Path], None]) -> None:
    store.backup(tmp_path / "backup.db")
    fenced = held(store)
    said = pack_remarks([Remark(depth=3, text="Ünïcode"), None, None, Remark(pv=(1, 2))])
    records = [
        cup.match(1, remarks=said, values=(0.1, -1.0, None, 1e-300), reason="“X” wins\n"),
        cup.void(2),
        cup.match(2, attempt=1, started_at=1_750_000_000.123456),
    ]
    fenced.matches.save(records)
    before = list(store.matches.of_tournament(1)), store.matches.remarks([1, 2, 3])
    way(store.path)
    with pytest.raises(MovedError):
        fenced.matches.save([cup.match(3), cup.match(4)])
    target = tmp_path / "cup.spool"
    assert fenced.transfers.rescue(target) == 5
    with pytest.raises(DatabaseError, match="exists"):
        fenced.transfers.rescue(target)
    fenced.close()
    store.close()

    again = tmp_path / "again.db"
    shutil.copy(tmp_path / "backup.db", again)
    take_back(target, again)
    with Store.open(again) as restored:
        matches = list(restored.matches.of_tournament(1))
        assert [(match.number, match.attempt) for match in matches] == [
            (1, 0),
            (2, 0),
            (2, 1),
            (3, 0),
            (4, 0),
        ]
        assert (matches[:3], restored.matches.remarks([1, 2, 3])) == before
        assert restored.integrity.check() == []
        assert [match.number for match in restored.plans.unplayed(1)] == list(range(5, 13))
        take_back(target, again)
        restored.matches.save([])
        assert list(restored.matches.of_tournament(1)) == matches, "nothing is stored twice"
        assert restored.matches.num_waiting == 0


def take_back(rescued: Path, path: Path) -> None:
    """Follow the instructions in the message of a run."""
    folder = path.with_name(path.name + "-spool")
    folder.mkdir(exist_ok=True)
    shutil.copy(rescued, folder / "cup.jsonl")


def test_results_that_found_the_store_locked_are_rescued(store: Store, cup: Cup, tmp_path: Path) -> None:
    with Store.open(store.place, busy_ms=20) as other:
        fenced = held(other)
        fenced.matches.save([cup.match(1)])
        with store._access.write():  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - holds the lock
            move(store.path)
            with pytest.raises(MovedError):
                fenced.matches.save([cup.match(2), cup.match(3)])
        target = tmp_path / "cup.spool"
        assert fenced.transfers.rescue(target) == 3
        assert [json.loads(line)["number"] for line in target.read_bytes().splitlines()] == [1, 2, 3]


def test_results_of_another_tournament_are_refused(store: Store, cup: Cup, tmp_path: Path) -> None:
    fenced = held(store)
    fenced.matches.save([cup.match(1)])
    target = tmp_path / "cup.spool"
    fenced.transfers.rescue(target)
    with Store.open(tmp_path / "other.db") as other:
        add_cup(other)  # the same bots, plan and name
        take_back(target, other.path)
        other.matches.save([])
        assert list(other.matches.of_tournament(1)) == []
        assert len(Spool(other.path).refused()) == 1


def test_what_cannot_be_written_leaves_nothing(
    store: Store, cup: Cup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(28, "no room")

    fenced = held(store)
    fenced.matches.save([cup.match(1)])
    monkeypatch.setattr(os, "fsync", fail)
    folder = tmp_path / "rescue"
    folder.mkdir()
    with pytest.raises(FullError):
        fenced.transfers.rescue(folder / "cup.spool")
    assert list(folder.iterdir()) == []


def test_no_connection_is_opened_to_another_file(store: Store, cup: Cup) -> None:
    assert store.matches.save([cup.match(1)]) == 1
    replace_by_copy(store.path)
    taken = store._access.engine.connect()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the only one there is
    with taken, pytest.raises(MovedError, match="was replaced"):
        store.tournaments.find(1)


def test_who_is_no_run_is_not_kept_from_writing(store: Store, cup: Cup) -> None:
    """Without a run, a write to a moved store succeeds, as is usual for SQLite."""
    move(store.path)
    assert store.matches.save([cup.match(1)]) == 1


def test_a_spooled_result_carries_the_epoch(store: Store, cup: Cup) -> None:
    held(store)
    with Store.open(store.place, busy_ms=20) as other:
        fenced = held(other)
        with store._access.write():  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - holds the lock
            assert fenced.matches.save([cup.match(1)]) == 0
        (file,) = Spool(store.path).waiting()
        assert json.loads(file.read_bytes())["epoch"] == 2
        assert Store.open(store.place).matches.save([]) == 0
    assert [match.number for match in store.matches.of_tournament(1)] == [1]


def lost(store: Store, cup: Cup, tmp_path: Path) -> Path:
    """Return the rescue file of a run that stored four matches after a backup."""
    store.backup(tmp_path / "backup.db")
    fenced = held(store)
    fenced.matches.save([cup.match(1), cup.void(2), cup.match(2, attempt=1), cup.match(5)])
    target = tmp_path / "cup.spool"
    assert fenced.transfers.rescue(target) == 4
    fenced.close()
    return target


def test_rescued_results_are_merged_once(store: Store, cup: Cup, tmp_path: Path) -> None:
    target = lost(store, cup, tmp_path)
    with Store.open(tmp_path / "backup.db") as backup:
        assert rescue.is_rescue(target)
        assert not rescue.is_rescue(backup.path)
        assert not rescue.is_rescue(tmp_path)
        assert backup.transfers.merge_rescue(target) == (1, 4, 4, 0)
        assert backup.transfers.merge_rescue(target) == (1, 4, 0, 0)
        stored = list(store.matches.of_tournament(1))
        assert list(backup.matches.of_tournament(1)) == stored
        assert len(stored) == 4
        assert backup.integrity.check() == []
        assert backup.sums.of_tournament(1) == store.sums.of_tournament(1)


def test_rescued_results_that_are_not_planned_here_are_counted(
    store: Store, cup: Cup, tmp_path: Path
) -> None:
    target = lost(store, cup, tmp_path)
    record = replace(cup.match(12), number=99, tournament=7)
    target.write_bytes(target.read_bytes() + encode(record, 1, cup.record.uid))
    with Store.open(tmp_path / "backup.db") as backup:
        assert backup.transfers.merge_rescue(target) == (1, 5, 4, 1)


def test_what_cannot_be_merged_says_why_and_changes_nothing(store: Store, cup: Cup, tmp_path: Path) -> None:
    target = lost(store, cup, tmp_path)
    good = target.read_bytes()
    with Store.open(tmp_path / "backup.db") as backup:
        for content, error, words in (
            (good + b"{}\n", ForeignError, "line 5 of .*cup.spool is not the result of a match"),
            (good + encode(cup.match(6), 1, "0" * 32), ForeignError, "does not say which tournament"),
            (encode(cup.match(6), 1), ForeignError, "does not say which tournament"),
            (encode(cup.match(6), 1, "0" * 32), RefusedError, "not in this store \\(uid 0+\\)"),
        ):
            target.write_bytes(content)
            with pytest.raises(error, match=words):
                backup.transfers.merge_rescue(target)
        assert list(backup.matches.of_tournament(1)) == []
        backup.matches.save([cup.match(1, match_hash="11" * 32)])
        target.write_bytes(good)
        with pytest.raises(RefusedError, match=r"match 1 of .* is stored here with other moves"):
            backup.transfers.merge_rescue(target)
        with pytest.raises(RefusedError, match="is being run"), closing(held(backup)):
            backup.transfers.merge_rescue(target)
        with pytest.raises(AccessError, match="cannot read"):
            backup.transfers.merge_rescue(tmp_path)
        assert len(list(backup.matches.of_tournament(1))) == 1
    with Store.open(tmp_path / "copy.db") as copy:
        copy.transfers.merge(store.path)
        with pytest.raises(RefusedError, match="is a copy here"):
            copy.transfers.merge_rescue(target)
