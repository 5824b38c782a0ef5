"""The source of a person's matches: one after the other, as the person requests them."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.coordinator.jobs import make_job
from arena.coordinator.run_events import MatchFinished
from arena.executor.preflight import position
from arena.executor.record import void_record
from arena.person.session_config import BOT_SEAT, PERSON_SEAT
from arena_db.errors import LockedError
from arena_db.records import PlannedMatch
from arena_plugins import Termination

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from arena.coordinator.run_events import BotWithdrawn, Event
    from arena.executor.job import Job
    from arena.person.session_commands import SessionCommands
    from arena.person.session_config import SessionPlan
    from arena.sandbox.tier import Tier
    from arena_db.records import MatchRecord, TournamentRecord
    from arena_db.store import Store

IDLE_S = 3600.0
"""Seconds after a match in which the person may request another one."""


class Play(NamedTuple):
    """A stored session that this process runs."""

    store: Store
    """The store, opened by the holder of the session's lease."""
    tournament: TournamentRecord
    plan: SessionPlan
    tier: Tier
    """Isolation tier of the bot."""


class PlaySession:
    """Returns a planned match, then the matches that the person requests, and extends the stored plan."""

    decision = ""
    is_open = is_urgent = False
    batch_size = num_workers = 1

    def __init__(self, play: Play, commands: SessionCommands, match: PlannedMatch) -> None:
        """Start with a match that is already planned.

        Args:
            play: the session.
            commands: knows the person's requests.
            match: the first match.
        """
        self.total: int | None = match.number
        """Number of matches so far."""
        self._play = play
        self._commands = commands
        self._next: PlannedMatch | None = match
        self._match = match
        self._record: MatchRecord | None = None
        self._ended = time.monotonic()

    @property
    def is_exhausted(self) -> bool:
        """Whether no further match is expected."""
        if self._next is not None or self._commands.step is not None:
            return False
        return self._commands.is_deserted or time.monotonic() - self._ended >= IDLE_S

    def more(self, num_queued: int, running: Collection[int]) -> list[Job]:
        """Return the next match, once it is requested and its predecessor is stored.

        Raises:
            DatabaseError: it cannot be stored.
        """
        if num_queued or running:
            return []
        if self._next is None and self._record is not None and self._commands.step is not None:
            self._plan(self._following(self._record, is_undo=self._commands.step == "undo"))
        if self._next is None:
            return []
        match, self._next = self._next, None
        self._match, self._record = match, None
        state = position(self._play.plan.game, match.opening)
        person = _side(match)
        can_undo = bool(self._own_plies(match.opening, person))
        self._commands.begin(match.number, state, person, can_undo=can_undo)
        return [_job(self._play, match)]

    def renew(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Return the jobs unchanged: a person sees what happened, and decides."""
        return jobs

    def withdraw(self, label: str, why: str) -> None:
        """Do nothing: nobody leaves a session."""

    def take_gone(self) -> list[int]:
        """Return nothing: matches that were returned by `more` are always played."""
        return []

    def take_withdrawn(self) -> list[BotWithdrawn]:
        """Return nothing: no bot joins a session."""
        return []

    def hear(self, event: Event) -> None:
        """Note that a match is stored."""
        if isinstance(event, MatchFinished):
            self._commands.over()
            self._record, self._ended = event.record, time.monotonic()

    def _plan(self, match: PlannedMatch) -> None:
        """Store a planned match; if the store is locked, the next call of `more` tries again."""
        store, tournament = self._play.store, self._play.tournament
        try:
            store.extend_plan(tournament.id, [match], tournament.config)
        except LockedError:
            return
        self._next, self.total = match, match.number

    def _following(self, record: MatchRecord, *, is_undo: bool) -> PlannedMatch:
        match = self._match
        if not is_undo:
            return planned_match(match.number + 1, match.second, self._play.plan.config.opening)
        own = self._own_plies(record.actions, _side(match))
        actions = record.actions[: own[-1]] if own else match.opening
        return planned_match(match.number + 1, match.first, actions)

    def _own_plies(self, actions: tuple[int, ...], person: int) -> list[int]:
        """Return the indices in `actions` of the person's own moves, without the configured opening."""
        plan = self._play.plan
        state, found = plan.game.initial_state(), list[int]()
        for ply, action in enumerate(actions):
            if ply >= len(plan.config.opening) and state.current_player == person:
                found.append(ply)
            state = state.child(action)
        return found


def go_on_from(play: Play, match: PlannedMatch, actions: tuple[int, ...]) -> PlannedMatch:
    """End a match whose coordinator was killed; plan and return one that continues from its last position.

    Args:
        play: the session.
        match: the match as planned.
        actions: its streamed actions.
    """
    end_match(play, match)
    while position(play.plan.game, actions).is_terminal:
        actions = actions[:-1]
    again = planned_match(match.number + 1, match.first, actions)
    play.store.extend_plan(play.tournament.id, [again], play.tournament.config)
    return again


def end_match(play: Play, match: PlannedMatch) -> None:
    """Store a planned match as aborted; it is not repeated."""
    void = void_record(_job(play, match), Termination.ABORTED)
    play.store.save([dataclasses.replace(void, is_final=True)])


def _job(play: Play, match: PlannedMatch) -> Job:
    """Return the job of a planned match; the person has a limit of their own."""
    plan = play.plan
    return make_job(
        play.tournament,
        match,
        (msgspec.structs.replace(plan.person, limit=plan.person_control), plan.bot),
        limit=plan.bot_control,
        init_s=plan.config.init_time,
        tier=play.tier,
        require_limits=plan.config.require_limits,
        rated=plan.config.rated,
        shows_clock=plan.config.clock is not None,
    )


def planned_match(number: int, first: int, opening: tuple[int, ...]) -> PlannedMatch:
    """Return the planned match with this number, in which the entrant of seat `first` moves first."""
    second = BOT_SEAT if first == PERSON_SEAT else PERSON_SEAT
    return PlannedMatch(
        number=number, encounter=0, match_no=number - 1, first=first, second=second, opening=opening
    )


def _side(match: PlannedMatch) -> int:
    """Return the player, 0 or 1, that the person is."""
    return 0 if match.first == PERSON_SEAT else 1
