"""The coordinator's main loop: sends planned matches to workers, stores results, obeys orders to stop."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from concurrent.futures import wait
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from arena.coordinator.jobs import Flight, Flights, Lengths, are_pair, batch_size, first_size, share
from arena.coordinator.recovery import ASIDE_S, MAX_LOSSES, Recovery
from arena.coordinator.run_events import DecisionFell, RunNotice
from arena.errors import ArenaError
from arena.executor.record import void_record
from arena.executor.slots import PoolLostError, WorkerLostError, WrongResultError
from arena_plugins import Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Sequence
    from concurrent.futures import Future

    from arena.coordinator.event_publisher import EventPublisher
    from arena.coordinator.jobs import JobSource
    from arena.coordinator.orders import Orders
    from arena.coordinator.result_recorder import ResultRecorder
    from arena.coordinator.run_events import Ended
    from arena.executor.job import Job
    from arena.executor.pools import Pool
    from arena.executor.slots import Slot
    from arena_db.records import MatchRecord

_PAIR = 2
"""Maximum matches per batch in a tournament that bots join while it is played."""
_MAX_WALKOVERS = 50
"""Maximum number of matches that are decided without play and stored in one transaction."""
_DEPTH = 2
"""Batches per slot: one is played while the next one waits, so that no slot waits for the store."""
_MAX_SUSPECTS = 16
"""Number of matches at the head of the queue that are checked for machines they must not be played on."""
_TICK_S = 0.05
"""Seconds between two polls for orders and for matches that started."""


class StopRules(NamedTuple):
    """Which results end a run before its last match."""

    no_recover: bool = False
    """Whether the first fault of a bot ends it."""
    goal_interval: int = 10
    """Matches between two checks of the goal."""
    goal_reached: Callable[[], bool] | None = None
    """Returns whether the ratings are precise enough."""


class RunParts(NamedTuple):
    """The parts of a run."""

    source: JobSource
    """Supplies its matches."""
    pool: Pool
    """Plays them."""
    orders: Orders
    """Requests to stop or pause it."""
    rules: StopRules = StopRules()
    """Which results end it early."""


class Run:
    """One run of a stored tournament, until it is finished or stopped."""

    def __init__(self, parts: RunParts, recorder: ResultRecorder, publisher: EventPublisher) -> None:
        self._source, self._pool, self._orders, self._rules = parts
        self._queue: deque[Job] = deque()
        self._recorder = recorder
        self._publisher = publisher
        self._flights = Flights()
        self._recovery = Recovery()
        self._lengths = Lengths()
        self._num_batches = self._num_offers = 0
        self._stop_reason = ""
        self._is_aborted = self._is_paused = False
        self._next_goal = recorder.num_done + self._rules.goal_interval

    def run(self) -> Ended:
        """Play until nothing is left or a stop is requested; all results are stored before this returns.

        Raises:
            ArenaError: worker processes do not start, or the schedule plans invalid matches.
            ConfigError: the openings of the tournament have changed since it began.
            DatabaseError: the store cannot be written.
        """
        while True:
            self._tick()
            self._fill()
            if not self._flights:
                # Nothing is in flight, so every result is stored and the run may end.
                if self._stop_reason or not self._has_more():
                    return self._recorder.close(self._stop_reason)
                # The run is paused, or the next matches cannot be stored yet.
                time.sleep(_TICK_S)
                continue
            # The timeout bounds how late an order is noticed while all matches are long.
            done = self._flights.wait(_TICK_S)
            self._tick()
            self._collect(done)

    def _tick(self) -> None:
        # Starts are read before results: if a slot died, the match that it began last is the suspect.
        for began in self._pool.news():
            self._recovery.began(began)
            self._recorder.began(began.number)
        for note in self._pool.notes():
            self._recorder.tell(RunNotice(note, is_warning=False))
        self._publisher.hear(self._pool.events())
        order = self._orders.poll()
        self._pause(now=self._orders.is_paused)
        if order is not None:
            self._stop(order.reason)
            # A signal is reported at every poll, a command only once; the workers are killed once.
            if order.now and not self._is_aborted:
                self._is_aborted = True
                self._pool.abort()
        self._publisher.tick()

    def _stop(self, reason: str) -> None:
        if not self._stop_reason:
            self._stop_reason = reason
            self._pool.stop()
            self._publisher.change("stopping", reason)

    def _pause(self, *, now: bool) -> None:
        """Stop matches from beginning, or let them begin again; a stop takes precedence."""
        # A pool has one flag for stop and pause, so resuming would undo a stop.
        if now == self._is_paused or self._stop_reason:
            return
        self._is_paused = now
        if now:
            self._pool.stop()
        else:
            self._pool.go()
        self._publisher.change("paused" if now else "running")

    def _has_more(self) -> bool:
        return bool(self._queue) or not self._source.is_exhausted

    def _plan(self) -> None:
        """Request further matches when few are left; drop those that a decision made unnecessary."""
        before = self._source.decision
        self._source.num_workers = self._publisher.num_workers = self._pool.num_workers
        jobs = self._source.more(len(self._queue), self._flights.numbers)
        self._forget(self._source.take_gone())
        for withdrawn in self._source.take_withdrawn():
            self._recorder.tell(withdrawn)
        if jobs:
            self._recorder.expect(jobs, self._source.total)
            self._publisher.expect(jobs, self._source.total)
            if self._source.is_urgent:
                # `extendleft` reverses its argument, so this keeps the order of the plan.
                self._queue.extendleft(reversed(jobs))
            else:
                self._queue += jobs
        # The planner has dropped the queued matches in the store; those in flight end and are stored.
        elif self._source.decision != before:
            for part in (self._recorder, self._publisher):
                part.forget([job.number for job in self._queue], self._source.total)
            self._queue.clear()
            self._recorder.tell(DecisionFell(self._source.decision))

    def _forget(self, gone: Collection[int]) -> None:
        """Drop queued matches of bots that have left."""
        if not gone:
            return
        dropped = set(gone)
        numbers = [job.number for job in self._queue if job.number in dropped]
        self._queue = deque(job for job in self._queue if job.number not in dropped)
        for part in (self._recorder, self._publisher):
            part.forget(numbers, self._source.total)

    def _fill(self) -> None:
        free: list[tuple[int, int, Slot]] | None = None
        while not (self._stop_reason or self._is_paused):
            self._plan()
            # Results are stored first, because the next matches may depend on them.
            if self._flights.has_ended:
                return
            # Once for all batches: a thousand slots are too many to look at for each.
            free = self._free_slots() if free is None else free
            slot = self._next_slot(free)
            if slot is None or not (self._queue or self._take_back(slot, free)):
                return
            jobs = self._take(slot)
            if jobs:
                self._flights.add(self._pool.submit(jobs, slot, self._tick), slot, jobs)
            else:
                # Walkovers take no time: a run of nothing else must still notice a request to stop.
                self._tick()
            self._offer(free, slot)

    def _free_slots(self) -> list[tuple[int, int, Slot]]:
        """Return a heap of the slots that accept a batch now, the least loaded first."""
        free: list[tuple[int, int, Slot]] = []
        for slot in self._recovery.usable(self._pool.slots()):
            self._offer(free, slot)
        return free

    def _offer(self, free: list[tuple[int, int, Slot]], slot: Slot) -> None:
        # In a tournament that bots join, a queued batch would delay the matches of a new bot.
        depth = 1 if self._source.is_open else _DEPTH
        load = self._flights.load[slot]
        if load < depth:
            self._num_offers += 1
            # The counter breaks ties: of equally loaded slots the one that has waited longest is next.
            heappush(free, (load, self._num_offers, slot))

    def _next_slot(self, free: list[tuple[int, int, Slot]]) -> Slot | None:
        """Return the least loaded slot on which the next matches may be played."""
        avoided = self._recovery.avoided([job.number for job in islice(self._queue, _MAX_SUSPECTS)])
        others: list[tuple[int, int, Slot]] = []
        found = None
        while free and found is None:
            each = heappop(free)
            if each[2].machine in avoided:
                others.append(each)
            else:
                found = each[2]
        for each in others:
            heappush(free, each)
        return found

    def _take_back(self, idle: Slot, others: list[tuple[int, int, Slot]]) -> bool:
        """Put batches that wait behind busy slots back into the queue; return whether the queue has jobs.

        One batch per idle slot is put back: otherwise it would wait behind a long match. A batch that the
        idle slot must not play stays, because it would be sent to the same slot again.
        """
        if self._flights.load[idle]:
            return False
        num_idle = 1 + sum(not load for load, *_ in others)
        waiting = (each for each in self._flights.waiting() if not self._must_avoid(idle, each[1]))
        # A cluster returns a batch later, when it is done without a result. Until then it comes first here
        # again, so no other batch is asked for in its place.
        for future, _ in islice(waiting, num_idle):
            if future.cancel():
                self._queue += self._flights.remove(future).jobs.values()
        return bool(self._queue)

    def _must_avoid(self, slot: Slot, flight: Flight) -> bool:
        return all(self._recovery.avoids(number, slot.machine) for number in flight.jobs)

    def _take(self, slot: Slot) -> list[Job]:
        """Return the next jobs for a batch of a slot; matches of quarantined bots are decided here."""
        num_slots, batch_s = self._pool.num_workers, self._pool.batch_s
        first = first_size(self._num_batches, num_slots)
        # The source keeps enough matches planned for two such batches per slot.
        self._source.batch_size = min(first, self._lengths.num_in(batch_s))
        most = min(first, share(len(self._queue), num_slots))
        # A new bot has to wait for the batches in flight, so keep them small.
        most = min(most, _PAIR) if self._source.is_open else most
        size = batch_size(self._expected(), most, batch_s)
        self._num_batches += 1
        jobs: list[Job] = []
        walkovers: list[MatchRecord] = []
        avoiding: list[Job] = []
        while self._queue and len(jobs) < size and len(walkovers) < _MAX_WALKOVERS:
            job = self._queue.popleft()
            walkover = self._recorder.walkover(job)
            if self._recovery.avoids(job.number, slot.machine):
                avoiding.append(job)
            elif walkover is None:
                jobs.append(job)
            elif self._source.is_open:
                # Withdrawn, since a quarantined bot would lose without end here; that drops its matches.
                avoiding.append(job)
                for label, why in self._recorder.quarantined(job):
                    self._source.withdraw(label, why)
            else:
                walkovers.append(walkover)
        self._queue += avoiding
        self._keep(walkovers)
        return jobs

    def _expected(self) -> Generator[tuple[float, bool]]:
        """Yield the expected duration of each queued match, and whether it is the second of its pair."""
        before: Job | None = None
        for job in self._queue:
            is_second = before is not None and are_pair(before, job)
            yield self._lengths.expected(job), is_second
            before = None if is_second else job

    def _collect(self, done: Iterable[Future[list[MatchRecord]]]) -> None:
        """Store new results, requeue matches that were not played, and recover from lost workers."""
        lost = {self._flights[future].slot for future in done if _is_lost(future)}
        if lost:
            # All batches of a dead slot fail together; collect them at once. Other slots play on.
            theirs = [future for future, flight in self._flights.items() if flight.slot in lost]
            done = {*done, *wait(theirs).done}
            self._tick()
        # Read after `done`: parts arrive before the future of their batch is done, so none is missing.
        parts = self._pool.results()
        for part in parts:
            # Removed at once, so that a slot that dies later loses only the matches it has not delivered.
            self._flights.land(part)
        # `done` is a set; sorted, so that results which arrive together are stored in the order of the plan.
        ended = sorted(((self._flights.remove(future), future) for future in done), key=_first_number)
        left: dict[Slot, dict[int, Job]] = {slot: {} for slot in lost}
        for flight, future in ended:
            if _is_lost(future):
                left[flight.slot].update(flight.jobs)
                continue
            played = [] if self._is_broken(future) else future.result()
            parts.append(played)
            for record in played:
                del flight.jobs[record.number]
            # What a stopped or slow batch has not played goes first, because it is earlier in the plan.
            self._queue.extendleft(reversed(flight.jobs.values()))
        for part in parts:
            # Part by part: only within a slot does the time between two starts say how long a match took.
            self._lengths.note(part)
        # One transaction for all of them, because each transaction waits for the disk.
        self._keep([record for part in parts for record in part])
        for slot, jobs in left.items():
            self._recover(slot, jobs)
        if lost and not self._stop_reason:
            self._rebuild()

    def _is_broken(self, future: Future[list[MatchRecord]]) -> bool:
        """Return whether a batch failed through no fault of a match; exclude a machine with wrong results."""
        error = future.exception()
        if isinstance(error, WrongResultError):
            self._recovery.was_wrong(error.slot.machine)
            self._put_aside(error.slot.machine, f"it sent wrong results: {error}")
        return isinstance(error, WrongResultError | PoolLostError)

    def _put_aside(self, machine: str, why: str) -> None:
        name = self._pool.put_aside(machine, why)
        self._recorder.tell(RunNotice(f"nothing is played on {name} for {ASIDE_S / 60:.0f} min: {why}"))

    def _recover(self, slot: Slot, jobs: dict[int, Job]) -> None:
        """Requeue the matches of a dead slot; a match that is proven to kill workers becomes void."""
        number = self._recovery.lost(slot, jobs)
        playing = None if number is None else jobs.pop(number)
        # The workers were killed on purpose, so no match and no machine is to blame.
        if self._is_aborted:
            self._queue.extendleft(reversed(jobs.values()))
            self._keep([] if playing is None else [void_record(playing, Termination.ABORTED)])
            return
        is_guilty = playing is not None and self._recovery.is_guilty(playing.number)
        num_again = len(jobs) + (playing is not None and not is_guilty)
        self._recorder.tell(RunNotice(f"a worker died; {num_again} matches are played again"))
        self._queue.extendleft(reversed(jobs.values()))
        if playing is None:
            return
        aside = self._recovery.find_aside(slot.machine)
        if aside is not None:
            self._put_aside(*aside)
        self._publisher.lost([playing.number])
        if is_guilty:
            cause = f"{MAX_LOSSES} workers died while they played it"
            void = void_record(playing, Termination.ARENA_ERROR, cause)
            self._keep([dataclasses.replace(void, is_final=True)])
        else:
            # A suspect goes last: otherwise an outside cause of deaths would hit the same match again.
            self._queue.append(playing)

    def _rebuild(self) -> None:
        if self._recovery.is_hopeless:
            raise ArenaError(
                f"{MAX_LOSSES} workers died before they began a match; --executor inline shows why"
            )
        self._pool.rebuild()

    def _keep(self, records: Sequence[MatchRecord]) -> None:
        if records:
            self._recovery.lasted()
        self._queue += self._recorder.keep(records)
        if self._recorder.trouble:
            self._stop(self._recorder.trouble)
        # If a match could not be played, files of its bot may be gone, for its queued matches as well.
        if any(record.termination == Termination.ARENA_ERROR for record in records):
            self._queue = deque(self._source.renew(self._queue))
        for record in records:
            if self._rules.no_recover and Termination(record.termination).is_fault:
                address = self._recorder.address(record)
                self._stop(f"match {address} ended with a fault and --no-recover is set: {record.reason}")
        if self._rules.goal_reached is None or self._recorder.num_done < self._next_goal:
            return
        self._next_goal = self._recorder.num_done + self._rules.goal_interval
        if self._rules.goal_reached():
            self._stop("every rating is within the wanted error")


def _is_lost(future: Future[list[MatchRecord]]) -> bool:
    return isinstance(future.exception(), WorkerLostError)


def _first_number(ended: tuple[Flight, object]) -> int:
    return min(ended[0].jobs, default=0)
