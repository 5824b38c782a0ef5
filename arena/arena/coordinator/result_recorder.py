"""Stores the results of a run, reports and counts them, and stores ratings now and then."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from arena.coordinator.quarantine import Quarantine
from arena.coordinator.replaying import keep_replays
from arena.coordinator.run_events import Ended, MatchFinished, MatchStarted, RunNotice
from arena.errors import ArenaError
from arena.executor.record import walkover_record
from arena.naming import match_address
from arena.results.tournament_states import REPLAYED_TYPES
from arena_db.errors import LockedError, RefusedError
from arena_db.points import step_of
from arena_plugins import Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.coordinator.run_events import Event
    from arena.executor.job import Job
    from arena_db.records import MatchRecord, TournamentRecord
    from arena_db.store import Store

MAX_ERRORS = 3
"""Maximum number of attempts per match and run that fail by the arena's fault; then the match stays void."""
MAX_STALLS = 3
"""Number of stalled attempts of a match in one run, after which a late bot loses: without this limit, a bot
that slows down its machine would never lose, and a machine that is always busy would play one match for
ever."""
MAX_SPOILT = 20
"""Number of void matches after which a run stops if the arena could play none: the next ones would fail as
well, and a sequential test would try all its pairs."""
STALL_PERCENT = 1
"""Percentage of stalls among the matches of a run above which the machine is too busy."""
SUM_EVERY_S = 1.0
"""Seconds after which the store adds new matches to its sums; until then each reader adds them itself."""


class ResultRecorder:
    """The only writer of a tournament's matches during a run; it reports only what is stored."""

    def __init__(
        self,
        store: Store,
        tournament: TournamentRecord,
        tell: Callable[[Event], None],
    ) -> None:
        """Prepare to record a run; quarantines of earlier runs stay in force.

        Args:
            store: receives the results; it holds the lease of the tournament.
            tournament: its stored record.
            tell: called with every event after it is stored.
        """
        self.num_done = tournament.num_done
        """Number of matches that need no more play."""
        self.tell = tell
        self.trouble = ""
        """Why the run must stop: no match can be played. Empty if it need not."""
        self._num_spoilt = 0
        self._has_played = False
        self._store = store
        self._tournament = tournament
        self._total = tournament.num_total
        # If matches were dropped, numbers exceed the number of matches.
        self._is_numbered = not tournament.num_dropped
        self._jobs: dict[int, Job] = {}
        self._errors: Counter[int] = Counter()
        self._stalls: Counter[int] = Counter()
        """Stalled attempts of each match that is not final; `_num_stalls` counts those of all matches."""
        self._num_stalls = 0
        self._num_kept = 0
        self._has_warned = False
        self._summed_at = time.monotonic()
        # A session has no quarantine, and fitting ratings would make the person wait.
        self._is_play = tournament.type == "play"
        self._points = PointKeeper(store, tournament, tell)
        self._quarantine = Quarantine.of_tournament(store, tournament.name)
        store.tournaments.set_state(tournament.id, "running")

    def expect(self, jobs: Sequence[Job], total: int | None) -> None:
        """Register the next jobs, and the total number of matches if that is known."""
        self._jobs.update((job.number, job) for job in jobs)
        self._total = total

    def forget(self, numbers: Sequence[int], total: int | None) -> None:
        """Forget matches that are no longer needed."""
        for number in numbers:
            self._forget(number)
        self._is_numbered &= not numbers
        self._total = total

    def walkover(self, job: Job) -> MatchRecord | None:
        """Return the record of a match with a quarantined bot, which is not played; None for any other."""
        if self._is_play:
            return None
        first, second = (self._quarantine.holds(bot.record.identity) for bot in (job.first, job.second))
        return walkover_record(job, first_is_out=first, second_is_out=second) if first or second else None

    def quarantined(self, job: Job) -> list[tuple[str, str]]:
        """Return the label of each quarantined bot of a match, and why it is."""
        bots = ((bot.label, self._quarantine.why(bot.record.identity)) for bot in (job.first, job.second))
        return [(label, why) for label, why in bots if why]

    def began(self, number: int) -> None:
        """Report that a match began."""
        # A worker's report about a match may arrive after its result.
        job = self._jobs.get(number)
        if job is not None:
            total = self._total if self._is_numbered else None
            self.tell(MatchStarted(number, total, job.first.label, job.second.label))

    def keep(self, played: Sequence[MatchRecord]) -> list[Job]:
        """Store records in one transaction, then report them; return the jobs that must be played again.

        Raises:
            LeaseLostError: another process has taken over the tournament; nothing is stored or reported.
            MovedError: the file of the store was removed, moved or replaced; nothing is reported.
        """
        if not played:
            return []
        records = [self._settled(record) for record in played]
        # Fewer if the store is locked and results wait in files beside it, or if some are stored already.
        if self._store.matches.save(records) < len(records):
            self._warn_of_lock()
        for warning in self._store.take_warnings():
            self.tell(RunNotice(warning))
        self._num_kept += len(records)
        again: list[Job] = []
        for record in records:
            job = self._jobs[record.number]
            self._quarantine.add_record(record)
            # Counted even while results wait in files beside the store, where they are as durable.
            self.num_done += record.is_final
            self.tell(MatchFinished(record, job.first.label, job.second.label, self.num_done, self._total))
            if record.is_final:
                self._note_end(record)
                self._forget(record.number)
            else:
                again.append(self._again(job, record))
        if time.monotonic() - self._summed_at >= SUM_EVERY_S:
            # One transaction of at most 10,000 matches, so that the run is back soon; the next call
            # continues.
            self._store.sums.sum_up(batches=1)
            self._summed_at = time.monotonic()
        if not self._is_play:
            self._points.note(self.num_done)
        return again

    def close(self, reason: str) -> Ended:
        """End the run; it is finished if the store says so, otherwise stopped for this reason."""
        self._store.matches.save([])  # first store the results that wait beside the store
        self._store.sums.sum_up()
        # A match of a bot disqualified during the run may have ended since.
        self._store.changes.void_out(self._tournament.id)
        # After the voids above, because replays and the last point leave out void matches.
        self._keep_replays()
        if not self._is_play:
            self._points.keep()
        if self._num_stalls * 100 > STALL_PERCENT * self._num_kept:
            self.tell(
                RunNotice(
                    f"{self._num_stalls} times a match stalled because the machine was busy, and was "
                    "played again; a lower --concurrency helps"
                )
            )
        record = self._store.tournaments.find(self._tournament.id) or self._tournament
        # The store decides: another process may have added a bot or dropped matches since the last plan.
        is_finished = record.is_complete
        state = "finished" if is_finished else "stopped"
        # Last: if this process is killed before, the tournament stays `running`, and `arena resume` ends it.
        self._store.tournaments.set_state(record.id, state)
        why = "" if is_finished else reason or "another process took part in it"
        ended = Ended(state, why, record.num_done, record.num_total)
        self.tell(ended)
        return ended

    def _keep_replays(self) -> None:
        """Compute replayed ratings when a tournament ends; if that fails, it ends without them."""
        if self._tournament.type not in REPLAYED_TYPES:
            return
        try:
            keep_replays(self._store, self._tournament.id)
        except ArenaError as error:
            self.tell(RunNotice(f"replayed ratings could not be computed: {error}"))
        except LockedError:
            self.tell(
                RunNotice(
                    "replayed ratings were not stored: the store is locked; arena db repair computes them"
                )
            )

    def address(self, record: MatchRecord) -> str:
        """Return the address of a match."""
        return match_address(self._tournament.name, record.number)

    def _forget(self, number: int) -> None:
        """Forget a match that needs no more play: there may be millions."""
        del self._jobs[number]
        self._errors.pop(number, None)
        self._stalls.pop(number, None)

    def _warn_of_lock(self) -> None:
        num_waiting = self._store.matches.num_waiting
        if num_waiting and not self._has_warned:
            self._has_warned = True
            self.tell(
                RunNotice(
                    f"{self._store.place} is locked by another process; {num_waiting} results wait beside "
                    "it, safe on the disk, and are stored once it is free"
                )
            )

    def _again(self, job: Job, record: MatchRecord) -> Job:
        if record.termination == Termination.ARENA_STALL:
            self._stalls[job.number] += 1
            self._num_stalls += 1
        stalls_count = self._stalls[job.number] >= MAX_STALLS
        again = msgspec.structs.replace(job, attempt=record.attempt + 1, stalls_count=stalls_count)
        self._jobs[job.number] = again
        return again

    def _note_end(self, record: MatchRecord) -> None:
        """Count the matches that the arena failed for good, until one is played."""
        # Only until then: failed matches are tried again last, so at its end even a run with one unplayable
        # bot has many failures in a row. A walkover is not played.
        self._has_played |= record.termination not in (Termination.ARENA_ERROR, Termination.WALKOVER)
        self._num_spoilt += record.termination == Termination.ARENA_ERROR
        if self._num_spoilt >= MAX_SPOILT and not self._has_played:
            # The last line of a traceback says what happened.
            why = (record.reason.strip().splitlines() or ["the arena failed"])[-1]
            self.trouble = f"none of {self._num_spoilt} matches could be played, at last because: {why}"

    def _settled(self, record: MatchRecord) -> MatchRecord:
        """Make a match final that the arena itself failed too often."""
        if record.termination != Termination.ARENA_ERROR:
            return record
        self._errors[record.number] += 1
        if self._errors[record.number] < MAX_ERRORS and not record.is_final:
            return record
        self.tell(RunNotice(f"match {self.address(record)} is not tried again: {record.reason}"))
        return dataclasses.replace(record, is_final=True)


class PointKeeper:
    """Stores a point of the rating history after each fortieth of the plan, and at the end of a run."""

    def __init__(self, store: Store, tournament: TournamentRecord, tell: Callable[[Event], None]) -> None:
        """Continue after the matches of earlier runs."""
        self._store = store
        self._tournament = tournament
        self._num_bots = len(store.tournaments.entrants(tournament.id))
        self._tell = tell
        self._rated_at = tournament.num_done
        self._is_broken = False

    def note(self, num_done: int) -> None:
        """Store a point if one is due; `num_done` planned matches have a result.

        If the total is unknown, a point is due whenever the number of matches has grown by a fortieth.
        """
        if num_done - self._rated_at >= step_of(self._tournament.num_total or num_done, self._num_bots):
            self._rated_at = num_done
            self.keep()

    def keep(self) -> None:
        """Store a point of all matches stored now; if the store is locked, play continues without one.

        If no ratings fit the results, this is reported once.
        """
        # Imported here, because it imports NumPy, which would delay the first matches of a run.
        from arena.results.history import rate_now

        if self._is_broken:
            return
        try:
            # Bots may have joined since.
            self._num_bots = len(self._store.tournaments.entrants(self._tournament.id))
            point = rate_now(self._store, self._tournament.id, self._num_bots)
            if point is not None:
                self._store.ratings.add_point(self._tournament.id, point)
        except ArenaError as error:
            self._is_broken = True
            self._tell(RunNotice(f"ratings over time are not stored for this tournament: {error}"))
        except (LockedError, RefusedError):
            # The next point will be nearly the same.
            return
