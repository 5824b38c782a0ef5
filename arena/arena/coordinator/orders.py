"""Orders to stop a run: signals, commands from other processes, the clock, loss of its lease or store."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from arena.coordinator.commands import (
    AbortRun,
    Command,
    PauseRun,
    ResumeRun,
    StopRun,
    kind_of,
    read_command,
)
from arena_db.errors import LockedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.lease import Lease
    from arena.coordinator.stop import StopSignals
    from arena_db.records import CommandRecord

_COMMAND_S = 0.5
"""Seconds between two polls for commands."""
_AT_BOARD_S = 0.03
"""Seconds between two polls while a person plays, who should not notice a delay."""
_ANSWERS: dict[type[Command], str] = {
    StopRun: "no new match begins; running ones end and are stored",
    AbortRun: "running matches end at once; resuming plays them again",
    PauseRun: "no new match begins until it is resumed; running ones end and are stored",
    ResumeRun: "matches begin again",
}
"""The answer to each command that a run accepts."""


class StopOrder(NamedTuple):
    """An order to begin no further match."""

    reason: str
    """The reason as a clause that may follow a colon: `a stop was requested`."""
    now: bool = False
    """Whether running matches end at once."""


class CommandTaker(Protocol):
    """Handles the commands of a person who plays."""

    def hear(self, row: CommandRecord) -> str | None:
        """Execute a command; return the answer, or None if it follows later."""
        ...


class Orders:
    """Collects the orders to a run."""

    def __init__(
        self,
        lease: Lease,
        signals: StopSignals,
        *,
        say: Callable[[str], None],
        max_time: float | None = None,
        board: CommandTaker | None = None,
    ) -> None:
        """Start the clock; commands left earlier are answered as outdated.

        Args:
            lease: claimed lease of the running tournament, whose store contains the commands; once the lease
                or the store is lost, the run must end.
            signals: signals that this process received.
            say: called once with a text about how to stop at once.
            max_time: seconds after which no new match begins.
            board: answers all commands while a person plays; None in a run of bots.
        """
        self.is_paused = False
        """Whether no new match may begin for now."""
        self._lease = lease
        self._store = lease.store
        self._signals = signals
        self._say = say
        self._max_time = max_time
        self._board = board
        self._began = self._next_look = time.monotonic()
        self._has_said = False
        # A stop left for an earlier run must not end this one.
        for command in self._store.commands.take(lease.tournament.id):
            self._store.commands.answer(command.id, "sent before this run began")

    def poll(self) -> StopOrder | None:
        """Return the strongest pending order, if any; cheap enough for every move.

        Raises:
            LeaseLostError: another process has taken over the tournament.
            MovedError: the file of the store was removed, moved or replaced.
        """
        # Abort is stronger than stop, and a stop is stronger than the time limit.
        requests = {self._signals.request, *map(kind_of, self._commands())}
        # A signal to the process of a person's match must not wait until the person has moved.
        if "abort" in requests or (self._board is not None and self._signals.request):
            return StopOrder("an immediate stop was requested", now=True)
        if "stop" in requests:
            self._explain()
            return StopOrder("a stop was requested")
        if self._max_time is not None and time.monotonic() - self._began >= self._max_time:
            return StopOrder(f"--max-time {self._max_time:g} is over")
        return None

    def _commands(self) -> list[Command]:
        """Return the commands that arrived since the last poll, all of them answered."""
        now = time.monotonic()
        if now < self._next_look:
            return []
        self._next_look = now + (_COMMAND_S if self._board is None else _AT_BOARD_S)
        # At every poll, so that a run that has lost its lease ends even while it has nothing to store.
        self._lease.check()
        rows: list[CommandRecord] = []
        # While the store is locked, commands wait in it.
        with suppress(LockedError):
            # Taken and answered in two transactions: if this process ends in between, the sender waits in
            # vain, but no command is obeyed twice.
            rows = self._store.commands.take(self._lease.tournament.id)
        taken: list[Command] = []
        for row in rows:
            command = read_command(row)
            if command is not None:
                taken.append(command)
            answer = self._obey(row, command) if self._board is None else self._board.hear(row)
            if answer is not None:
                with suppress(LockedError):
                    self._store.commands.answer(row.id, answer)
        return taken

    def _obey(self, row: CommandRecord, command: Command | None) -> str:
        """Execute a command to a run of bots; return the answer."""
        if isinstance(command, PauseRun | ResumeRun):
            self.is_paused = isinstance(command, PauseRun)
        answer = None if command is None else _ANSWERS.get(type(command))
        return answer or f"this run does not accept {row.kind}"

    def _explain(self) -> None:
        if not self._has_said:
            self._has_said = True
            self._say("stopping: running matches end and are stored; Ctrl-C again ends them now")
