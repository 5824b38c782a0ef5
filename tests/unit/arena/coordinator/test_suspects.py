"""Several machines: where suspected matches are played, and which batches an idle machine takes over."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from arena.executor.pools import InlinePool
from arena.executor.slots import Slot, WorkerLostError
from arena.executor.worker import Began, play_batch
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job
    from arena_db.records import MatchRecord

    Begin = Callable[[TournamentConfig], Sitting]
    Held = tuple[Future[list[MatchRecord]], list[Job]]

DEADLINE_S = 60.0
"""Seconds after which a run that is stuck is ended."""
SIX = config(*TRIO)
"""Six matches; at first, each of three slots plays one, and one waits."""
TOTAL = 6
SUSPECT = 1
"""Number of the match that kills slots of the first machine."""
MOST = 2
"""Number of slots of the first machine that this match kills."""
IDLE = 10
"""Number of polls for which a machine is then idle."""


class Machines(InlinePool, ABC):
    """A pool of machines with one slot each."""

    def __init__(self, names: str = "abc") -> None:
        super().__init__()
        self.num_workers = len(names)
        self.queues: dict[str, list[Held]] = {name: [] for name in names}
        self.sent: list[tuple[str, list[int]]] = []
        """The machine and the matches of each batch."""
        self.looks: list[tuple[list[int], ...]] = []
        """The matches that each machine held at each poll."""
        self._slots = {name: Slot(name, 0, "first") for name in self.queues}
        self._began: list[Began] = []
        self._ends_at = time.monotonic() + DEADLINE_S

    @abstractmethod
    def act(self) -> None:
        """Perform the actions of the test at this poll."""

    @override
    def slots(self) -> list[Slot]:
        return list(self._slots.values())

    @override
    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        future = self.future()
        self.queues[slot.machine].append((future, list(jobs)))
        self.sent.append((slot.machine, [job.number for job in jobs]))
        return future

    @override
    def news(self) -> list[Began]:
        assert time.monotonic() < self._ends_at
        self.looks.append(tuple(map(self.held, self.queues)))
        self.act()
        began, self._began = self._began, []
        return began

    def future(self) -> Future[list[MatchRecord]]:
        """Return the future of a batch."""
        return Future()

    def held(self, machine: str) -> list[int]:
        """Return the matches that a machine plays or has queued."""
        return [job.number for future, jobs in self.queues[machine] if not future.cancelled() for job in jobs]

    def finish(self, machine: str) -> None:
        """Play the first batch of a machine."""
        while self.queues[machine]:
            future, jobs = self.queues[machine].pop(0)
            if future.set_running_or_notify_cancel():
                future.set_result(play_batch(jobs, self._control))
                return

    def die(self, machine: str) -> None:
        """Kill the slot of a machine while it plays the first match of its batch; another slot starts."""
        slot, batches = self._slots[machine], self.queues[machine]
        self._began.append(Began(slot, batches[0][1][0].number))
        self.queues[machine] = []
        self._slots[machine] = Slot(machine, 0, f"after {len(self.sent)} batches")
        for future, _ in batches:
            if not future.cancelled():
                future.set_exception(WorkerLostError(slot))


class Suspicious(Machines, ABC):
    """The suspect kills two slots of the first machine; then only that machine plays until it is idle."""

    num_killed = num_idle = 0

    @abstractmethod
    def free_others(self) -> None:
        """Let other machines play once the suspect has killed its second slot."""

    @override
    def act(self) -> None:
        held = self.held("a")
        if self.num_killed == MOST:
            self.num_idle += not held
            for name in self.queues if self.num_idle > IDLE else ["a"]:
                self.finish(name)
        elif held == [SUSPECT, 4]:
            assert (self.held("b"), self.held("c")) == ([2, 5], [3, 6])
            self._kill()
        elif held == [4, SUSPECT]:
            self.finish("a")
        elif held == [SUSPECT]:
            self.free_others()
            self._kill()

    def _kill(self) -> None:
        self.num_killed += 1
        self.die("a")


def test_a_machine_that_a_suspect_passes_over_gets_another_match_at_the_same_look(begin: Begin) -> None:
    class Free(Suspicious):
        @override
        def free_others(self) -> None:
            self.finish("b")
            self.finish("b")

    sitting, pool = begin(SIX), Free()
    assert sitting.play_in(pool).state == "finished"
    sitting.assert_whole()
    assert next(look for look in pool.looks if SUSPECT in look[1]) == ([6], [SUSPECT], [3])


def test_a_suspect_that_waits_behind_a_match_stays_there(begin: Begin) -> None:
    class Busy(Suspicious):
        @override
        def free_others(self) -> None:
            self.finish("b")

    sitting, pool = begin(SIX), Busy()
    assert sitting.play_in(pool).state == "finished"
    sitting.assert_whole()
    assert ([], [5, SUSPECT], [3]) in pool.looks, "the first machine is idle"
    assert [machine for machine, numbers in pool.sent if SUSPECT in numbers] == ["a", "a", "b"]


def test_an_idle_machine_takes_one_of_the_batches_that_wait(begin: Begin) -> None:
    class Idle(Machines):
        @override
        def act(self) -> None:
            self.finish("a")
            if len(self.sent) == TOTAL + 2:
                # The first machine has taken over the queued batches of the others, one after the other.
                self.finish("b")
                self.finish("c")

    sitting, pool = begin(SIX), Idle()
    assert sitting.play_in(pool).state == "finished"
    sitting.assert_whole()
    assert pool.sent[TOTAL:] == [("a", [5]), ("a", [6])]


class Asked(Future["list[MatchRecord]"]):
    """A batch that its machine returns when it is withdrawn, as on a cluster."""

    is_asked = False

    @override
    def cancel(self) -> bool:
        self.is_asked = True
        return False


class Far(Machines):
    """Four machines, each with a queued batch; some play one batch or both."""

    def __init__(self, played: str) -> None:
        super().__init__("abcd")
        self.asked: list[list[int]] = []
        """The withdrawn matches, poll by poll."""
        self._played = played
        self._has_begun = False

    @override
    def future(self) -> Future[list[MatchRecord]]:
        return Asked()

    @override
    def act(self) -> None:
        if not self._has_begun:
            if len(self.sent) == 2 * len(self.queues):
                self._has_begun = True
                for name in self._played:
                    self.finish(name)
            return
        asked = [
            (batches, each)
            for batches in self.queues.values()
            for each in batches
            if isinstance(each[0], Asked) and each[0].is_asked
        ]
        self.asked.append([job.number for _, (_, jobs) in asked for job in jobs])
        for batches, each in asked:
            batches.remove(each)
            each[0].set_result([])
        # The other machines play on for some polls.
        if len(self.asked) > IDLE:
            for name in self.queues:
                self.finish(name)


@pytest.mark.parametrize(("played", "asked"), [("ab", []), ("aab", [7]), ("aabb", [7, 8])])
def test_as_many_batches_are_asked_for_as_machines_are_idle(
    begin: Begin, played: str, asked: list[int]
) -> None:
    sitting, pool = begin(config(*TRIO[:2], rounds=4)), Far(played)
    assert sitting.play_in(pool).state == "finished"
    sitting.assert_whole()
    assert next(filter(None, pool.asked[:IDLE]), list[int]()) == asked
