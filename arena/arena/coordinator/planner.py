"""Plans the next matches of a run, one window at a time: asks the schedule, stores a batch, returns jobs."""

from __future__ import annotations

import dataclasses
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from arena.coordinator.jobs import make_jobs
from arena.coordinator.kinds import schedule_of
from arena.coordinator.plan_view import EventView
from arena.coordinator.restore import Newcomers
from arena.errors import ArenaError, ConfigError
from arena.schedules.fixed import has_changed, plan_for
from arena.schedules.protocol import Closed, HasDecided, PlannedBatch, Wait
from arena_db.errors import LockedError
from arena_db.records import NewBatch

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from arena.coordinator.kinds import PlanSource
    from arena.coordinator.plan import Plan
    from arena.coordinator.run_events import BotWithdrawn
    from arena.executor.job import Job
    from arena.schedules.protocol import Basis, View
    from arena_db.records import PlannedMatch, TournamentRecord
    from arena_db.store import Store

_FEWEST: Final = 128
"""Minimum number of queued matches of a plan that depends on the configuration alone."""
_FEWEST_ADAPTIVE: Final = 8
"""Minimum number of queued matches of a plan that depends on results: the earlier a match is planned, the
fewer results are used."""
_LOOK_S: Final = 0.05
"""Seconds between two checks for bots that join or leave; a check reads one number."""
_PAGE: Final = 10_000
"""Number of rows of a plan per query: a plan may have a million."""
_CHECKED: Final = 256
"""Matches at the end of a stored plan that are compared with what the schedule would plan now."""


class Planner:
    """Returns the matches of a stored tournament as jobs: first the planned ones, then newly planned ones.

    Resuming works by replaying: planned matches without a result are returned, and then the schedule is asked
    with the present view. No other state is restored.
    """

    def __init__(self, store: Store, tournament: TournamentRecord, plan: Plan, *, num_workers: int) -> None:
        """Prepare to plan a tournament from its stored state; the caller holds its lease.

        Args:
            store: contains the plan.
            tournament: its record.
            plan: the plan of the tournament.
            num_workers: number of concurrent matches.
        """
        self.total = tournament.num_total
        """Number of matches of the whole tournament; None while it cannot be known."""
        self.is_done = tournament.is_planned
        """Whether the plan is complete; planned matches may still have to be returned."""
        self.decision = tournament.decision
        """The decision of the tournament; empty before there is one."""
        self.is_open = tournament.type == "ladder"
        """Whether bots join and leave while it is played."""
        self.is_urgent = False
        """Whether the last planned batch goes before all queued matches, because bots have joined or left."""
        self.is_decided = tournament.is_planned and bool(tournament.decision)
        """Whether a decision made all matches unnecessary, except running ones."""
        self._store = store
        self._tournament = tournament
        self._plan = plan
        self._source: PlanSource | None = plan.source
        self._newcomers = Newcomers(store, tournament, plan, withdraws_lost=self.is_open)
        self._view = EventView(store, tournament)
        self._num_dropped = tournament.num_dropped
        self._handed_out = 0
        self._has_stored = True
        self._waits_at: Basis | None = None
        # Read before the first `_drop_gone`: a change between the two is handled twice rather than missed.
        self._change: int = self._view.last_change()
        self._next_look = 0.0
        self._gone: list[int] = []
        self._has_news = False
        self._late: frozenset[int] | None = None
        """Matches that were running when bots were last seen to leave and have not ended since."""
        self.batch_size = 1
        """Maximum number of matches per batch; set by the run, as in `JobSource`."""
        self.num_workers = num_workers
        """Number of slots; set by the run, as in `JobSource`."""
        self._drop_gone(())
        if self.is_decided and not tournament.is_complete:
            # The run that decided it was killed while matches were running.
            # No match is running now, so all that are left can be dropped.
            store.plans.close(tournament.id, tournament.decision, drops=True)
        elif self.decision and not self.is_done:
            self._decide(self.decision, ())

    @property
    def is_exhausted(self) -> bool:
        """Whether all matches were returned."""
        return self.is_decided or (self.is_done and not self._has_stored)

    def more(self, num_queued: int, running: Collection[int]) -> list[Job]:
        """Return the next jobs if few are left; each planned match only once.

        Returns an empty list while results are awaited, and while another process keeps the store locked;
        call it again then.

        Args:
            num_queued: number of jobs that were returned and have not begun.
            running: numbers of the running matches.

        Raises:
            ArenaError: the schedule waits though no match is running, or planned invalid matches.
            ConfigError: the openings of the tournament have changed since it began.
        """
        self._look(running, is_idle=not num_queued and not running)
        self._settle_late(running)
        if self.is_exhausted:
            return []
        low, num = self._window(num_queued, len(running))
        self.is_urgent = self.is_open and self._has_news and not self._has_stored
        if num >= low and not self.is_urgent:
            return []
        # Up to twice `low`, so that the next query comes only after `low` further matches.
        wanted = max(low, 2 * low - num)
        if self._has_stored:
            matches = self._store.plans.unplayed(self._tournament.id, after=self._handed_out, limit=wanted)
            self._handed_out = matches[-1].number if matches else self._handed_out
            # Only a full page can be followed by more stored matches.
            self._has_stored = len(matches) == wanted and self._handed_out < len(self._view.plan)
            if matches:
                return make_jobs(self._tournament, self._plan, matches)
        if self.is_done:
            return []
        try:
            # An even number, so that no pair is split.
            return self._ask(wanted + wanted % 2, num_queued, running)
        except LockedError:
            return []

    def _window(self, num_queued: int, num_running: int) -> tuple[int, int]:
        """Return the number of unplayed matches below which more are planned, and their present number.

        Plans that depend on results should use as many as possible, so little is planned early. For other
        plans running matches do not count, so that batches stay large while those are played.
        """
        is_adaptive = self.is_open if self._source is None else self._source.is_adaptive
        if is_adaptive:
            return max(_FEWEST_ADAPTIVE, 4 * self.num_workers), num_queued + num_running
        return max(_FEWEST, 2 * self.num_workers * self.batch_size), num_queued

    def renew(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the queued jobs, with their bots resolved again, after one could not be played.

        Files that were removed during play are stored again from where the bot is installed. Where bots may
        leave at any time, one that cannot be found is withdrawn: its matches would be void without end.
        """
        competitors = self._newcomers.find_anew(
            {bot.label for job in jobs for bot in (job.first, job.second)}
        )
        found: list[Job] = []
        for job in jobs:
            first, second = (competitors.get(bot.label, bot) for bot in (job.first, job.second))
            # An unchanged job stays the same object, because a pool sends each competitor only once.
            is_same = (first, second) == (job.first, job.second)
            found.append(job if is_same else msgspec.structs.replace(job, first=first, second=second))
        return found

    def withdraw(self, label: str, why: str) -> None:
        """Withdraw a bot that plays; its matches are dropped at the next call of `more`."""
        self._newcomers.withdraw(label, why)
        self._next_look = 0.0

    def take_gone(self) -> list[int]:
        """Return the numbers of matches dropped since the last call because their bots have left."""
        gone, self._gone = self._gone, []
        return gone

    def take_withdrawn(self) -> list[BotWithdrawn]:
        """Return the bots that the run withdrew since the last call."""
        return self._newcomers.take_withdrawn()

    def _look(self, running: Collection[int], *, is_idle: bool) -> None:
        """Check for bots that joined or left, at most every `_LOOK_S` seconds, and always when idle."""
        if self.is_decided or (time.monotonic() < self._next_look and not is_idle):
            return
        self._next_look = time.monotonic() + _LOOK_S
        change = self._view.last_change()
        if change == self._change:
            return
        try:
            self._drop_gone(running)
        except LockedError:
            return
        # Only now: if the store was locked, the next `_look` finds the change again.
        self._change, self._has_news = change, True
        self._late = frozenset(running)

    def _settle_late(self, running: Collection[int]) -> None:
        """Drop matches of bots that left if they ended without a result: they must not be played again.

        Once all have ended, declare void those that disqualified bots were still playing: not only at the end
        of the run, because a ladder may never end.
        """
        if self._late is None or (self._late and self._late.issubset(running)):
            return
        with suppress(LockedError):
            self._drop_gone(running)
            self._late = self._late.intersection(running)
            if not self._late:
                self._store.changes.void_out(self._tournament.id)
                self._late = None

    def _drop_gone(self, running: Collection[int]) -> None:
        """Drop the planned matches of bots that no longer take part, except running ones."""
        dropped = self._store.changes.drop_gone(self._tournament.id, running)
        self._gone += dropped
        self._num_dropped += len(dropped)
        record = self._store.tournaments.find(self._tournament.id)
        if record is not None:
            # A bot that joined has reopened the plan.
            self.is_done, self.total = record.is_planned, record.num_total

    def _ask(self, wanted: int, num_queued: int, running: Collection[int]) -> list[Job]:
        source = self._known_source()
        # Check first, so that the view contains no change that this planner has not handled.
        self._look(running, is_idle=True)
        basis = self._view.basis()
        # A schedule is a function of its view, so the same view would yield `Wait` again.
        if self._waits_at == basis:
            self._look_for_results(is_idle=not num_queued and not running)
            return []
        view = self._view.look(basis, self.decision, adds_up=source.is_open)
        # Each bot that has just joined gets its first pair in this batch, which goes before all that waits.
        wanted = max(wanted, 2 * (len(self._view.entrants) - len(self._plan.competitors)))
        while not self._newcomers.seat(self._view.entrants):
            # One of them was withdrawn at once, so the view is outdated.
            self._look(running, is_idle=True)
            basis = self._view.basis()
            view = self._view.look(basis, self.decision, adds_up=source.is_open)
        # Changes after this view are found by the next `_look`.
        self._has_news = False
        found = source.schedule.next(view, wanted)
        if isinstance(found, Wait):
            self._waits_at = basis
            return []
        self._waits_at = None
        if isinstance(found, Closed):
            self._close(found, running)
            return []
        if isinstance(found, HasDecided):
            self._decide(found.decision, running)
            return []
        check_batch(view, found, self._tournament.name, plays_pairs=source.plays_pairs)
        batch = NewBatch(
            matches=found.matches,
            # A schedule counts every match that it planned, the store only those that still need a result.
            num_total=None if found.total is None else found.total - self._num_dropped,
            is_last=source.is_last(found),
            basis_match=basis.match,
            basis_change=basis.change,
            note=found.note,
        )
        # Stored before any of it is played, so a run that is killed resumes with the same matches.
        self._store.plans.add_batch(self._tournament.id, batch)
        self._view.plan.grow(found.matches)
        self.total, self.is_done = batch.num_total, batch.is_last
        return make_jobs(self._tournament, self._plan, found.matches)

    def _close(self, closed: Closed, running: Collection[int]) -> None:
        self._num_dropped += self._store.plans.close(
            self._tournament.id, closed.decision, drops=bool(closed.decision), running=running
        )
        self.decision = closed.decision
        self.is_done, self.is_decided = True, bool(closed.decision)
        self.total = len(self._view.plan) - self._num_dropped

    def _decide(self, decision: str, running: Collection[int]) -> None:
        """Store a decision after which the tournament continues, and drop the matches it made unnecessary."""
        decides = self._known_source().decides
        if decides is None:
            raise ArenaError(
                f"the schedule of {self._tournament.name} made a decision, but its type has none to make"
            )
        self._num_dropped += self._store.plans.decide(
            self._tournament.id,
            decision,
            num_more=decides.num_more,
            encounter=decides.encounter,
            running=running,
        )
        self.decision = decision
        record = self._store.tournaments.find(self._tournament.id)
        self.total = None if record is None else record.num_total

    def _known_source(self) -> PlanSource:
        """Return the schedule of the tournament, created on first use.

        Raises:
            ConfigError: the openings of the tournament have changed since it began.
        """
        if self._source is None:
            config, game = self._plan.config, self._plan.game
            self._source = schedule_of(config, game, len(config.bots), self._tournament.plan_version)
            num_planned = self._tournament.num_planned
            check_fixed(self._store, self._tournament, self._source, after=max(0, num_planned - _CHECKED))
        return self._source

    def _look_for_results(self, *, is_idle: bool) -> None:
        """Store the results that wait in files beside the store.

        Raises:
            ArenaError: there are none, and no running match could bring any.
        """
        if self._store.matches.num_waiting:
            self._store.matches.save([])
        elif is_idle and not self.is_open:
            raise ArenaError(
                f"the schedule of {self._tournament.name} waits for results, but no match is running; "
                f"arena db check looks for damage, arena resume {self._tournament.name} retries"
            )


def check_fixed(store: Store, tournament: TournamentRecord, source: PlanSource, *, after: int = 0) -> None:
    """Compare the fixed plan of a stored tournament with what its configuration yields now.

    Args:
        store: contains the plan.
        tournament: its record.
        source: the schedule made from its configuration.
        after: only matches with higher numbers.

    Raises:
        ConfigError: they differ, because the openings have changed.
    """
    if source.fixed is None:
        return
    entrants = store.tournaments.entrants(tournament.id)
    # Matches planned after bots joined or left depend on when they did, so compare them seat by seat.
    whole = plan_for(source.fixed, len(entrants)) if has_changed(entrants) else None
    while page := store.plans.planned(tournament.id, after=after, limit=_PAGE):
        if whole is None:
            now = list(source.fixed.matches(after, after + len(page)))
        else:
            now = [whole.as_planned(match) for match in page]
        if [dataclasses.replace(match, attempt=0) for match in page] != now:
            raise ConfigError(
                f"the openings of {tournament.name} have changed since it began; restore the old ones, or "
                "start a new tournament"
            )
        after = page[-1].number


def check_batch(view: View, batch: PlannedBatch, name: str, *, plays_pairs: bool) -> None:
    """Refuse a batch that cannot be played as planned.

    Args:
        view: the view it was planned from.
        batch: the next matches.
        name: name of the tournament.
        plays_pairs: whether both matches of a MatchPair must be planned together.

    Raises:
        ArenaError: it has no matches, numbers that do not continue the plan, a bot that does not play, a
            match twice or half a pair.
    """
    if fault := _fault(view, batch.matches, plays_pairs=plays_pairs):
        raise ArenaError(f"the schedule of {name} planned an invalid batch: {fault}; nothing was stored")


def _fault(view: View, matches: Sequence[PlannedMatch], *, plays_pairs: bool) -> str:
    begin = len(view.plan) + 1
    if [match.number for match in matches] != list(range(begin, begin + len(matches))) or not matches:
        return f"its matches are not numbered from {begin} on"
    keys = {(match.encounter, match.match_no) for match in matches}
    if len(keys) < len(matches):
        return "it has a match twice"
    for match in matches:
        seats = (match.first, match.second)
        if match.first == match.second or not all(0 <= seat < len(view.seats) for seat in seats):
            return f"match {match.number} has the seats {match.first} and {match.second}"
        for who in (view.seats[seat] for seat in seats):
            if who.state != "playing":
                return f"match {match.number} has {who.label}, which no longer takes part"
        if plays_pairs and (match.encounter, match.match_no ^ 1) not in keys:
            return f"match {match.number} is half a pair"
    return ""
