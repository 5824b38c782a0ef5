"""What stops a run: signals, commands from other shells, the clock, the loss of its lease or its store."""

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
    from arena_db.records import CommandRecord, TournamentRecord
    from arena_db.store import Store

_COMMAND_S = 0.5
"""Seconds between two looks for commands."""
_AT_BOARD_S = 0.03
"""The same where a person plays: a click is seen at once."""
_ANSWERS: dict[type[Command], str] = {
    StopRun: "no new match begins; running ones end and are stored",
    AbortRun: "running matches end at once; resuming plays them again",
    PauseRun: "no new match begins until it is resumed; running ones end and are stored",
    ResumeRun: "matches begin again",
}
"""The answer to each command that a run takes."""


class Order(NamedTuple):
    """To begin no further match."""

    reason: str
    """Why, in words."""
    now: bool = False
    """Whether running matches end at once."""


class CommandTaker(Protocol):
    """Takes the commands of a person who plays."""

    def hear(self, row: CommandRecord) -> str | None:
        """Obey a command; return the answer, or None where it comes later."""
        ...


class Orders:
    """Gathers what is asked of a run."""

    def __init__(  # noqa: PLR0913 - one argument for each who may order, and two for what they need
        self,
        store: Store,
        tournament: TournamentRecord,
        lease: Lease,
        signals: StopSignals,
        *,
        say: Callable[[str], None],
        max_time: float | None = None,
        board: CommandTaker | None = None,
    ) -> None:
        """Start the clock; what was asked before is out of date.

        Args:
            store: where people leave commands.
            tournament: the one that is run.
            lease: of that tournament; once it is lost, or its store, the run must end.
            signals: what this process was sent.
            say: told once how to stop at once.
            max_time: seconds after which no new match begins.
            board: answers all commands where a person plays; None for a run of bots.
        """
        self.is_paused = False
        """Whether no new match is to begin for now."""
        self._store = store
        self._tournament = tournament
        self._lease = lease
        self._signals = signals
        self._say = say
        self._max_time = max_time
        self._board = board
        self._began = self._next_look = time.monotonic()
        self._has_said = False
        for command in store.take_commands(tournament.id):
            store.answer(command.id, "sent before this run began")

    def poll(self) -> Order | None:
        """Return the strongest order there is, if any; cheap enough for every move.

        Raises:
            LeaseLostError: another process has taken over the tournament.
            MovedError: the file of the store was removed, moved or replaced.
        """
        wishes = {self._signals.wish, *map(kind_of, self._commands())}
        # Whoever ends the process of a person's match does not wait until the person has moved.
        if "abort" in wishes or (self._board is not None and self._signals.wish):
            return Order("running matches were ended", now=True)
        if "stop" in wishes:
            self._explain()
            return Order("stopped on request")
        if self._max_time is not None and time.monotonic() - self._began >= self._max_time:
            return Order(f"--max-time {self._max_time:g} is over")
        return None

    def _commands(self) -> list[Command]:
        """Return the commands that came since the last look, all of them answered."""
        now = time.monotonic()
        if now < self._next_look:
            return []
        self._next_look = now + (_COMMAND_S if self._board is None else _AT_BOARD_S)
        self._lease.check()
        rows: list[CommandRecord] = []
        # While the store is locked commands wait in it.
        with suppress(LockedError):
            rows = self._store.take_commands(self._tournament.id)
        taken: list[Command] = []
        for row in rows:
            command = read_command(row)
            if command is not None:
                taken.append(command)
            answer = self._obey(row, command) if self._board is None else self._board.hear(row)
            if answer is not None:
                with suppress(LockedError):
                    self._store.answer(row.id, answer)
        return taken

    def _obey(self, row: CommandRecord, command: Command | None) -> str:
        """Obey a command to a run of bots; return the answer."""
        if isinstance(command, PauseRun | ResumeRun):
            self.is_paused = isinstance(command, PauseRun)
        answer = None if command is None else _ANSWERS.get(type(command))
        return answer or f"this run does not accept {row.kind}"

    def _explain(self) -> None:
        if not self._has_said:
            self._has_said = True
            self._say("stopping: running matches end and are stored; Ctrl-C again ends them now")
