"""Batches in flight: results before their end, slots that die, and queued batches."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING

from typing_extensions import override

from arena.executor.pools import InlinePool
from arena.executor.slots import Slot, WorkerLostError
from arena.executor.worker import Began, play_batch
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pytest

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job
    from arena_db.records import MatchRecord

    Begin = Callable[[TournamentConfig], Sitting]
    Held = tuple[Future[list[MatchRecord]], list[Job]]

DEADLINE_S = 120.0
"""Seconds after which a run that is stuck is ended."""
TOTAL = 24
"""Number of matches of each tournament here."""


class StagedPool(InlinePool, ABC):
    """Two slots: `act` decides what happens to batches of the first; the second plays one per poll."""

    num_workers = 2

    def __init__(self) -> None:
        super().__init__()
        self.held: deque[Held] = deque()
        """Batches of the first slot: the one it is playing, then the queued one."""
        self.parts: list[list[MatchRecord]] = []
        self.began: list[Began] = []
        self.num_beside = 0
        """Number of matches that the second slot played."""
        self.num_rebuilt = 0
        self._beside: deque[Held] = deque()
        self._slots = [Slot.here(0), Slot.here(1)]
        self._ends_at = time.monotonic() + DEADLINE_S

    @abstractmethod
    def act(self) -> None:
        """Perform the actions of the test at this poll."""

    @override
    def slots(self) -> list[Slot]:
        return list(self._slots)

    @override
    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        future: Future[list[MatchRecord]] = Future()
        (self.held if slot == self._slots[0] else self._beside).append((future, list(jobs)))
        return future

    @override
    def results(self) -> list[list[MatchRecord]]:
        parts, self.parts = self.parts, []
        return parts

    @override
    def news(self) -> list[Began]:
        assert time.monotonic() < self._ends_at
        self.act()
        self.num_beside += self.finish(self._beside)
        began, self.began = self.began, []
        return began

    @override
    def rebuild(self) -> None:
        self.num_rebuilt += 1
        self._slots[0] = Slot.here(0)

    def finish(self, batches: deque[Held]) -> int:
        """Play the first batch of a slot; return its number of matches."""
        while batches:
            future, jobs = batches.popleft()
            if future.set_running_or_notify_cancel():
                future.set_result(play_batch(jobs, self._control))
                return len(jobs)
        return 0

    def die(self, index: int) -> None:
        """Kill the first slot while it plays a match of its batch."""
        self.began.append(Began(self._slots[0], self.held[0][1][index].number))
        for future, _ in self.held:
            if not future.cancelled():
                future.set_exception(WorkerLostError(self._slots[0]))
        self.held.clear()


def test_what_waits_behind_a_long_match_is_played_elsewhere(begin: Begin) -> None:
    class LongPool(StagedPool):
        had_waiting = False

        @override
        def act(self) -> None:
            self.had_waiting |= len(self.held) > 1
            if self.held and self.num_beside == TOTAL - len(self.held[0][1]):
                self.finish(self.held)

    sitting, pool = begin(config(*TRIO, rounds=4)), LongPool()
    assert sitting.play_in(pool).state == "finished"
    sitting.assert_whole()
    assert pool.had_waiting


def test_a_slot_that_dies_costs_its_own_batches(begin: Begin) -> None:
    class DyingSlot(StagedPool):
        lost = 0

        @override
        def act(self) -> None:
            if self.num_rebuilt:
                self.finish(self.held)
            # Both slots have a running batch and a queued one.
            elif len(self.held) == 2:
                self.lost = sum(len(jobs) for _, jobs in self.held)
                self.die(0)

    sitting, pool = begin(config(*TRIO, rounds=4)), DyingSlot()
    assert sitting.play_in(pool).state == "finished"
    sitting.assert_whole()
    assert sitting.notices() == [f"a worker died; {pool.lost} matches are played again"]
    assert pool.num_rebuilt == 1
    assert {match.attempt for match in sitting.matches()} == {0}


def test_batches_of_a_dead_slot_that_fail_one_after_the_other_are_one_loss(begin: Begin) -> None:
    class FailingSlowly(StagedPool):
        """The queued batch of the first slot fails some time after the running one."""

        failing: threading.Thread | None = None

        @override
        def act(self) -> None:
            if self.num_rebuilt:
                self.finish(self.held)
            elif self.failing is None and len(self.held) == 2:
                waiting, _ = self.held.pop()
                self.die(0)
                self.failing = threading.Thread(target=self.fail, args=(waiting, self._slots[0]))
                self.failing.start()

        def fail(self, future: Future[list[MatchRecord]], slot: Slot) -> None:
            # If the run did not wait for all batches of a dead slot, it would poll again meanwhile.
            time.sleep(0.3)
            if future.set_running_or_notify_cancel():
                future.set_exception(WorkerLostError(slot))

    sitting, pool = begin(config(*TRIO, rounds=4)), FailingSlowly()
    assert sitting.play_in(pool).state == "finished"
    sitting.assert_whole()
    assert sitting.notices() == ["a worker died; 2 matches are played again"]
    assert pool.num_rebuilt == 1


def test_after_an_abort_no_slot_is_started_again(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.coordinator.orders._COMMAND_S", 0.0)
    sitting = begin(config(*TRIO, rounds=4))

    class AbortedPool(StagedPool):
        is_ordered = False

        @override
        def act(self) -> None:
            if not self.is_ordered and len(self.held) == 2:
                self.is_ordered = True
                sitting.store.commands.send(sitting.tournament.id, "abort")

        @override
        def abort(self) -> None:
            self.die(0)
            while self.finish(self._beside):
                pass

    pool = AbortedPool()
    assert sitting.play_in(pool).state == "stopped"
    assert pool.num_rebuilt == 0


def test_others_play_on_while_what_a_slot_lost_is_played_again(begin: Begin) -> None:
    class Stuck(StagedPool):
        """The second slot plays one match until all others are done, and the first slot dies meanwhile."""

        num_again = 0

        @override
        def act(self) -> None:
            if self.num_rebuilt:
                self.num_again += self.finish(self.held)
            elif self.held and self._beside:
                self.stuck = self._beside.popleft()
                self.die(0)
            future, jobs = self.stuck
            if self.num_again + self.num_beside == TOTAL - len(jobs) and not future.done():
                future.set_result(play_batch(jobs, self._control))

        stuck: Held = (Future(), [])

    sitting, pool = begin(config(*TRIO, rounds=4)), Stuck()
    assert sitting.play_in(pool).state == "finished"
    sitting.assert_whole()


def test_results_are_stored_while_their_batch_goes_on(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=4))

    class PartsPool(StagedPool):
        """The first slot delivers a part of a batch, and dies once that part is stored."""

        delivered: tuple[int, ...] = ()
        seen: tuple[int, ...] = ()

        @override
        def act(self) -> None:
            if self.num_rebuilt or not self.held or len(self.held[0][1]) < 4:
                self.finish(self.held)
            elif not self.delivered:
                part = play_batch(self.held[0][1][:2], self._control)
                self.parts.append(part)
                self.delivered = tuple(record.number for record in part)
            elif set(self.delivered) <= set(sitting.results()):
                self.seen = self.delivered
                self.die(2)

    pool = PartsPool()
    assert sitting.play_in(pool).state == "finished"
    sitting.assert_whole()
    assert pool.seen == pool.delivered != ()
    assert sorted(match.number for match in sitting.matches()) == list(range(1, TOTAL + 1)), "each once"


def test_a_pool_without_slots_is_waited_for(begin: Begin) -> None:
    class LatePool(StagedPool):
        num_looks = 0

        @override
        def act(self) -> None:
            self.num_looks += 1
            self.finish(self.held)

        @override
        def slots(self) -> list[Slot]:
            return super().slots() if self.num_looks > 3 else []

    sitting, pool = begin(config(*TRIO, rounds=4)), LatePool()
    assert sitting.play_in(pool).state == "finished"
    sitting.assert_whole()


def test_each_slot_has_a_batch_that_waits_from_the_first_look_on(begin: Begin) -> None:
    class CountingPool(StagedPool):
        first: tuple[int, int] = (0, 0)

        @override
        def act(self) -> None:
            if self.first == (0, 0):
                self.first = (len(self.held), len(self._beside))
            self.finish(self.held)

    sitting, pool = begin(config(*TRIO, rounds=4)), CountingPool()
    assert sitting.play_in(pool).state == "finished"
    sitting.assert_whole()
    assert pool.first == (2, 2)
