"""A seat whose bot lives in a process of its own and speaks arena-bot/1."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from arena.referee.connection import Connection
from arena.referee.dialogue import await_reply, check_time, get_ready, greet
from arena.referee.seats import Answer, Fault, Resignation
from arena.referee.thoughts import read_thoughts
from arena.referee.verdict import FaultError, evidence, stderr_text
from arena.sandbox.process import spawn
from arena.sandbox.resources import Resources
from arena.sandbox.tier import Tier
from arena_plugins.contract import Termination
from arena_plugins.wire import Go, Limits, MatchOver, Quit, Resign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.referee.clock import GameClock
    from arena.referee.seats import SeatSetup
    from arena_plugins.contract import Outcome, State

_QUIT_S = 1.0
"""Seconds from `quit` to the kill."""
_DEATH_S = 0.2
"""Seconds a bot that closed its pipes has to exit, so that its exit code is known."""
_NEARLY_ALL = 0.9
"""A bot that dies with this part of its memory limit in use died of it."""
_DEATHS = frozenset({Termination.CRASH, Termination.INIT_CRASH})


class HostedSeat:
    """Plays with one process, started at the first match, kept warm, and started anew after a fault."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str,
        version: str,
        tier: Tier = Tier.T1,
        resources: Resources | None = None,
    ) -> None:
        """Make a seat; nothing is started yet.

        Args:
            command: program and arguments of the bot, absolute paths.
            name: of the bot, as registered.
            version: of the bot, as registered.
            tier: how to keep it apart.
            resources: its limits; None for the defaults.
        """
        self.name = name
        self.version = version
        self.tier = tier
        self.deterministic = False
        self._command = tuple(command)
        self._resources = resources or Resources()
        self._limits = Limits(
            memory_bytes=self._resources.memory_bytes, scratch_bytes=self._resources.scratch_bytes
        )
        self._connection: Connection | None = None
        self._setup: SeatSetup | None = None
        self._is_busy = False

    @property
    def pid(self) -> int | None:
        """The process id of the bot, which is also its group's; None while there is none."""
        return None if self._connection is None else self._connection.process.pid

    def start(self, setup: SeatSetup) -> Fault | None:
        """Start the process if there is no warm one in order, and get it ready for a match."""
        self._setup = setup
        self._is_busy = True
        began = time.monotonic()
        warm = self._warm()
        connection = warm or Connection(spawn(self._command, self.tier, self._resources), self._limits)
        self._connection = connection
        try:
            if warm is None:
                greet(connection, self._limits, began + setup.init_s)
            began = time.monotonic()
            self.deterministic = get_ready(connection, setup)
        except FaultError as error:
            if error.termination is Termination.CRASH:
                error.termination = Termination.INIT_CRASH
            return self._end(connection, error, time.monotonic() - began, setup.init_s * 1000)
        self._is_busy = False
        return None

    def ask(self, state: State, num_opening: int, clock: GameClock) -> Answer | Resignation | Fault:
        """Ask for an action; the seat must have been started."""
        connection, setup = self._connection, self._setup
        if connection is None or setup is None:
            raise RuntimeError(f"{self.name} was asked for a move before its match was started")
        go = Go(
            id=secrets.token_hex(8),
            actions=list(state.history),
            opening=num_opening,
            legal=list(state.legal_actions),
            clock=clock.to_wire(setup.player),
            board=list(state.cells),
        )
        allowance_s, lateness = clock.allowance_s(setup.player), clock.lateness(setup.player)
        self._is_busy = True
        began = time.monotonic()
        try:
            connection.refuse_leftovers()
            began = connection.send(go)
            message, info = await_reply(connection, go, began + allowance_s, lateness)
            elapsed_s = connection.received_at - began
            check_time(elapsed_s, allowance_s, lateness)
        except FaultError as error:
            return self._end(connection, error, time.monotonic() - began, clock.limit_ms(setup.player))
        self._is_busy = False
        if isinstance(message, Resign):
            return Resignation(elapsed_s)
        return Answer(message.action, elapsed_s, read_thoughts(message, info, state, setup.game))

    def check(self) -> Fault | None:
        """Look whether the bot is alive and silent."""
        connection = self._connection
        if connection is None:
            return None
        try:
            connection.refuse_leftovers()
        except FaultError as error:
            return self._end(connection, error, 0.0, 0.0)
        return None

    def finish(self, outcome: Outcome, termination: Termination) -> None:
        """Tell the bot, if it still lives, that the match is over."""
        connection, setup = self._connection, self._setup
        if connection is None or setup is None:
            return
        over = MatchOver(match=setup.match, outcome=outcome.value, termination=termination.value)
        try:
            connection.send(over)
        except FaultError:
            self._drop(connection)

    def close(self) -> None:
        """Ask the bot to quit and kill it a second later, or at once in the middle of a question."""
        connection = self._connection
        if connection is None:
            return
        grace_s = 0.0 if self._is_busy else _QUIT_S
        try:
            connection.send(Quit())
        except FaultError:
            grace_s = 0.0
        self._drop(connection, grace_s)

    def _warm(self) -> Connection | None:
        connection = self._connection
        if connection is None:
            return None
        try:
            connection.refuse_leftovers()
        except FaultError:
            # What it did after its last match was over is no part of this one.
            self._drop(connection)
            return None
        if connection.has_unsent:
            self._drop(connection)
            return None
        connection.process.scratch.wipe()
        return connection

    def _end(self, connection: Connection, error: FaultError, elapsed_s: float, limit_ms: float) -> Fault:
        detail = evidence(error, self, elapsed_s, limit_ms)
        died = error.termination in _DEATHS
        end = connection.process.kill(_DEATH_S if died else 0.0)
        connection.read_last_stderr()
        detail |= {"exit_code": end.code, "signal": end.signal, "max_rss": end.max_rss}
        detail["stderr"] = stderr_text(connection.stderr)
        self._drop(connection)
        starved = died and end.max_rss >= _NEARLY_ALL * self._resources.memory_bytes
        return Fault(Termination.OOM if starved else error.termination, detail)

    def _drop(self, connection: Connection, grace_s: float = 0.0) -> None:
        connection.process.kill(grace_s)
        connection.process.close()
        self._connection = None
        self._is_busy = False
