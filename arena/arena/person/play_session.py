"""The matches of a person: their source, the seat that takes the person's moves, the pool that plays them."""

from __future__ import annotations

import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from typing_extensions import override

from arena.coordinator.jobs import make_job
from arena.coordinator.run_events import MatchFinished
from arena.executor.pools import InlinePool
from arena.executor.preflight import position
from arena.executor.record import void_record
from arena.executor.worker import play_batch
from arena.executor.worker_seats import WarmSeats, keep_compiled, make_seat
from arena.person.session_config import BOT_SEAT, PERSON, PERSON_SEAT
from arena.referee.seats import Answer, Forfeit, Resignation
from arena.referee.verdict import FaultError, evidence
from arena.sandbox.tier import Tier
from arena_db.errors import LockedError
from arena_db.records import PlannedMatch
from arena_plugins import Termination
from arena_plugins.thoughts import UNSAID

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from concurrent.futures import Future

    from arena.coordinator.run_events import BotWithdrawn, Event
    from arena.entrants import Competitor
    from arena.executor.job import Job
    from arena.executor.slots import Slot
    from arena.person.session_commands import SessionCommands
    from arena.person.session_config import SessionPlan
    from arena.referee.clock import GameClock
    from arena.referee.seats import Seat, SeatSetup
    from arena_db.records import MatchRecord, TournamentRecord
    from arena_db.store import Store
    from arena_plugins import Outcome, State

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
            commands: the source of the person's requests.
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
            DatabaseError: the match cannot be stored.
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
        """Return the jobs unchanged: the person sees why the match was not played, and decides what to do."""
        return jobs

    def withdraw(self, label: str, why: str) -> None:
        """Do nothing: no bot can be withdrawn from a session."""

    def take_gone(self) -> list[int]:
        """Return an empty list: matches that were returned by `more` are always played."""
        return []

    def take_withdrawn(self) -> list[BotWithdrawn]:
        """Return an empty list: no bot leaves a session."""
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
            store.plans.extend(tournament.id, [match], tournament.config)
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
        """Return the indices in `actions` of the person's own moves after the configured opening."""
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
        actions: the published actions of the match.
    """
    end_match(play, match)
    # The match was over, but its result was not stored; a match can only continue from a position that is not
    # final.
    while position(play.plan.game, actions).is_terminal:
        actions = actions[:-1]
    again = planned_match(match.number + 1, match.first, actions)
    play.store.plans.extend(play.tournament.id, [again], play.tournament.config)
    return again


def end_match(play: Play, match: PlannedMatch) -> None:
    """Store a planned match as aborted; it is not repeated."""
    void = void_record(_job(play, match), Termination.ABORTED)
    play.store.matches.save([dataclasses.replace(void, is_final=True)])


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
    """Return which player the person is, 0 or 1."""
    return 0 if match.first == PERSON_SEAT else 1


_TICK_S = 0.1
"""Seconds between two checks whether the match must end; too short for a person to notice."""


class PersonSeat:
    """Seat of a person. The screen already shows the position, so the seat only waits for a command."""

    name = PERSON
    version = ""
    tier = max(Tier)
    """A person needs no isolation, so the bot's seat determines the tier of the match."""
    deterministic = False
    limits = ""
    runtime = ""
    idle_cpu_s = None

    def __init__(self, commands: SessionCommands, give_hint: Callable[[State, int], None]) -> None:
        """Attach the seat to the commands of its session.

        Args:
            commands: source of the person's commands.
            give_hint: called as `give_hint(state, command)` when the person requests a hint.
        """
        self._commands = commands
        self._give_hint = give_hint
        self._player = 0

    def start(self, setup: SeatSetup) -> Forfeit | None:
        """Store the side of the person."""
        self._player = setup.player

    def ask(self, state: State, num_opening: int, clock: GameClock) -> Answer | Resignation | Forfeit:
        """Wait for a move or a resignation; a match that is taken back ends as `aborted`."""
        del num_opening
        limit_ms, allowance_s, lateness = clock.bound(self._player)
        began = time.monotonic()
        self._commands.turn(state)
        while (elapsed_s := time.monotonic() - began) <= allowance_s:
            if self._commands.must_end:
                return Forfeit(Termination.ABORTED, {})
            order = self._commands.next_order(min(_TICK_S, allowance_s - elapsed_s))
            if order is None:
                continue
            if order.kind == "hint":
                self._give_hint(state, order.command)
            elif order.kind == "resign":
                return Resignation(order.t - began)
            else:
                self._commands.moved(order.action)
                # The arrival time of the command: the clock must not run on until the command is read here.
                return Answer(order.action, max(0.0, order.t - began), UNSAID)
        late = FaultError(lateness, "no move came in time")
        return Forfeit(lateness, evidence(late, self, elapsed_s, limit_ms))

    def check(self) -> Forfeit | None:
        """Return None: a person cannot fail between moves."""

    def check_idle(self, opponent_s: float) -> Forfeit | None:
        """Return None: a person may think during the opponent's turn."""

    def finish(self, outcome: Outcome, termination: Termination) -> None:
        """Accept no further move; the screen shows the result."""
        del outcome, termination
        self._commands.over()

    def close(self) -> None:
        """Accept no further move; there is no process to stop."""
        self._commands.over()


class SessionSeats(WarmSeats):
    """The seats of a person and of a bot that is already running."""

    def __init__(self, person: Seat, bot: Seat) -> None:
        """Keep both seats until the first match."""
        super().__init__()
        self._person = person
        self._started = [bot]

    @override
    def make(self, competitor: Competitor, game_name: str, tier: Tier) -> Seat:
        if competitor.label == PERSON:
            return self._person
        if self._started:
            return self._started.pop()
        # The process of the bot was stopped because its temporary files were deleted.
        return make_seat(competitor, game_name, tier, adjust=keep_compiled)


class SessionPool(InlinePool):
    """Plays in a thread, so that the coordinator can process commands while the bot thinks."""

    def __init__(self, commands: SessionCommands, person: Seat, bot: Seat) -> None:
        """Set up the seats.

        Args:
            commands: reports when a match must end at once.
            person: seat of the person.
            bot: seat of the bot, started; the pool closes it.
        """
        # Every event is streamed at once, since the person waits for it.
        super().__init__(SessionSeats(person, bot), quiet_s=0.0)
        self._commands = commands
        # One thread serves all matches, since a process ends with the thread that started it.
        self._thread = ThreadPoolExecutor(1, "session")

    @override
    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        del slot, tick
        return self._thread.submit(self._play, list(jobs))

    @override
    def abort(self) -> None:
        super().abort()
        self._commands.abort()

    @override
    def close(self) -> None:
        # Closed by the thread that started the bot.
        self._thread.submit(super().close).result()
        self._thread.shutdown()

    @override
    def _must_abort(self) -> bool:
        return super()._must_abort() or self._commands.must_end

    def _play(self, jobs: Sequence[Job]) -> list[MatchRecord]:
        # An interrupted match of a person is never repeated.
        return [dataclasses.replace(record, is_final=True) for record in play_batch(jobs, self._control)]
