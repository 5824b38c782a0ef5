"""A seat whose bot lives in this process (tier T0): fast, for trusted bots only."""

from __future__ import annotations

import time
import traceback
from typing import TYPE_CHECKING, TypeVar

import msgspec

from arena.referee.dialogue import check_action, check_time
from arena.referee.seats import Answer, Fault, Resignation
from arena.referee.stall import SUSPENDED_S, suspended_s
from arena.referee.thoughts import read_thoughts
from arena.referee.verdict import FaultError, evidence, stderr_text
from arena.sandbox.tier import Tier
from arena_plugins.answer import make_answer
from arena_plugins.clock import make_limit
from arena_plugins.contract import Termination
from arena_plugins.errors import ProtocolError
from arena_plugins.wire import Action, Info

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.referee.clock import GameClock
    from arena.referee.seats import SeatSetup
    from arena_plugins.contract import Bot, Game, Outcome, State

_Result = TypeVar("_Result")


class InProcessSeat:
    """Plays by calling the bot; it can be found late, but not stopped."""

    def __init__(self, make: Callable[[Game, int], Bot], *, name: str, version: str) -> None:
        """Make a seat; no bot is made yet.

        Args:
            make: called as `make(game, seed)` for every match, unless the bot has `new_match(seed)`.
            name: of the bot, as registered.
            version: of the bot, as registered.
        """
        self.name = name
        self.version = version
        self.tier = Tier.T0
        self.deterministic = False
        self.idle_cpu_s = 0.0
        self._make = make
        self._bot: Bot | None = None
        self._setup: SeatSetup | None = None
        self._num_asked = 0

    def start(self, setup: SeatSetup) -> Fault | None:
        """Make the bot, or tell the one there is that a new match begins."""
        again = self._bot is not None and self._setup is not None and self._setup.game is setup.game
        self._setup, self._num_asked = setup, 0
        began = time.monotonic()
        try:
            self._bot = _guarded(lambda: self._new_bot(setup, self._bot if again else None))
            self.deterministic = _guarded(lambda: getattr(self._bot, "deterministic", None) is True)
            check_time(time.monotonic() - began, setup.init_s, Termination.INIT_TIMEOUT)
        except FaultError as error:
            if error.termination in {Termination.BOT_ERROR, Termination.CRASH, Termination.MALFORMED}:
                error.termination = Termination.INIT_CRASH
            return self._end(error, time.monotonic() - began, setup.init_s * 1000)
        return None

    def ask(self, state: State, num_opening: int, clock: GameClock) -> Answer | Resignation | Fault:
        """Ask for an action; the seat must have been started."""
        del num_opening
        bot, setup = self._bot, self._setup
        if bot is None or setup is None:
            raise RuntimeError(f"{self.name} was asked for a move before its match was started")
        limit = make_limit(setup.control.to_wire(), clock.to_wire(setup.player), self._num_asked)
        self._num_asked += 1
        allowance_s, asleep_s = clock.allowance_s(setup.player), suspended_s()
        began = time.monotonic()
        elapsed_s = None
        try:
            result = _guarded(lambda: bot.play(state, limit))
            elapsed_s = time.monotonic() - began
            *before, answer = _guarded(lambda: make_answer("", result, state.legal_actions))
            if isinstance(answer, Action):
                check_action(answer.action, state.legal_actions)
            check_time(elapsed_s, allowance_s, clock.lateness(setup.player))
        except FaultError as error:
            elapsed_s = time.monotonic() - began if elapsed_s is None else elapsed_s
            fault = self._end(error, elapsed_s, clock.limit_ms(setup.player))
            is_late = error.termination is clock.lateness(setup.player)
            # In this process a late scheduler cannot be told from a slow bot, a suspended machine can.
            return msgspec.structs.replace(fault, is_stall=is_late and suspended_s() - asleep_s > SUSPENDED_S)
        if not isinstance(answer, Action):
            return Resignation(elapsed_s)
        info = next((message for message in before if isinstance(message, Info)), None)
        return Answer(answer.action, elapsed_s, read_thoughts(answer, info, state, setup.game))

    def check(self) -> Fault | None:
        """Find nothing: between two calls nothing can go wrong."""
        return None

    def finish(self, outcome: Outcome, termination: Termination) -> None:
        """Do nothing: the contract of a bot has no end of a match."""

    def close(self) -> None:
        """Let the bot go."""
        self._bot = None

    def _new_bot(self, setup: SeatSetup, bot: Bot | None) -> Bot:
        new_match = getattr(bot, "new_match", None)
        if bot is not None and callable(new_match):
            new_match(setup.seed)
            return bot
        self._bot = None  # the old one's memory first, it may be large
        return self._make(setup.game, setup.seed)

    def _end(self, error: FaultError, elapsed_s: float, limit_ms: float) -> Fault:
        self._bot = None
        detail = evidence(error, self, elapsed_s, limit_ms)
        cause = error.__cause__
        if isinstance(cause, SystemExit):
            detail["exit_code"] = cause.code if isinstance(cause.code, int) else int(cause.code is not None)
        if cause is not None:
            # Of a bot in this process the traceback is what stderr is of one outside.
            detail["stderr"] = stderr_text("".join(traceback.format_exception(cause)).encode())
        return Fault(error.termination, detail)


def _guarded(call: Callable[[], _Result]) -> _Result:
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Whatever a bot raises is its forfeit, SystemExit too.
        starved = isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError)
        if isinstance(error, SystemExit):
            termination = Termination.CRASH
        elif isinstance(error, ProtocolError):
            termination = Termination.MALFORMED
        else:
            termination = Termination.OOM if starved else Termination.BOT_ERROR
        text = traceback.format_exception_only(error)[-1].strip()
        raise FaultError(termination, text) from error
