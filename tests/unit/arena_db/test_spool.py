"""Results that find the store locked wait in files beside it, and are stored once when it is free."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from arena_db import coordination, files
from arena_db.backend.sqlite.engine import FileSettings, open_raw
from arena_db.backend.sqlite.spool import Spool
from arena_db.errors import AccessError, FullError, LeaseLostError, LockedError
from arena_db.owner import Owner, current_owner
from arena_db.records import LiveEvent
from arena_db.spool_lines import encode
from arena_db.store import Store
from stores import add_cup, digest

if TYPE_CHECKING:
    from collections.abc import Generator

    from stores import Cup

pytestmark = pytest.mark.sqlite("results wait beside a locked file")


@pytest.fixture
def cup(store: Store) -> Cup:
    """Return a stored tournament of 12 planned matches."""
    return add_cup(store)


@contextmanager
def locked(store: Store) -> Generator[Store]:
    """Yield a store that waits 20 ms for a lock held by another connection."""
    with (
        Store.open(store.place, busy_ms=20) as waiting,
        closing(open_raw(FileSettings(place=store.path))) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        yield waiting
        other.execute("ROLLBACK")


def stored(store: Store) -> list[int]:
    return [match.number for match in store.matches.of_tournament(1)]


def test_results_wait_and_are_stored_by_the_next_save(store: Store, cup: Cup) -> None:
    with locked(store) as waiting:
        assert waiting.matches.save([cup.match(1), cup.match(2)]) == 0
        assert waiting.matches.save([cup.void(3)]) == 0
        assert waiting.matches.save([]) == 0
        assert (waiting.matches.num_waiting, stored(waiting)) == (3, [])
        assert waiting.integrity.check() == []
    assert store.matches.save([cup.match(4)]) == 1
    assert stored(store) == [1, 2, 3, 4]
    assert store.matches.num_waiting == 0
    assert sorted(file.name for file in store.path.parent.iterdir() if file.is_dir()) == []
    assert store.integrity.check() == []


def test_a_record_comes_back_as_it_was(store: Store, cup: Cup) -> None:
    records = [
        cup.match(1, reason="Ünïcode “quotes”\n\x85 two lines", fault='{"a": 1}'),
        cup.match(2, values=(0.1, -1.0, None, 1e-300), started_at=1_750_000_000.123456),
    ]
    with locked(store) as waiting:
        waiting.matches.save(records)
    with Store.open(store.path.with_name("reference.db"), fast=True) as reference:
        add_cup(reference)
        reference.matches.save(records)
        expected = list(reference.matches.of_tournament(1))
    with Store.open(store.place) as opened:
        assert list(opened.matches.of_tournament(1)) == expected


def test_events_leave_them_where_they_are(store: Store, cup: Cup) -> None:
    with locked(store) as waiting:
        waiting.matches.save([cup.match(1)])
    # Live events are written without a sync, which is not enough for results.
    store.events.append([LiveEvent(tournament=1, number=1, kind="started", t=1.0)])
    assert (store.matches.num_waiting, stored(store)) == (1, [])


def test_the_next_writer_stores_them_when_it_opens(store: Store, cup: Cup) -> None:
    with locked(store) as waiting:
        waiting.matches.save([cup.match(1)])
        with Store.open(store.place, busy_ms=20) as another:
            assert another.matches.num_waiting == 1, "it could not"
    with Store.open(store.place, read_only=True) as reader:
        assert (reader.matches.num_waiting, stored(reader)) == (1, [])
    with Store.open(store.place) as writer:
        assert (writer.matches.num_waiting, stored(writer)) == (0, [1])


def test_who_takes_over_sees_them(store: Store, cup: Cup) -> None:
    with locked(store) as waiting:
        waiting.matches.save([cup.match(number) for number in range(1, 12)])
        with pytest.raises(LockedError):
            waiting.claim(1, current_owner())
    assert store.claim(1, current_owner())
    assert [match.number for match in store.plans.unplayed(1)] == [12]


def test_a_crash_between_commit_and_removal(store: Store, cup: Cup, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with locked(store) as waiting:
        waiting.matches.save([cup.match(1), cup.void(2)])
    with monkeypatch.context() as patch:
        patch.setattr(Spool, "discard", crash)
        with pytest.raises(KeyboardInterrupt):
            store.matches.save([])
    assert (stored(store), store.matches.num_waiting) == ([1, 2], 2)
    before = list(store.matches.of_tournament(1))
    store.matches.save([])
    assert (list(store.matches.of_tournament(1)), store.matches.num_waiting) == (before, 0)
    assert store.integrity.check() == []


def test_a_file_another_process_has_stored(store: Store, cup: Cup, monkeypatch: pytest.MonkeyPatch) -> None:
    with locked(store) as waiting:
        waiting.matches.save([cup.match(1)])
    gone = store.path.with_name("gone.jsonl")
    spool = Spool(store.path)
    there = [gone, *spool.waiting()]

    def waiting_before(_: Spool) -> list[Path]:
        return there

    monkeypatch.setattr(Spool, "waiting", waiting_before)
    assert store.matches.num_waiting == 1
    assert store.matches.save([cup.match(2)]) == 1
    spool.discard([(gone, True)])
    assert stored(store) == [1, 2]


def test_what_the_store_does_not_take_is_kept(store: Store, cup: Cup) -> None:
    with locked(store) as waiting:
        waiting.matches.save([cup.match(1, tier="T9"), cup.match(2), cup.match(3, reason="\ud800")])
    spool = Spool(store.path)
    (file,) = spool.waiting()
    file.write_bytes(file.read_bytes() + b'{"number": 4}\nnot JSON\n7\n')
    spool.keep([replace(cup.match(4), number=99)])
    assert store.matches.save([cup.match(5)]) == 1
    assert stored(store) == [2, 5]
    assert (spool.waiting(), len(spool.refused())) == ([], 2)
    assert any("results that the store refuses" in fault for fault in store.integrity.check())


def test_the_folder_may_vanish_meanwhile(store: Store, cup: Cup, monkeypatch: pytest.MonkeyPatch) -> None:
    spool, left = Spool(store.path), [2]
    write = Path.write_bytes

    def vanish(path: Path, content: bytes) -> int:
        if path.suffix == ".part" and left[0]:
            left[0] -= 1
            path.parent.rmdir()
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", vanish)
    spool.keep([cup.match(1)])
    assert spool.num_waiting() == 1
    assert [file.suffix for file in spool.folder.iterdir()] == [".jsonl"]
    left[0] = 1000
    spool.discard([(file, True) for file in spool.waiting()])
    with pytest.raises(FileNotFoundError):
        spool.keep([cup.match(1)])


@pytest.mark.parametrize(("number", "kind"), [(28, FullError), (27, FullError), (5, AccessError)])
def test_no_room_for_them_either(
    store: Store, cup: Cup, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
) -> None:
    def fail(_: Path) -> None:
        raise OSError(number, "as the disk says")

    with locked(store) as waiting:
        with monkeypatch.context() as patch:
            patch.setattr(files, "sync_file", fail)
            with pytest.raises(kind):
                waiting.matches.save([cup.match(1)])
        assert waiting.matches.num_waiting == 0
        assert waiting.matches.save([cup.match(1)]) == 0
    assert store.matches.save([]) == 0
    assert stored(store) == [1]


def test_many_threads_keep_and_store(store: Store, cup: Cup) -> None:
    """Keep and store results concurrently, so that the folder is removed and created again."""
    spool = Spool(store.path)

    def keep(number: int) -> None:
        for attempt in range(10):
            spool.keep([cup.void(number, attempt=attempt)])
            store.matches.save([])

    threads = [threading.Thread(target=keep, args=(number,)) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    store.matches.save([])
    assert [(match.number, match.attempt) for match in store.matches.of_tournament(1)] == [
        (number, attempt) for number in (1, 2, 3) for attempt in range(10)
    ]
    assert not spool.folder.exists()
    assert store.integrity.check() == []


ELSEWHERE = Owner(uuid="one", host="elsewhere", boot_id="b", pid=1, pid_start=1)
OTHER = replace(ELSEWHERE, uuid="two")


def claim(store: Store, owner: Owner) -> Store:
    """Claim the tournament, if necessary from an owner whose lease ends at once."""
    held = store.claim(1, owner, expires_s=0)
    assert held is not None
    return held


def test_what_a_run_left_is_stored_before_the_next_one_plays(store: Store, cup: Cup) -> None:
    claim(store, ELSEWHERE)
    spool = Spool(store.path)
    spool.keep([cup.match(1), cup.void(2)], epoch=1)
    new = claim(store, OTHER)
    assert [match.number for match in new.plans.unplayed(1)] == list(range(2, 13))
    assert (stored(store), new.matches.num_waiting) == ([1, 2], 0)


def test_what_a_run_left_in_the_middle_of_a_claim(
    store: Store, cup: Cup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run reported these results: after writing the file it checked the lease, which it still had."""
    claim(store, ELSEWHERE)
    spool, usual = Spool(store.path), coordination.claim

    def claim_late(*arguments: Any, **named: Any) -> int:  # noqa: ANN401 - as the usual one
        spool.keep([cup.match(1)], epoch=1)
        return usual(*arguments, **named)

    monkeypatch.setattr(coordination, "claim", claim_late)
    new = claim(store, OTHER)
    assert (stored(store), new.matches.num_waiting) == ([1], 0)


def test_what_a_replaced_run_left_too_late(store: Store, cup: Cup) -> None:
    """The run reported none of these results; the run that replaced it may be playing the same matches."""
    claim(store, ELSEWHERE)
    new = claim(store, OTHER)
    new.matches.save([cup.match(1)])
    spool = Spool(store.path)
    spool.keep([cup.match(1, outcome="second"), cup.void(1)], epoch=1)
    store.matches.save([])
    assert (stored(store), spool.refused()) == ([1], []), "that match has a result"
    spool.keep([cup.match(2, outcome="second")], epoch=1)
    spool.keep([cup.match(3)], epoch=2)
    assert new.matches.save([cup.match(2)]) == 1
    assert [(match.number, match.outcome) for match in store.matches.of_tournament(1)] == [
        (1, "first"),
        (2, "first"),
        (3, "first"),
    ]
    (late,) = spool.refused()
    new.leases.release()
    late.rename(late.with_suffix(".jsonl"))
    spool.keep([cup.match(4)], epoch=1)
    store.matches.save([])
    assert stored(store) == [1, 2, 3, 4], "nobody plays any more, and the fourth has no result"
    assert (store.matches.num_waiting, spool.refused()) == (0, [])


def test_a_result_of_another_tournament_with_this_id_is_refused(store: Store, cup: Cup) -> None:
    """A rescue file names the tournament by its uid, because ids differ between stores."""
    spool = Spool(store.path)
    spool.folder.mkdir()
    lines = (encode(cup.match(1), uid=cup.record.uid), encode(cup.match(2), uid=digest("another")[:32]))
    (spool.folder / "0.jsonl").write_bytes(b"".join(lines))
    store.matches.save([])
    assert stored(store) == [1]
    assert (spool.waiting(), len(spool.refused())) == ([], 1)


def test_a_replaced_run_leaves_nothing(store: Store, cup: Cup) -> None:
    with Store.open(store.place, busy_ms=20) as late:
        old = claim(late, ELSEWHERE)
        new = claim(store, OTHER)
        with new._access.write():  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - holds the lock
            with pytest.raises(LeaseLostError, match="rr-1 was taken over by pid 1 on elsewhere"):
                old.matches.save([cup.match(1)])
            assert late.matches.num_waiting == 0
    assert stored(store) == []
    assert not Spool(store.path).folder.exists()


def test_a_line_that_is_no_result_holds_up_nobody(store: Store, cup: Cup) -> None:
    spool = Spool(store.path)
    lines = [encode(cup.match(number), 1) for number in (1, 2, 3)]
    broken = [
        lines[0].replace(b'"epoch": 1', b'"epoch": "1"'),
        lines[0].replace(b'"tournament": 1', b'"tournament": {}'),
        lines[0].replace(b'"number": 1', b'"number": 36893488147419103232'),
        b"[]\n",
        b"null\n",
    ]
    for line in broken:
        spool.keep([])
        (file,) = spool.waiting()
        file.write_bytes(lines[1] + line + lines[2])
        store.matches.save([])
    assert stored(store) == [2, 3]
    assert len(spool.refused()) == len(broken)
