"""Seats whose bots run in this process (tier T0), for trusted bots only; fastest if both bots have one."""

from __future__ import annotations

import time
import traceback
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import msgspec

from arena.referee.bot_output import BotOutput, Capture
from arena.referee.dialogue import check_action, check_time
from arena.referee.seats import Answer, Forfeit, Resignation
from arena.referee.stall import SUSPENDED_S, suspended_s
from arena.referee.thoughts import read_thoughts
from arena.referee.verdict import FaultError, evidence, stderr_text
from arena.sandbox.tier import Tier
from arena_plugins.answer import make_answer
from arena_plugins.clock import make_limit
from arena_plugins.contract import PlayResult, Termination
from arena_plugins.errors import ProtocolError
from arena_plugins.wire import Action, Clock, Info

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from arena.referee.clock import GameClock
    from arena.referee.seats import Record, Seat, SeatSetup
    from arena.referee.timecontrol import TimeControl
    from arena_plugins.contract import Bot, Game, Limit, Outcome, State
    from arena_plugins.wire import Message

_INIT_CRASHES = frozenset({Termination.BOT_ERROR, Termination.CRASH, Termination.MALFORMED})
"""Terminations that become `init_crash` before the first question."""
_PLAIN_S = 0.0005
"""Maximum seconds of an answer that is recorded as 0 ms, to which it would be rounded anyway."""

FastSeat = tuple["Bot", "Limit", float, "InProcessSeat"]
"""A bot, its limit for each answer, the seconds of an answer too quick to be timed, and its seat."""


class InProcessSeat:
    """Plays by calling the bot directly; a late bot is noticed, but cannot be stopped."""

    def __init__(self, make: Callable[[Game, int], Bot], *, name: str, version: str) -> None:
        """Make a seat; no bot is made yet.

        Args:
            make: called as `make(game, seed)` for every match, unless the bot has `new_match(seed)`.
            name: the bot's registered name.
            version: the bot's registered version.
        """
        self.name = name
        self.version = version
        self.tier = Tier.T0
        self.deterministic = False
        self.limits = ""
        self.runtime = ""
        self.idle_cpu_s = None
        self.output: BotOutput | None = None
        """Captures what the bot prints; None leaves its prints alone."""
        self._bot: Bot | None = None
        self._limit: Limit | None = None
        self._plain_s = 0.0
        self._make = make
        self._setup: SeatSetup | None = None
        self._num_asked = 0

    @property
    def fast_seat(self) -> FastSeat | None:
        """The data for the fast path; None without a bot, or if the limit of answers varies in a match."""
        if self._bot is None or self._limit is None:
            return None
        return self._bot, self._limit, self._plain_s, self

    def start(self, setup: SeatSetup) -> Forfeit | None:
        """Make the bot, or tell the existing one that a new match begins."""
        last, self._setup, self._num_asked = self._setup, setup, 0
        if last is None or last.control is not setup.control:
            self._take_control(setup.control)
        # By identity: a bot may have kept its game, and the worker has one object per spec.
        bot = self._bot if last is not None and last.game is setup.game else None
        if self.output is not None:
            self.output.begin()
        capture = self._capture(0)
        began = time.monotonic()
        try:
            with capture:
                self._make_ready(bot, setup)
        except BaseException as raised:  # noqa: BLE001 - any exception of a bot forfeits the match
            error = _fault_of(raised)
            if error.termination in _INIT_CRASHES:
                error.termination = Termination.INIT_CRASH
            return self._end(error, time.monotonic() - began, setup.init_s * 1000)
        elapsed_s = time.monotonic() - began
        if elapsed_s <= setup.init_s:
            return None
        late = FaultError(Termination.INIT_TIMEOUT, "it was not ready in time")
        return self._end(late, elapsed_s, setup.init_s * 1000)

    def _make_ready(self, bot: Bot | None, setup: SeatSetup) -> None:
        new_match = getattr(bot, "new_match", None)
        if bot is not None and callable(new_match):
            new_match(setup.seed)
        else:
            self._bot = None  # release the old bot's memory first; it may be large
            self._bot = bot = self._make(setup.game, setup.seed)
        self.deterministic = getattr(bot, "deterministic", None) is True

    def _capture(self, ply: int) -> AbstractContextManager[object]:
        """Return a context manager that captures the bot's prints at a ply, if they are to be kept."""
        output = self.output
        if output is None:
            return nullcontext()
        output.ply = ply
        return Capture(lambda: output)

    def ask(self, state: State, num_opening: int, clock: GameClock) -> Answer | Resignation | Forfeit:
        """Ask for an action; `start` must have been called."""
        del num_opening
        bot, setup = self._begun()
        limit = self._limit
        if limit is None:
            limit = make_limit(setup.control.to_wire(), clock.to_wire(setup.player), self._num_asked)
        self._num_asked += 1
        asleep_s = suspended_s()
        capture = self._capture(len(state.history) + 1)
        began = time.monotonic()
        try:
            with capture:
                given = bot.play(state, limit)
        except BaseException as error:  # noqa: BLE001 - any exception of a bot forfeits the match
            return self.blame(error, time.monotonic() - began, clock)
        return self.judge(given, state, time.monotonic() - began, clock, asleep_s)

    def judge(
        self, given: object, state: State, elapsed_s: float, clock: GameClock, asleep_s: float
    ) -> Answer | Resignation | Forfeit:
        """Judge what `play` returned.

        Args:
            given: the returned object.
            state: the state the bot was asked about.
            elapsed_s: seconds from the question to the answer.
            clock: the clock before the answer is charged.
            asleep_s: total seconds the machine had been suspended before the question.
        """
        _, setup = self._begun()
        legal = state.legal_actions
        limit_ms, allowance_s, lateness = clock.bound(setup.player)
        try:
            messages = _messages(given, legal)
            info, answer = messages[0], messages[-1]
            if isinstance(answer, Action):
                check_action(answer.action, legal)
            check_time(elapsed_s, allowance_s, lateness)
        except FaultError as error:
            fault = self._end(error, elapsed_s, limit_ms)
            # In one process a late scheduler cannot be told from a slow bot, but a suspended machine can.
            is_stall = error.termination is lateness and suspended_s() - asleep_s > SUSPENDED_S
            return msgspec.structs.replace(fault, is_stall=is_stall)
        if not isinstance(answer, Action):
            return Resignation(elapsed_s)
        said = info if isinstance(info, Info) else None
        return Answer(answer.action, elapsed_s, read_thoughts(answer, said, state, setup.game))

    def blame(self, error: BaseException, elapsed_s: float, clock: GameClock) -> Forfeit:
        """Judge an exception that the bot raised `elapsed_s` seconds after the question.

        Raises:
            KeyboardInterrupt: `error` is one; it is not the bot's fault.
        """
        _, setup = self._begun()
        return self._end(_fault_of(error), elapsed_s, clock.bound(setup.player).limit_ms)

    def check_idle(self, opponent_s: float) -> Forfeit | None:
        """Return None: the CPU time of a bot in this process is not measured."""

    def check(self) -> Forfeit | None:
        """Return None: between two calls a bot in this process cannot fail."""
        return None

    def finish(self, outcome: Outcome, termination: Termination) -> None:
        """Do nothing: the contract of a bot has no end of a match."""

    def close(self) -> None:
        """Release the bot."""
        self._bot = None

    def _take_control(self, control: TimeControl) -> None:
        self._limit, self._plain_s = None, 0.0
        if control.mode == "move":
            # The limit is the same for every answer, so it is made once and not for each question.
            shown = Clock(you_ms=control.move_ms, opp_ms=control.move_ms)
            self._limit = make_limit(control.to_wire(), shown, 0)
            self._plain_s = min(_PLAIN_S, (control.move_ms + control.margin_ms) / 1000)

    def _begun(self) -> tuple[Bot, SeatSetup]:
        if self._bot is None or self._setup is None:
            raise RuntimeError(f"{self.name} was asked for a move before its match was started")
        return self._bot, self._setup

    def _end(self, error: FaultError, elapsed_s: float, limit_ms: float) -> Forfeit:
        self._bot = None
        detail = evidence(error, self, elapsed_s, limit_ms)
        cause = error.__cause__
        if isinstance(cause, SystemExit):
            detail["exit_code"] = cause.code if isinstance(cause.code, int) else int(cause.code is not None)
        if cause is not None:
            # For a bot in this process the traceback takes the place of stderr.
            detail["stderr"] = stderr_text("".join(traceback.format_exception(cause)).encode())
        return Forfeit(error.termination, detail)


def _messages(given: object, legal: Collection[int]) -> list[Message]:
    try:
        return make_answer("", given, legal)
    except BaseException as error:
        raise _fault_of(error) from error


def _fault_of(error: BaseException) -> FaultError:
    """Return the forfeit of a bot that raised `error`; SystemExit counts as a forfeit, too.

    Raises:
        KeyboardInterrupt: `error` is one.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    starved = isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError)
    if isinstance(error, SystemExit):
        termination = Termination.CRASH
    elif isinstance(error, ProtocolError):
        termination = Termination.MALFORMED
    else:
        termination = Termination.OOM if starved else Termination.BOT_ERROR
    fault = FaultError(termination, traceback.format_exception_only(error)[-1].strip())
    # As `raise … from` would do it: the evidence takes traceback and exit code from there.
    fault.__cause__ = error
    return fault


def fast_seats_of(seats: tuple[Seat, Seat]) -> tuple[FastSeat, FastSeat] | None:
    """Return the fast path data of two started seats if both bots are eligible, else None.

    Both must run in this process and have the same limit for every answer.
    """
    first, second = seats
    if not (isinstance(first, InProcessSeat) and isinstance(second, InProcessSeat)):
        return None
    one, other = first.fast_seat, second.fast_seat
    return None if one is None or other is None else (one, other)


def play_fast(
    fast_seats: tuple[FastSeat, FastSeat],
    state: State,
    record: Record,
    clock: GameClock,
    abort: Callable[[], bool] | None,
) -> tuple[State, Answer | Resignation | Forfeit | None]:
    """Ask two bots in turn and accept plain answers; an answer that is not plain is judged by its seat.

    A plain answer is a PlayResult that contains only a legal action as a plain int and arrives at once. No
    rule has anything to judge about it, so a match ends the same with and without this fast path.

    Args:
        fast_seats: the data of the two seats.
        state: the state to play on from.
        record: receives the accepted answers.
        clock: the clocks of the match; a plain answer does not change them.
        abort: called before each action; True ends the play.

    Returns:
        The state that was reached, and the judgement of the first answer there that is not plain; None
        instead of a judgement if the match is over or to be aborted.
    """
    capture = _capture(fast_seats, state, record)
    if capture is None:
        return _play_fast(fast_seats, state, record, clock, abort)
    with capture:
        return _play_fast(fast_seats, state, record, clock, None if abort is None else capture.outside(abort))


def _capture(fast_seats: tuple[FastSeat, FastSeat], state: State, record: Record) -> Capture | None:
    """Return a capture of the prints of both bots, or None if those of either are not kept.

    The speaker is determined from the number of actions only when something is printed, so a silent bot costs
    nothing.
    """
    first, second = fast_seats[0][3].output, fast_seats[1][3].output
    if first is None or second is None:
        return None
    outputs, actions = (first, second), record.actions
    num_known = len(actions)

    def speaker() -> BotOutput:
        nonlocal state, num_known
        while num_known < len(actions):
            state = state.child(actions[num_known])
            num_known += 1
        output = outputs[state.current_player]
        output.ply = num_known + 1
        return output

    return Capture(speaker)


def _play_fast(
    fast_seats: tuple[FastSeat, FastSeat],
    state: State,
    record: Record,
    clock: GameClock,
    abort: Callable[[], bool] | None,
) -> tuple[State, Answer | Resignation | Forfeit | None]:
    actions, now = record.actions, time.monotonic
    asleep_s = suspended_s()
    while not state.is_terminal:
        if abort is not None and abort():
            break
        bot, limit, plain_s, seat = fast_seats[state.current_player]
        legal = state.legal_actions
        began = now()
        try:
            given = bot.play(state, limit)
        except BaseException as error:  # noqa: BLE001 - any exception of a bot forfeits the match
            return state, seat.blame(error, now() - began, clock)
        elapsed_s = now() - began
        if (
            # Exact types, not `isinstance`: a subclass may compute something else on each access, so a seat
            # judges it.
            type(given) is PlayResult
            and type(action := given.action) is int
            and action in legal
            and elapsed_s <= plain_s
            and given.resign is False
            and given.value is None
            and given.policy is None
            and given.visits is None
            and given.pv is None
            and given.nodes is None
            and given.depth is None
            and given.text is None
        ):
            state = state.child(action)
            actions.append(action)
        else:
            return state, seat.judge(given, state, elapsed_s, clock, asleep_s)
    return state, None
