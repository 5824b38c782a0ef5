"""The coordinator in this process: faults, voids, quarantine, goals, and workers that never start."""

from __future__ import annotations

import dataclasses
from concurrent.futures import Future
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from arena.coordinator import result_recorder
from arena.coordinator.lease import Lease
from arena.coordinator.planner import Planner
from arena.coordinator.result_recorder import ResultRecorder
from arena.coordinator.run_events import MatchFinished, MatchStarted, RunNotice
from arena.errors import ArenaError
from arena.executor.pools import InlinePool
from arena.executor.slots import Slot, WorkerLostError
from arena.executor.worker import Began, SlotCallbacks, make_control, play_batch
from arena_db.backend.sqlite import database
from arena_db.backend.sqlite.engine import FileSettings, open_raw
from arena_db.errors import LeaseLostError
from arena_db.owner import current_owner
from arena_db.summed import StoredSums
from stores import tamper
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job
    from arena_db.records import LiveEvent, MatchRecord

    Begin = Callable[[TournamentConfig], Sitting]

FEW = 50
"""Maximum number of matches that are played before the first results of a run are known."""


class FailingPool(InlinePool):
    """Fails some matches by an arena error, as often as its arguments say."""

    def __init__(self, failures: dict[int, int], termination: str) -> None:
        super().__init__()
        self._failures = failures
        self._termination = termination

    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        played = super().submit(jobs, slot, tick).result()
        future: Future[list[MatchRecord]] = Future()
        future.set_result([self._failed(*pair) for pair in zip(jobs, played, strict=False)])
        return future

    def _failed(self, job: Job, record: MatchRecord) -> MatchRecord:
        if not self._failures.get(job.number) or job.stalls_count:
            return record
        self._failures[record.number] -= 1
        return dataclasses.replace(
            record, outcome="void", termination=self._termination, rated=False, is_final=False
        )


def stories(sitting: Sitting) -> dict[int, list[object]]:
    """Return attempt, termination, finality and rating of all attempts of each match."""
    told: dict[int, list[object]] = {}
    for match in sitting.matches():
        told.setdefault(match.number, []).append(
            (match.attempt, match.termination, match.is_final, match.rated)
        )
    return told


@pytest.mark.parametrize(
    ("termination", "end"),
    [
        ("arena_error", [(2, "arena_error", True, False)]),
        ("arena_stall", [(2, "arena_stall", False, False), (3, "rules", True, True)]),
    ],
)
def test_what_the_arena_spoils_is_played_again(begin: Begin, termination: str, end: list[object]) -> None:
    sitting = begin(config(*TRIO))
    ended = sitting.play_in(FailingPool({2: 1, 4: 99}, termination))

    assert (ended.state, ended.num_done) == ("finished", 6)
    sitting.assert_whole()
    void = (termination, False, False)
    assert stories(sitting)[1] == [(0, "rules", True, True)]
    assert stories(sitting)[2] == [(0, *void), (1, "rules", True, True)]
    assert stories(sitting)[4] == [(0, *void), (1, *void), *end]
    (notice,) = sitting.notices()
    texts = {
        "arena_error": "match rr-1/4 is not tried again: ",
        "arena_stall": "4 times a match stalled because ",
    }
    assert notice.startswith(texts[termination])
    assert len({match.seed_first for match in sitting.matches() if match.number == 4}) == 1


def test_a_run_that_can_play_nothing_stops(begin: Begin) -> None:
    sitting = begin(config(*TRIO[:2], rounds=100))
    ended = sitting.play_in(FailingPool(dict.fromkeys(range(1, 201), 99), "arena_error"))
    num_void = sum(match.is_final for match in sitting.matches())
    assert ended.state == "stopped"
    assert ended.reason.startswith(f"none of {num_void} matches could be played, at last because: ")
    # The run ends with the batch of the twentieth. A batch of the only slot has at most half of the matches
    # that are left of 200; how many it has depends on how quickly the first ones were played.
    assert 20 <= num_void < 20 + 100


def test_a_run_that_can_play_something_goes_on(begin: Begin) -> None:
    sitting = begin(config(*TRIO[:2], rounds=15))
    pool = FailingPool(dict.fromkeys(range(2, 31), 99), "arena_error")
    assert sitting.play_in(pool).state == "finished"
    assert sum(match.termination == "arena_error" for match in sitting.matches() if match.is_final) == 29


def test_few_stalls_are_no_reason_for_a_warning(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    # No bot is hashed again for a stall: the machine was busy, but no files were lost.
    monkeypatch.setattr(Planner, "renew", None)
    sitting = begin(config(*TRIO, rounds=20))
    assert sitting.play_in(FailingPool({2: 1}, "arena_stall")).state == "finished"
    assert sitting.notices() == []


def test_a_fault_is_a_result(begin: Begin) -> None:
    sitting = begin(config("random", "strange:cheat=on"))
    assert sitting.play().state == "finished"
    assert {match.termination for match in sitting.matches()} == {"illegal_move"}
    assert {match.rated for match in sitting.matches()} == {True}


def test_no_recover_stops_at_the_first_fault(begin: Begin) -> None:
    sitting = begin(config("random", "strange:cheat=on", rounds=60, no_recover=True))
    ended = sitting.play()
    assert ended.state == "stopped"
    assert ended.reason.startswith("match rr-1/1 ended with a fault and --no-recover is set: strange")
    assert ended.num_done <= FEW


def test_a_bot_that_does_not_start_is_quarantined(begin: Begin) -> None:
    sitting = begin(config("random", "strange:broken=on", "minimax:depth=1", rounds=40))
    assert sitting.play().state == "finished"
    sitting.assert_whole()
    faults = [match for match in sitting.matches() if match.termination == "init_crash"]
    walkovers = [match for match in sitting.matches() if match.termination == "walkover"]
    assert 3 <= len(faults) < 3 + FEW
    assert len(faults) + len(walkovers) == 160
    assert {(match.rated, len(match.actions)) for match in walkovers} == {(False, 2)}
    for match in walkovers:
        out = "first" if match.first_label == "strange:broken=on" else "second"
        assert match.outcome == ("second" if out == "first" else "first")
        assert (
            match.reason == f"{match.second_label if out == 'first' else match.first_label} wins by walkover"
        )


def test_quarantine_survives_a_resume(begin: Begin) -> None:
    sitting = begin(config("random", "strange:broken=on", rounds=40, no_recover=True))
    while (before := len(sitting.matches())) < 3:
        assert sitting.play().state == "stopped"
    assert before < 80
    assert sitting.play().state == "finished"
    assert {match.termination for match in sitting.matches()[before:]} == {"walkover"}


def test_both_bots_are_quarantined(begin: Begin) -> None:
    sitting = begin(config("strange:broken=on", "strange:broken=on,sign=on", rounds=40))
    assert sitting.play().state == "finished"
    # Both bots fail at once: the match is void, is not played again, and no bot is blamed.
    assert {(m.outcome, m.termination, m.is_final) for m in sitting.matches()} == {
        ("void", "init_crash", True)
    }


def test_the_goal_stops_a_run(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=40, rating_interval=80))
    looks: list[int] = []

    def goal_reached() -> bool:
        looks.append(len(sitting.matches()))
        return len(looks) == 2

    ended = sitting.play(goal_reached=goal_reached)
    assert (ended.state, ended.reason) == ("stopped", "every rating is within the wanted error")
    assert 80 <= looks[0] < looks[1] == ended.num_done < 240


def test_the_time_budget_stops_a_run(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=10, max_time=1e-9))
    ended = sitting.play()
    assert (ended.state, ended.reason, ended.num_done) == ("stopped", "--max-time 1e-09 is over", 0)


def test_a_lost_lease_ends_the_run_and_writes_nothing(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=20))
    other = dataclasses.replace(current_owner(), uuid="other")
    pool = InlinePool()

    def take_over(event: object) -> None:
        if isinstance(event, MatchStarted) and event.number == 5:
            tamper(sitting.store.path, "UPDATE leases SET beat_at = beat_at - 31")
            assert sitting.store.claim(sitting.tournament.id, other, take_over=True)

    with pytest.raises(LeaseLostError, match=r"rr-1 was taken over by pid \d+ on \S+, which continues it"):
        sitting.play_in(pool, take_over)
    told = [event.record.number for event in sitting.events if isinstance(event, MatchFinished)]
    assert [match.number for match in sitting.matches()] == told
    assert len(told) < 5
    assert sitting.state() == "running", "it is the other's"
    lease = sitting.store.leases.find(sitting.tournament.id)
    assert lease is not None
    assert (lease.owner, lease.epoch) == (other, 2)


def test_a_locked_store_costs_nothing(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=10))
    waited: list[int] = []
    with closing(open_raw(FileSettings(place=sitting.store.path))) as other:

        def on_event(event: object) -> None:
            if isinstance(event, MatchStarted) and event.number == 27:
                other.execute("BEGIN IMMEDIATE")
            if isinstance(event, RunNotice):
                # How many results arrive at once depends on the clock.
                waited.append(sitting.store.matches.num_waiting)
                other.execute("ROLLBACK")

        assert sitting.play(on_event=on_event).state == "finished"
    sitting.assert_whole()
    assert sitting.store.matches.num_waiting == 0
    (notice,) = sitting.notices()
    assert waited[0] > 0
    assert f"is locked by another process; {waited[0]} results wait beside it" in notice


def test_a_reader_that_stands_still_is_told_of(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LIMIT", "WARNED_AT", "BOUND", "WAIT_MS", "WAITS"):
        monkeypatch.setattr(database, name, 1)
    sitting = begin(config(*TRIO))
    with closing(open_raw(FileSettings(place=sitting.store.path, read_only=True))) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM planned").fetchall()
        assert sitting.play().state == "finished"
    (notice,) = sitting.notices()
    assert "has been reading the store without a break" in notice


def test_what_others_did_meanwhile_is_not_doubled(begin: Begin) -> None:
    sitting = begin(config(*TRIO))
    jobs = sitting.jobs()
    control = make_control(SlotCallbacks(Slot.here(0)))
    sitting.store.matches.save(play_batch(jobs[:3], control))
    with Lease(sitting.store, sitting.tournament, current_owner()) as lease:
        recorder = ResultRecorder(lease.store, sitting.tournament, sitting.events.append)
        recorder.expect(jobs, sitting.tournament.num_total)
        assert recorder.keep(play_batch(jobs[2:5], control)) == []
        ended = recorder.close("")
    assert (ended.state, ended.num_done) == ("stopped", 5)
    assert ended.reason == "another process took part in it"
    assert [match.number for match in sitting.matches()] == [1, 2, 3, 4, 5]
    assert sitting.store.integrity.check() == []


class DyingPool:
    """A pool whose workers die `deaths` times, before or during the first match of a batch."""

    num_workers = 2
    batch_s = 2.0

    def __init__(self, deaths: int, *, early: bool) -> None:
        self._inner = InlinePool()
        self._deaths = deaths
        self._early = early
        self._news: list[Began] = []
        self.is_broken = False

    def slots(self) -> list[Slot]:
        return [] if self.is_broken else self._inner.slots()

    def results(self) -> list[list[MatchRecord]]:
        return []

    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        if not self._deaths:
            return self._inner.submit(jobs, slot, tick)
        self._deaths -= 1
        self.is_broken = True
        if not self._early:
            self._news.append(Began(slot, jobs[0].number))
        future: Future[list[MatchRecord]] = Future()
        future.set_exception(WorkerLostError(slot))
        return future

    def news(self) -> list[Began]:
        told, self._news = self._news, []
        return told + self._inner.news()

    def events(self) -> list[LiveEvent]:
        return self._inner.events()

    def notes(self) -> list[str]:
        return []

    def put_aside(self, machine: str, why: str) -> str:
        return self._inner.put_aside(machine, why)

    def stop(self) -> None:
        self._inner.stop()

    def go(self) -> None:
        self._inner.go()

    def abort(self) -> None:
        self._inner.abort()

    def rebuild(self) -> None:
        self.is_broken = False

    def close(self) -> None:
        self._inner.close()


def test_workers_that_never_come_up_end_the_run(begin: Begin) -> None:
    sitting = begin(config(*TRIO))
    with pytest.raises(ArenaError, match="3 workers died before they began a match"):
        sitting.play_in(DyingPool(99, early=True))
    assert sitting.matches() == []


@pytest.mark.parametrize(("deaths", "early"), [(2, True), (2, False)])
def test_workers_that_come_up_at_last_lose_nothing(begin: Begin, deaths: int, *, early: bool) -> None:
    sitting = begin(config(*TRIO, rounds=5))
    assert sitting.play_in(DyingPool(deaths, early=early)).state == "finished"
    sitting.assert_whole()
    assert {match.attempt for match in sitting.matches()} == {0}
    assert len(sitting.notices()) == deaths


def test_records_are_stored_before_they_are_told(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=10))
    stored: list[bool] = []

    def on_event(event: object) -> None:
        if isinstance(event, MatchFinished):
            stored.append(event.record.number in sitting.results())

    sitting.play(on_event=on_event)
    assert stored == [True] * 60


def test_the_sums_of_the_store_follow_a_run(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = begin(config(*TRIO))
    asked: list[int | None] = []
    sum_up = StoredSums.sum_up

    def noted(sums: StoredSums, *, batches: int | None = None) -> None:
        asked.append(batches)
        sum_up(sums, batches=batches)

    monkeypatch.setattr(result_recorder, "SUM_EVERY_S", 0.0)
    monkeypatch.setattr(StoredSums, "sum_up", noted)
    sitting.play_in(InlinePool())
    assert asked[0] == 1, "some at a time, between two saves"
    assert asked[-1] is None, "all that is left at the end"
    with closing(open_raw(FileSettings(place=sitting.store.path, read_only=True))) as raw:
        (left,) = raw.execute(
            "SELECT count(*) FROM matches WHERE id >= (SELECT next_match FROM summing)"
        ).fetchone()
    assert left == 0
