"""Publishes live events of a running tournament through the store; play never waits for it."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Literal

import msgspec

from arena.coordinator.run_events import BotWithdrawn, DecisionFell, Ended, MatchFinished, RunNotice
from arena.errors import ArenaError
from arena.executor.streaming import PERIOD_S, live_event, started_of
from arena.live.events import EntrantChange, Fault, Finished, Move, RunState, kind_of, pack
from arena.results.forfeits import loser
from arena.results.tested import is_test
from arena_db.errors import DatabaseError
from arena_db.records import LiveEvent
from arena_plugins import Outcome, Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from arena.coordinator.run_events import Event
    from arena.executor.job import Job
    from arena.live.events import Payload
    from arena_db.records import MatchRecord, TournamentRecord
    from arena_db.store import Store

_BEAT_S = 10.0
"""Maximum seconds between two published states of the run, and so the maximum age of its counts and rate."""
_SAMPLE_S = 0.5
"""Seconds between two samples of matches that are too short to be streamed; a sample is published after its
end."""
_RATE_S = 30.0
"""Seconds over which the rate of short matches is computed."""
_REST_S = 5.0
"""Seconds without publishing after the store refused events, so that a locked store does not slow results as
well."""
_PATIENCE = 3
"""Number of consecutive failures after which the operator is warned: a lock may be released soon."""
_MOST = 5000
"""Maximum number of queued events; beyond it, moves are dropped and published again later."""
_MAX_TEXT = 1000
"""Maximum characters of a text: `pack` refuses payloads of over 4,096, and escapes lengthen a text."""

State = Literal["running", "paused", "stopping", "ended"]


class EventPublisher:
    """Collects the events of workers and of the run, and publishes them in transactions of its own.

    A match is streamed from its beginning if it is long enough; its end is published after its result is
    stored. Of matches that are too short to be streamed, one is published now and then, together with the
    number of finished matches. While the store accepts no events they are queued, up to a limit.
    """

    def __init__(  # noqa: PLR0913 - a tournament, who plays it and who hears of it
        self,
        store: Store,
        tournament: TournamentRecord,
        *,
        num_workers: int,
        warn: Callable[[str], None],
        goal: Callable[[], str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to publish; no event is written yet.

        Args:
            store: receives the events; it holds the lease of the tournament.
            tournament: its stored record.
            num_workers: number of concurrent matches.
            warn: called when events cannot be published.
            goal: returns the progress towards the goal of the tournament, as text.
            clock: returns monotonic seconds.
        """
        self._store = store
        self._tournament = tournament
        self._total = tournament.num_total
        self._jobs: dict[int, Job] = {}
        self._num_workers = num_workers
        self._warn = warn
        self._goal = goal
        self._clock = clock
        self._state: State = "running"
        self._reason = ""
        self._num_done = tournament.num_done
        self._running: dict[int, list[LiveEvent]] = {}
        self._queue: list[LiveEvent] = []
        self._over: list[MatchFinished] = []
        self._dropped: set[int] = set()
        """Matches to forget once their ends are published."""
        self._must_repeat = False
        self._num_failures = 0
        self._state_is_due = True
        self._next_beat = self._next_flush = self._next_sample = clock()
        # In a session every end of a match is published.
        self._sample_s = 0.0 if tournament.type == "play" else _SAMPLE_S
        self._counts: deque[tuple[float, int]] = deque()
        self._leaves_out = False
        self._is_most = is_test(tournament) and not tournament.decision

    def expect(self, jobs: Sequence[Job], total: int | None) -> None:
        """Register the next jobs, and the total number of matches if that is known."""
        self._jobs.update((job.number, job) for job in jobs)
        self._state_is_due |= total != self._total
        self._total = total

    def forget(self, numbers: Sequence[int], total: int | None) -> None:
        """Forget matches that are no longer needed; unpublished ends are published first."""
        self._dropped.update(numbers)
        self._forget_dropped()
        self._total = total

    def _forget_dropped(self) -> None:
        ends = {end.record.number for end in self._over}
        for number in self._dropped - ends:
            self._jobs.pop(number, None)
        self._dropped &= ends

    def hear(self, events: Iterable[LiveEvent]) -> None:
        """Collect the workers' events of running matches."""
        for event in events:
            # Events and results arrive through different channels: events of a match may follow its end, or
            # belong to an earlier attempt.
            job = self._jobs.get(event.number or 0)
            if job is None or event.number is None:
                continue
            if event.kind == "started":
                known = self._running[event.number] = [self._started(job, event.attempt, event.t)]
            else:
                known = self._running.get(event.number, [])
                if not known or known[0].attempt != event.attempt:
                    continue
                # Only the newest thought of a bot is of interest; a snapshot for new viewers leaves out the
                # others, too.
                # Queued events stay queued; this list is published again after a failure.
                if known[-1].kind == "info":
                    known.pop()
                known.append(event)
            self._queue.append(known[-1])

    def tell(self, event: Event) -> None:
        """Collect an event of the run."""
        if isinstance(event, MatchFinished):
            self._over.append(event)
        elif isinstance(event, RunNotice):
            self._add(Fault(text=event.text[:_MAX_TEXT]))
        elif isinstance(event, BotWithdrawn):
            self._add(EntrantChange(bot=event.bot, change="leave", reason=event.reason[:_MAX_TEXT]))
        elif isinstance(event, DecisionFell):
            self._is_most = False
            self._state_is_due = True
        elif isinstance(event, Ended):
            self._num_done = event.num_done
            self.change("ended", event.reason)

    def change(self, state: State, reason: str = "") -> None:
        """Record a new state of the run."""
        if (state, reason) != (self._state, self._reason):
            self._state, self._reason = state, reason
            self._state_is_due = True
            # At the next tick, because a pause shorter than a period would otherwise never be published.
            self._next_flush = self._clock()

    def lost(self, numbers: Iterable[int]) -> None:
        """Publish that matches died with their workers, and drop their events; they may be played again."""
        for number in numbers:
            known = self._running.pop(number, None)
            if known:
                last = known[-1]
                fault = Fault(text="its worker died; it will be played again", stalls=True)
                job = msgspec.structs.replace(self._jobs[number], attempt=last.attempt)
                self._queue.append(live_event(job, fault, last.ply, time.time()))

    def tick(self, *, at_once: bool = False) -> None:
        """Publish what is queued, if it is due or `at_once`; never raise."""
        now = self._clock()
        if now < self._next_flush and not at_once:
            return
        self._next_flush = now + PERIOD_S
        try:
            self._flush(now)
            self._num_failures = 0
        except (DatabaseError, ArenaError) as error:
            # The error may be a lost lease: the next save, or `Lease.check`, then ends the run. An ArenaError
            # comes from `_goal`, if no ratings fit the results.
            self._next_flush = self._clock() + _REST_S
            # Only moves are left out: the end of a match is published once, while moves of running matches
            # are kept in `_running` and published again from there.
            if len(self._queue) > _MOST:
                self._must_repeat = True
                # The newest are kept: with a store that is locked for hours even ends would fill the memory.
                self._queue = [event for event in self._queue if event.kind in ("finished", "fault")][-_MOST:]
            self._num_failures += 1
            if self._num_failures == _PATIENCE:
                self._warn(f"the live view is paused, no match is lost: {error}")

    def _flush(self, now: float) -> None:
        # A viewer must find a published result in the store, and results may still wait beside it.
        if self._over and not self._store.matches.num_waiting:
            self._end_matches(now)
        if self._state_is_due or now >= self._next_beat:
            self._add(self._run_state(now))
            self._state_is_due, self._next_beat = False, now + _BEAT_S
        if self._must_repeat:
            running = [event for known in self._running.values() for event in known]
            # By identity, because the queue contains the same objects.
            again = {id(event) for event in running}
            self._queue = [*running, *(event for event in self._queue if id(event) not in again)]
            self._must_repeat = False
        if self._queue:
            self._store.events.append(self._queue)
            # After the commit: if it fails, the events stay queued.
            self._queue.clear()

    def _end_matches(self, now: float) -> None:
        """Publish the ends of stored matches; of all short ones, publish one as a sample."""
        over, self._over = self._over, []
        self._num_done = over[-1].num_done
        # Matches that were too short to be streamed, or ended before their workers could send an event.
        quick: list[MatchFinished] = []
        for end in over:
            known = self._running.get(end.record.number)
            if known is None:
                quick.append(end)
            elif known[0].attempt == end.record.attempt:
                del self._running[end.record.number]
                self._end(end.record, known)
            # Otherwise it is already being played again.
        if quick:
            self._leaves_out = self._sample_s > 0
            if now >= self._next_sample or self._state == "ended":
                self._next_sample = now + self._sample_s
                failed = [end for end in quick if Termination(end.record.termination).is_fault]
                self._end((failed or quick)[-1].record, [])
                self._state_is_due = True
        # Forget finished matches: there may be millions, and no further event concerns them.
        for end in over:
            if end.record.is_final:
                self._jobs.pop(end.record.number, None)
        self._forget_dropped()

    def _end(self, record: MatchRecord, told: Sequence[LiveEvent]) -> None:
        job = self._jobs[record.number]
        job = msgspec.structs.replace(job, attempt=record.attempt)
        t = record.started_at + record.duration_ms / 1000
        ply = max((event.ply for event in told if event.kind == "move"), default=len(job.opening))
        if not told:
            self._queue.append(self._started(job, record.attempt, record.started_at))
        # Moves that were not published during play.
        for index in range(ply, len(record.actions)):
            move = Move(
                action=record.actions[index], elapsed_ms=record.times_ms[index], value=record.values[index]
            )
            self._queue.append(live_event(job, move, index + 1, t))
        if Termination(record.termination).is_fault:
            fault = Fault(
                player=loser(record),
                termination=record.termination,
                text=record.reason[:_MAX_TEXT],
            )
            self._queue.append(live_event(job, fault, len(record.actions), t))
        stored = self._store.matches.find_attempt(record.tournament, record.number, record.attempt)
        finished = Finished(
            outcome=Outcome(record.outcome).value,
            termination=record.termination,
            reason=record.reason[:_MAX_TEXT],
            plies=len(record.actions),
            is_final=record.is_final,
            stored=None if stored is None else stored.id,
        )
        self._queue.append(live_event(job, finished, len(record.actions), t))

    def _started(self, job: Job, attempt: int, t: float) -> LiveEvent:
        return live_event(msgspec.structs.replace(job, attempt=attempt), started_of(job), 0, t)

    @property
    def num_workers(self) -> int:
        """Number of concurrent matches; changes while worker machines join and leave."""
        return self._num_workers

    @num_workers.setter
    def num_workers(self, num: int) -> None:
        # Published with the next events: the next beat may be ten seconds away.
        self._state_is_due |= num != self._num_workers
        self._num_workers = num

    def _run_state(self, now: float) -> RunState:
        tournament = self._tournament
        return RunState(
            state=self._state,
            planned=self._total,
            is_most=self._is_most,
            done=self._num_done,
            name=tournament.name,
            game=tournament.game,
            tc=tournament.pool.limit,
            workers=self._num_workers,
            rate=self._rate(now),
            reason=self._reason,
            goal="" if self._goal is None else self._goal(),
        )

    def _rate(self, now: float) -> float | None:
        """Return matches per minute; None if every match is published, and at the end."""
        if not self._leaves_out or self._state == "ended":
            return None
        self._counts.append((now, self._num_done))
        # The oldest count kept is at least `_RATE_S` old, so that the rate covers that time.
        while len(self._counts) > 2 and self._counts[1][0] <= now - _RATE_S:  # noqa: PLR2004 - a rate takes two
            self._counts.popleft()
        (t, count), span = self._counts[0], now - self._counts[0][0]
        return 60 * (self._num_done - count) / span if span > 0 and t < now else None

    def _add(self, body: Payload) -> None:
        """Queue an event about the tournament itself."""
        of = self._tournament.id
        event = LiveEvent(tournament=of, number=None, kind=kind_of(body), payload=pack(body), t=time.time())
        self._queue.append(event)
