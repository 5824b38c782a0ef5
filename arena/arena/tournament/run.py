"""The coordinator: hands planned matches to workers, stores what comes back, obeys whoever says stop."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter, deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.executor.record import void_record, walkover_record
from arena.tournament.batches import BatchSize
from arena.tournament.events import Ended, MatchFinished, MatchStarted, Notice
from arena.tournament.quarantine import Quarantine
from arena.tournament.recovery import Recovery
from arena_db.records import MatchFilter
from arena_plugins import Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from arena.executor.job import Job
    from arena.executor.pools import Pool
    from arena.tournament.events import Event
    from arena.tournament.stop import StopSignals
    from arena_db.records import MatchRecord, Owner, TournamentRecord
    from arena_db.store import Store

MAX_ATTEMPTS = 3
"""Void attempts by the arena's fault after which a match stays void."""
_TICK_S = 0.05
_REQUEST_S = 0.5
_HEARTBEAT_S = 10.0


class Rules(NamedTuple):
    """When a run ends before its last match."""

    max_time: float | None = None
    """Seconds after which no new match begins."""
    no_recover: bool = False
    """Whether the first fault of a bot stops the run."""
    goal_interval: int = 10
    """Matches between two looks at the goal."""
    goal_reached: Callable[[], bool] | None = None
    """Whether the ratings are good enough."""


class Run:
    """One run of a stored tournament, to its end or to a stop; it alone writes the matches."""

    def __init__(
        self,
        store: Store,
        tournament: TournamentRecord,
        jobs: Sequence[Job],
        pool: Pool,
        *,
        owner: Owner,
        rules: Rules,
        signals: StopSignals,
        tell: Callable[[Event], None],
    ) -> None:
        self._store = store
        self._tournament = tournament
        self._pool = pool
        self._owner = owner
        self._rules = rules
        self._signals = signals
        self._tell = tell
        self._queue = deque(jobs)
        self._jobs = {job.number: job for job in jobs}
        self._errors: Counter[int] = Counter()
        self._flying: dict[Future[list[MatchRecord]], list[Job]] = {}
        self._recovery = Recovery()
        self._quarantine = Quarantine()
        self._batch = BatchSize()
        self._num_done = tournament.num_done
        self._stop_reason = ""
        self._aborted = False
        self._began = self._next_request = self._next_heartbeat = time.monotonic()
        self._next_goal = self._num_done + rules.goal_interval

    def run(self) -> Ended:
        """Play until nothing is left or somebody says stop; every result is stored before this returns."""
        self._recall_faults()
        self._store.set_state(self._tournament.id, "running")
        while True:
            self._obey()
            self._fill()
            if not self._flying:
                break
            done, _ = wait(self._flying, timeout=_TICK_S, return_when=FIRST_COMPLETED)
            self._hear()
            self._collect(done)
        finished = not self._queue
        self._store.set_state(self._tournament.id, "finished" if finished else "stopped")
        ended = Ended(
            state="finished" if finished else "stopped",
            reason="" if finished else self._stop_reason,
            num_done=self._num_done,
            total=self._tournament.num_planned,
        )
        self._tell(ended)
        return ended

    def _recall_faults(self) -> None:
        """Count the faults of earlier runs of this tournament, so that a quarantine survives a resume."""
        for tally in self._store.tallies(MatchFilter(tournament=self._tournament.name, rated_only=False)):
            self._quarantine.add(
                tally.first, tally.second, tally.outcome, tally.termination, tally.num_matches
            )

    def _obey(self) -> None:
        now = time.monotonic()
        if now >= self._next_heartbeat:
            self._store.heartbeat(self._tournament.id, self._owner)
            self._next_heartbeat = now + _HEARTBEAT_S
        wishes = {self._signals.wish}
        if now >= self._next_request:
            wishes.update(self._store.take_requests(self._tournament.id))
            self._next_request = now + _REQUEST_S
        if "abort" in wishes:
            self._stop("aborted")
            if not self._aborted:
                self._aborted = True
                self._pool.abort()
        elif "stop" in wishes:
            self._stop("stopped on request")
        if self._rules.max_time is not None and now - self._began >= self._rules.max_time:
            self._stop(f"--max-time {self._rules.max_time:g} is over")

    def _stop(self, reason: str) -> None:
        if not self._stop_reason:
            self._stop_reason = reason
            self._pool.stop()

    def _fill(self) -> None:
        while self._queue and not self._stop_reason and len(self._flying) < 2 * self._pool.num_workers:
            alone = self._recovery.must_be_alone(self._queue[0])
            if self._flying and (alone or any(map(self._recovery.must_be_alone, self._flying_jobs()))):
                return
            size = 1 if alone else self._batch.size(len(self._queue), self._pool.num_workers)
            jobs = self._take(size)
            if not jobs:
                continue
            try:
                self._flying[self._pool.submit(jobs)] = jobs
            except BrokenExecutor:
                self._queue.extendleft(reversed(jobs))
                self._pool.rebuild()

    def _take(self, size: int) -> list[Job]:
        """Take the next jobs for one batch; matches of quarantined bots are decided here."""
        jobs: list[Job] = []
        walkovers: list[MatchRecord] = []
        while self._queue and len(jobs) < size:
            if jobs and self._recovery.must_be_alone(self._queue[0]):
                break
            job = self._queue.popleft()
            first = self._quarantine.holds(job.first.record.identity)
            second = self._quarantine.holds(job.second.record.identity)
            if first or second:
                walkovers.append(walkover_record(job, first_is_out=first, second_is_out=second))
            else:
                jobs.append(job)
        self._keep(walkovers)
        return jobs

    def _flying_jobs(self) -> Iterable[Job]:
        return (job for jobs in self._flying.values() for job in jobs)

    def _hear(self) -> None:
        for event in self._pool.events():
            if event.kind == "began":
                self._recovery.began(event.number)
                self._tell(
                    MatchStarted(event.number, self._tournament.num_planned, event.first, event.second)
                )

    def _collect(self, done: Iterable[Future[list[MatchRecord]]]) -> None:
        records: list[MatchRecord] = []
        broken: list[list[Job]] = []
        for future in sorted(done, key=lambda future: self._flying[future][0].number):
            jobs = self._flying.pop(future)
            try:
                played = future.result()
            except BrokenExecutor:
                broken.append(jobs)
                continue
            self._batch.learn(played)
            records += played
            self._requeue(jobs[len(played) :])
        self._keep(records)
        if broken:
            self._recover(broken)

    def _recover(self, broken: list[list[Job]]) -> None:
        """Put back what died with a worker; a match that is proven to kill workers becomes void."""
        for future, jobs in list(self._flying.items()):
            wait([future])
            del self._flying[future]
            if future.exception() is None:
                records = future.result()
                self._keep(records)
                self._requeue(jobs[len(records) :])
            else:
                broken.append(jobs)
        self._hear()
        lost = [job for jobs in broken for job in jobs]
        if self._aborted:
            self._keep([void_record(job, Termination.ABORTED, "") for job in self._recovery.running(lost)])
            self._requeue(lost)
            return
        guilty = self._recovery.lost(lost)
        self._tell(Notice(f"a worker died; {len(lost)} matches are played again"))
        self._keep(
            [void_record(job, Termination.ARENA_ERROR, "it killed its worker 3 times") for job in guilty]
        )
        self._requeue([job for job in lost if job not in guilty])
        self._pool.rebuild()

    def _requeue(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self._recovery.ended(job.number)
        self._queue.extendleft(reversed(jobs))

    def _keep(self, played: Sequence[MatchRecord]) -> None:
        """Store records as one transaction, then tell of them."""
        if not played:
            return
        records = [self._settle(record) for record in played]
        self._store.save(records)
        for record in records:
            self._recovery.ended(record.number)
            self._quarantine.add_record(record)
            self._num_done += record.is_final
            job = self._jobs[record.number]
            labels = (job.first.label, job.second.label)
            self._tell(MatchFinished(record, *labels, self._num_done, self._tournament.num_planned))
            if not record.is_final and not self._aborted:
                self._jobs[job.number] = again = msgspec.structs.replace(job, attempt=job.attempt + 1)
                self._queue.append(again)
            if self._rules.no_recover and Termination(record.termination).is_fault:
                self._stop(
                    f"match {record.number} ended with a fault and --no-recover is set: {record.reason}"
                )
        self._look_at_goal()

    def _settle(self, record: MatchRecord) -> MatchRecord:
        """Give up on a match that the arena itself failed too often."""
        if record.termination != Termination.ARENA_ERROR:
            return record
        self._errors[record.number] += 1
        if self._errors[record.number] < MAX_ATTEMPTS and not record.is_final:
            return record
        self._tell(
            Notice(
                f"match {record.number} stays void: {record.reason}; arena show {record.number} has the cause"
            )
        )
        return dataclasses.replace(record, is_final=True)

    def _look_at_goal(self) -> None:
        if self._rules.goal_reached is None or self._num_done < self._next_goal:
            return
        self._next_goal = self._num_done + self._rules.goal_interval
        if self._rules.goal_reached():
            self._stop("every rating is within the wanted error")
