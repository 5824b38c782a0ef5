"""A seat whose bot runs in its own process and speaks arena-bot/1."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from arena.referee.connection import Connection
from arena.referee.dialogue import Question, await_reply, check_time, get_ready, greet, is_awake
from arena.referee.pause import Pause
from arena.referee.seats import Answer, Forfeit, Resignation
from arena.referee.stall import AnswerTime, is_stall, most_given_back_s, suspended_s
from arena.referee.thoughts import read_thoughts
from arena.referee.verdict import FaultError, evidence, stderr_text
from arena.referee.wire_lines import WireLog
from arena.sandbox.process import spawn
from arena.sandbox.tier import Tier
from arena_plugins.contract import Termination
from arena_plugins.wire import Go, Limits, MatchOver, Quit, Resign

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from arena.referee.clock import GameClock
    from arena.referee.seats import SeatSetup
    from arena.sandbox.process_settings import ProcessSettings
    from arena.sandbox.trace import Tracer
    from arena_plugins.contract import Outcome, State

_QUIT_S = 1.0
"""Seconds from `quit` until the process is killed: time to write its files, short enough between two
matches."""
_DEATH_S = 2.0
"""Seconds that a bot has to exit after closing its pipes, so that its exit code or signal becomes known.

A busy machine may take that long to report a death. Only a bot that closes its output and continues to run
makes the referee wait for the whole time.
"""
_NEARLY_ALL = 0.9
"""A bot that dies while using at least this share of a polled memory limit is taken to have died of it."""
_DEATHS = frozenset({Termination.CRASH, Termination.INIT_CRASH})
_TOO_LATE = frozenset({Termination.TIME_MOVE, Termination.TIME_GAME})
_EXCUSABLE = _TOO_LATE | {Termination.INIT_TIMEOUT}
_IDLE_S = 5.0
"""Seconds of idling after which a warm process must prove that it still answers; before, it has just
played."""
_PING_S = 1.0
"""Seconds that a warm process has to answer `ping`; one that needs longer is restarted, without a penalty."""
_PATIENCE = 2.0
"""A later match may take this many times as long to start as the first one, plus `_PING_S`."""
_MUCH = 0.5
"""A process that has used more than this share of its scratch folder is not reused."""
_ID_BYTES = 8
"""Random bytes of a question id: 64 bits, so that no bot can answer a question in advance."""
_NUM_IDS = 64
"""Number of question ids that are drawn at once."""


class HostedSeat:
    """Plays with one process, which is started at the first match, reused, and replaced after a fault."""

    def __init__(
        self,
        settings: ProcessSettings,
        *,
        name: str,
        version: str,
        runtime: str = "",
        before_start: Callable[[], None] | None = None,
    ) -> None:
        """Make a seat; no process is started yet.

        Args:
            settings: the settings of its process.
            name: the bot's registered name.
            version: the bot's registered version.
            runtime: the runtime of its code, for the record; empty if unknown.
            before_start: called before each start of a process; exceptions propagate out of `start`.
        """
        self.name = name
        self.version = version
        self.tier = settings.tier
        self.limits = ""
        """How memory and tasks of the last process were limited: `kernel` or `polled`."""
        self.runtime = runtime
        self.deterministic = False
        self.wire = WireLog()
        """The messages of the match that was started last."""
        self.tracer: Tracer | None = None
        """Counts the refused system calls of processes started from now on."""
        self.ponders = False
        """Whether processes started from now on may compute while the opponent thinks."""
        self._settings = settings
        self._before_start = before_start
        self._limits = Limits(
            memory_bytes=settings.resources.memory_bytes, scratch_bytes=settings.resources.scratch_bytes
        )
        self._connection: Connection | None = None
        self._pause = Pause(0, is_allowed=False)
        self._setup: SeatSetup | None = None
        self._wants_board = True
        self._is_busy = False
        self._idle_from = 0.0
        self._ready_s = 0.0
        self._ids = _random_ids()

    @property
    def pid(self) -> int | None:
        """The id of the bot's process and of its process group; None without a process."""
        return None if self._connection is None else self._connection.process.pid

    @property
    def cpu_s(self) -> float:
        """CPU seconds that the bot's process has used."""
        return self._pause.cpu_s()

    @property
    def idle_cpu_s(self) -> float | None:
        """CPU seconds the bot used while it had to wait, as last measured; None if not measured."""
        return self._pause.idle_cpu_s if self._pause.is_measured else None

    def start(self, setup: SeatSetup) -> Forfeit | None:
        """Start a process unless a usable warm one exists, and prepare it for a match."""
        self._setup = setup
        self._is_busy = True
        self.wire.begin()
        warm = self._warm()
        window = AnswerTime(time.monotonic(), setup.init_s * 1000, 0.0, 0.0, suspended_s())
        connection = warm or self._spawn()
        self._pause.begin()
        try:
            if warm is not None and not self._goes_on(warm, setup):
                # A new process has the whole time again: the old one used it up for nothing.
                warm, connection = None, self._spawn()
                window = window._replace(began=time.monotonic())
            if warm is None:
                self._wants_board = (
                    greet(connection, self._limits, window.began + setup.init_s).board is not False
                )
                window = window._replace(began=time.monotonic())
                self._pause.look_around()
                self.deterministic = get_ready(connection, setup, setup.init_s)
                self._ready_s = time.monotonic() - window.began
        except FaultError as error:
            if error.termination is Termination.CRASH:
                error.termination = Termination.INIT_CRASH
            return self._end(connection, error, window)
        self._rest()
        return None

    def ask(self, state: State, num_opening: int, clock: GameClock) -> Answer | Resignation | Forfeit:
        """Ask for an action; `start` must have been called."""
        connection, setup = self._connection, self._setup
        if connection is None or setup is None:
            raise RuntimeError(f"{self.name} was asked for a move before its match was started")
        player = setup.player
        go = Go(
            id=next(self._ids),
            actions=state.history,
            opening=num_opening,
            legal=state.legal_actions,
            clock=clock.to_wire(player),
            board=state.cells if self._wants_board else None,
        )
        limit_ms, allowance_s, lateness = clock.bound(player)
        asleep_s = suspended_s()
        question = Question(go, state, setup.game, setup.news, lateness)
        began, used_s, given_back_s = time.monotonic(), 0.0, 0.0
        self._is_busy = True
        try:
            connection.refuse_leftovers()
            self._refuse_pondering(clock.thought_s(1 - player))
            # Send while the bot is stopped, so it cannot begin before its clock does. What the pipe cannot
            # hold is sent later.
            began = connection.send(go)
            used_s = self._pause.resume()
            deadline = began + allowance_s
            connection.starts_to_use(used_s, deadline, setup.control.margin_ms / 1000)
            message, info = await_reply(connection, question, deadline)
            elapsed_s = connection.received_at - began
            if elapsed_s > allowance_s:
                given_back_s = min(elapsed_s - allowance_s, connection.given_back_s())
                check_time(elapsed_s, allowance_s + given_back_s, lateness)
        except FaultError as error:
            margin_s = setup.control.margin_ms / 1000
            return self._end(connection, error, AnswerTime(began, limit_ms, margin_s, used_s, asleep_s))
        self._rest()
        if isinstance(message, Resign):
            return Resignation(elapsed_s)
        thoughts = read_thoughts(message, info, state, setup.game)
        return Answer(message.action, elapsed_s, thoughts, given_back_s)

    def check(self) -> Forfeit | None:
        """Check that the bot is alive and silent."""
        connection = self._connection
        if connection is None:
            return None
        try:
            connection.refuse_leftovers()
        except FaultError as error:
            return self._end(connection, error, AnswerTime(time.monotonic(), 0.0, 0.0, 0.0, suspended_s()))
        return None

    def check_idle(self, opponent_s: float) -> Forfeit | None:
        """Measure the CPU time that the bot used while it had to wait; in T2 and T3, too much is a fault."""
        connection = self._connection
        if connection is None:
            return None
        try:
            self._refuse_pondering(opponent_s)
        except FaultError as error:
            return self._end(connection, error, AnswerTime(time.monotonic(), 0.0, 0.0, 0.0, suspended_s()))
        return None

    def finish(self, outcome: Outcome, termination: Termination) -> None:
        """Send the end of the match to the bot, if it is alive."""
        connection, setup = self._connection, self._setup
        if connection is None or setup is None:
            return
        over = MatchOver(match=setup.match, outcome=outcome.value, termination=termination.value)
        connection.read_last_stderr()
        try:
            connection.send(over)
        except FaultError:
            self._drop(connection)

    def close(self) -> None:
        """Send `quit` and kill the bot a second later, or kill it at once in the middle of a question."""
        connection = self._connection
        if connection is None:
            return
        grace_s = 0.0 if self._is_busy else _QUIT_S
        self._pause.resume()
        try:
            connection.send(Quit())
        except FaultError:
            grace_s = 0.0
        self._drop(connection, grace_s)

    def _spawn(self) -> Connection:
        if self._before_start is not None:
            self._before_start()
        process = spawn(self._settings, self.tracer)
        self._connection = Connection(process, self._limits, self.wire, cores=self._settings.cores)
        self.limits = process.limits
        self._pause = Pause(process.pid, is_allowed=not self.ponders, leaf=process.leaf)
        self._connection.cpu_s = self._pause.cpu_s
        return self._connection

    def _warm(self) -> Connection | None:
        """Resume and return the process of the previous match, or None if it cannot be reused."""
        connection = self._connection
        if connection is None:
            return None
        try:
            connection.refuse_leftovers()
        except FaultError:
            # Whatever it did after its last match was over must not affect this one.
            self._drop(connection)
            return None
        if connection.process.scratch_excess(_MUCH):
            # The scratch folder is never emptied, and the remaining space might not suffice for a match.
            self._drop(connection)
            return None
        self._pause.resume()
        now = time.monotonic()
        is_fresh = now - self._idle_from < _IDLE_S
        if connection.has_unsent or not (is_fresh or is_awake(connection, now + _PING_S)):
            self._drop(connection)
            return None
        return connection

    def _goes_on(self, warm: Connection, setup: SeatSetup) -> bool:
        """Prepare the process of the previous match; return False if it has exited properly or hangs.

        A process may exit after a match. If it does, it learns of the end of the match only now, when it is
        resumed.

        Raises:
            FaultError: it sent something else, or exited with a code other than 0.
        """
        seconds = min(setup.init_s, _PING_S + _PATIENCE * self._ready_s)
        try:
            self.deterministic = get_ready(warm, setup, seconds)
        except FaultError as error:
            hangs = error.termination is Termination.INIT_TIMEOUT
            crashed = error.termination is Termination.CRASH
            if not hangs and not (crashed and warm.process.kill(_QUIT_S).code == 0):
                raise
            self._drop(warm)
            self._is_busy = True
            self.wire.begin()
            return False
        return True

    def _refuse_pondering(self, opponent_s: float) -> None:
        self._pause.settle()
        # In T1 any bot can avoid being stopped: the time is recorded, but breaks no rule.
        if self.ponders or self.tier < Tier.T2:
            return
        used_s, most_s = self._pause.idle_cpu_s, self._pause.bound_s(opponent_s)
        if used_s > most_s:
            raise FaultError(
                Termination.PONDERING,
                f"it used {used_s * 1000:.0f} ms of CPU while it had to wait, "
                f"of which {most_s * 1000:.0f} ms are tolerated",
            )

    def _rest(self) -> None:
        """Stop the bot until its next turn."""
        self._pause.stop()
        self._is_busy = False
        self._idle_from = time.monotonic()

    def _end(self, connection: Connection, error: FaultError, window: AnswerTime) -> Forfeit:
        elapsed_s = time.monotonic() - window.began
        self._pause.settle()
        detail = evidence(error, self, elapsed_s, window.limit_ms)
        detail["overrun_ms"] = round(max(0.0, elapsed_s * 1000 - window.limit_ms), 3)
        stalled = False
        if error.termination in _EXCUSABLE:
            at_move = error.termination in _TOO_LATE
            # Processes that start compete for the processor, so at a start only a suspended machine is an
            # excuse.
            waited_s, kept_s = (connection.waited_s(), connection.kept_s()) if at_move else (0.0, 0.0)
            most_s = most_given_back_s(window.margin_s)
            stalled = is_stall(
                window_s=elapsed_s,
                asleep_s=suspended_s() - window.asleep_s,
                computed_s=self._pause.cpu_s() - window.cpu_s,
                kept_s=kept_s,
                most_s=most_s,
            )
            detail["queued_ms"] = round(waited_s * 1000, 3)
            detail["given_back_ms"] = round(min(kept_s, most_s) * 1000, 3)
        detail["sched_lag_ms"] = round(connection.lag_s * 1000, 3)
        detail["cpu_ms"] = round(1000 * (self._pause.cpu_s() - window.cpu_s), 3)
        detail["idle_cpu_ms"] = round(self._pause.idle_cpu_s * 1000, 3)
        died = error.termination in _DEATHS
        # All figures of the living process are read by now: once it is reaped, it has none.
        end = connection.process.kill(_DEATH_S if died else 0.0)
        connection.read_last_stderr()
        detail |= {"exit_code": end.code, "signal": end.signal, "max_rss": end.max_rss}
        detail["stderr"] = stderr_text(connection.stderr)
        self._drop(connection)
        # The kernel reports why a process died; without such a report, the memory it used last must do.
        near_limit = (
            self.limits == "polled" and end.max_rss >= _NEARLY_ALL * self._settings.resources.memory_bytes
        )
        starved = died and (end.out_of_memory or near_limit)
        return Forfeit(Termination.OOM if starved else error.termination, detail, stalled)

    def _drop(self, connection: Connection, grace_s: float = 0.0) -> None:
        # First: once a process is reaped, its id may belong to another one.
        self._pause.end()
        connection.process.kill(grace_s)
        connection.close()
        connection.process.close()
        self._connection = None
        self._is_busy = False


def _random_ids() -> Generator[str]:
    """Yield unguessable ids; one system call draws `_NUM_IDS` of them."""
    while True:
        digits = os.urandom(_ID_BYTES * _NUM_IDS).hex()
        # Two hex digits a byte.
        for start in range(0, len(digits), 2 * _ID_BYTES):
            yield digits[start : start + 2 * _ID_BYTES]
