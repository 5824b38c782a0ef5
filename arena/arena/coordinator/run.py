"""The coordinator: hands planned matches to workers, keeps what comes back, obeys whoever says stop."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import TYPE_CHECKING, NamedTuple

from arena.coordinator.events import DecisionFell, Notice
from arena.coordinator.recovery import MAX_LOSSES, Recovery
from arena.errors import ArenaError
from arena.executor.parcel import ParcelLostError
from arena.executor.record import void_record
from arena_plugins import Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from arena.coordinator.events import Ended
    from arena.coordinator.herald import Herald
    from arena.coordinator.ledger import Ledger
    from arena.coordinator.orders import Orders
    from arena.coordinator.source import JobSource
    from arena.executor.job import Job
    from arena.executor.pools import Pool
    from arena_db.records import MatchRecord

MAX_BATCH = 50
"""Matches that are stored in one transaction."""
_PAIR = 2
"""The same of an event that bots join while it is played."""
_TICK_S = 0.05
"""Seconds between two looks at orders and news, and from those to what viewers are told."""


class Rules(NamedTuple):
    """What in its results ends a run before its last match."""

    no_recover: bool = False
    """Whether the first fault of a bot does."""
    goal_interval: int = 10
    """Matches between two looks at the goal."""
    goal_reached: Callable[[], bool] | None = None
    """Whether the ratings are good enough."""


class Run:
    """One run of a stored tournament, to its end or to a stop."""

    def __init__(  # noqa: PLR0913 - what is played, where, and everybody who has a say in it
        self,
        source: JobSource,
        pool: Pool,
        ledger: Ledger,
        orders: Orders,
        rules: Rules,
        *,
        herald: Herald,
    ) -> None:
        self._source = source
        self._queue: deque[Job] = deque()
        self._pool = pool
        self._ledger = ledger
        self._orders = orders
        self._rules = rules
        self._herald = herald
        self._flying: dict[Future[list[MatchRecord]], list[Job]] = {}
        self._recovery = Recovery()
        self._plays_alone = False
        self._num_batches = 0
        self._num_early_deaths = 0
        self._stop_reason = ""
        self._is_aborted = self._is_paused = False
        self._next_goal = ledger.num_done + rules.goal_interval

    def run(self) -> Ended:
        """Play until nothing is left or somebody says stop; every result is stored before this returns.

        Raises:
            ArenaError: worker processes do not start, or the schedule plans what cannot be played.
            ConfigError: the openings of the tournament are no longer those it began with.
            DatabaseError: the store cannot be written.
        """
        while True:
            self._tick()
            self._fill()
            if not self._flying:
                if self._stop_reason or not self._has_more():
                    return self._ledger.close(self._stop_reason)
                # It is paused, or the next matches cannot be stored yet.
                time.sleep(_TICK_S)
                continue
            done, _ = wait(self._flying, timeout=_TICK_S, return_when=FIRST_COMPLETED)
            self._tick()
            self._collect(done)

    def _tick(self) -> None:
        for began in self._pool.news():
            self._recovery.began(began)
            self._ledger.began(began.number)
        self._herald.hear(self._pool.events())
        order = self._orders.poll()
        self._pause(now=self._orders.is_paused)
        if order is not None:
            self._stop(order.reason)
            if order.now and not self._is_aborted:
                self._is_aborted = True
                self._pool.abort()
        self._herald.tick()

    def _stop(self, reason: str) -> None:
        if not self._stop_reason:
            self._stop_reason = reason
            self._pool.stop()
            self._herald.change("stopping", reason)

    def _pause(self, *, now: bool) -> None:
        """Let no match begin, or matches begin again; a stop is stronger."""
        if now == self._is_paused or self._stop_reason:
            return
        self._is_paused = now
        if now:
            self._pool.stop()
        else:
            self._pool.go()
        self._herald.change("paused" if now else "running")

    def _has_more(self) -> bool:
        return bool(self._queue) or not self._source.is_exhausted

    def _plan(self) -> None:
        """Get further matches where few are left; forget those that a decision made needless."""
        before = self._source.decision
        running = [job.number for jobs in self._flying.values() for job in jobs]
        jobs = self._source.more(len(self._queue), running)
        self._forget(self._source.take_gone())
        if jobs:
            self._ledger.expect(jobs, self._source.total)
            self._herald.expect(jobs, self._source.total)
            if self._source.is_urgent:
                self._queue.extendleft(reversed(jobs))
            else:
                self._queue += jobs
        elif self._source.decision != before:
            for books in (self._ledger, self._herald):
                books.forget([job.number for job in self._queue], self._source.total)
            self._queue.clear()
            self._ledger.tell(DecisionFell(self._source.decision))

    def _forget(self, gone: Collection[int]) -> None:
        """Play no more matches of bots that have left."""
        if not gone:
            return
        numbers = [job.number for job in self._queue if job.number in set(gone)]
        self._queue = deque(job for job in self._queue if job.number not in set(numbers))
        for books in (self._ledger, self._herald):
            books.forget(numbers, self._source.total)

    def _fill(self) -> None:
        while not (self._stop_reason or self._is_paused):
            self._plan()
            if not self._queue or not self._has_room():
                return
            jobs = self._take()
            if not jobs:
                continue
            try:
                self._flying[self._pool.submit(jobs, self._tick)] = jobs
            except BrokenExecutor:
                self._queue.extendleft(reversed(jobs))
                if self._flying:
                    return
                self._rebuild()

    def _has_room(self) -> bool:
        if not self._flying:
            self._plays_alone = self._recovery.must_be_alone(self._queue[0])
            return True
        if self._plays_alone or self._recovery.must_be_alone(self._queue[0]):
            return False
        # One batch waits for each that is played, so that no worker waits for the store; but where bots join
        # while it is played, none waits before theirs.
        depth = 1 if self._source.is_open else 2
        return len(self._flying) < depth * self._pool.num_workers and not any(
            future.done() for future in self._flying
        )

    def _take(self) -> list[Job]:
        """Take the next jobs for one batch; matches of quarantined bots are decided here."""
        size = 1
        if not self._plays_alone:
            num_workers = self._pool.num_workers
            size = min(batch_size(len(self._queue), num_workers), first_size(self._num_batches, num_workers))
            # Who joins meets nobody before the batches in flight are played.
            size = min(size, _PAIR) if self._source.is_open else size
        self._num_batches += 1
        jobs: list[Job] = []
        walkovers: list[MatchRecord] = []
        while self._queue and len(jobs) < size and len(walkovers) < MAX_BATCH:
            if jobs and self._recovery.must_be_alone(self._queue[0]):
                break
            job = self._queue.popleft()
            walkover = self._ledger.walkover(job)
            if walkover is None:
                jobs.append(job)
            else:
                walkovers.append(walkover)
        self._keep(walkovers)
        return jobs

    def _collect(self, done: Iterable[Future[list[MatchRecord]]]) -> None:
        if any(isinstance(future.exception(), BrokenExecutor) for future in done):
            done, _ = wait(self._flying)  # a broken pool fails them all
            self._tick()
        lost: list[Job] = []
        records: list[MatchRecord] = []
        for future in sorted(done, key=lambda future: self._flying[future][0].number):
            jobs = self._flying.pop(future)
            if isinstance(future.exception(), BrokenExecutor):
                lost += jobs
                continue
            if isinstance(future.exception(), ParcelLostError):
                # Nothing was told of them.
                self._ledger.tell(Notice(f"{future.exception()}; {len(jobs)} matches are played again"))
                self._queue.extendleft(reversed(jobs))
                continue
            played = future.result()
            records += played
            self._queue.extendleft(reversed(jobs[len(played) :]))
        self._keep(records)
        if lost:
            self._recover(lost)

    def _recover(self, lost: list[Job]) -> None:
        """Put back what died with a worker; a match that is proven to kill workers becomes void."""
        playing = self._recovery.playing(lost)
        if self._is_aborted:
            self._keep([void_record(job, Termination.ABORTED) for job in playing])
            return
        self._num_early_deaths += not playing
        guilty = self._recovery.lost(lost)
        self._herald.lost(job.number for job in playing)
        self._ledger.tell(Notice(f"a worker died; {len(lost) - len(guilty)} matches are played again"))
        self._queue.extendleft(reversed([job for job in lost if job not in playing]))
        # Suspects come last: whoever kills workers from outside would else find the same matches again.
        self._queue += [job for job in playing if job not in guilty]
        if not self._stop_reason:
            self._rebuild()
        cause = f"{MAX_LOSSES} workers died while they played it"
        voids = [void_record(job, Termination.ARENA_ERROR, cause) for job in guilty]
        self._keep([dataclasses.replace(void, is_final=True) for void in voids])

    def _rebuild(self) -> None:
        if self._num_early_deaths == MAX_LOSSES:
            raise ArenaError(
                f"{MAX_LOSSES} workers died before they began a match; --executor inline shows why"
            )
        self._pool.rebuild()

    def _keep(self, records: Sequence[MatchRecord]) -> None:
        if records:
            self._num_early_deaths = 0
        self._queue += self._ledger.keep(records)
        for record in records:
            if self._rules.no_recover and Termination(record.termination).is_fault:
                address = self._ledger.address(record)
                self._stop(f"match {address} ended with a fault and --no-recover is set: {record.reason}")
        if self._rules.goal_reached is None or self._ledger.num_done < self._next_goal:
            return
        self._next_goal = self._ledger.num_done + self._rules.goal_interval
        if self._rules.goal_reached():
            self._stop("every rating is within the wanted error")


def batch_size(num_left: int, num_workers: int) -> int:
    """Return the size of the next batch; near the end batches shrink, so that all workers end together.

    While more is planned than the jobs at hand, these are enough for whole batches.
    """
    return min(MAX_BATCH, math.ceil(num_left / (2 * num_workers)))


def first_size(num_batches: int, num_workers: int) -> int:
    """Give the most matches of the batch after `num_batches` others: few at first, to see results at once."""
    return min(MAX_BATCH, 4 ** min(3, num_batches // (2 * num_workers)))
