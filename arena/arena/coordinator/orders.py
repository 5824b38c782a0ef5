"""What stops a run: signals, commands from other shells, the clock, the loss of its lease or its store."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.lease import Lease
    from arena.coordinator.stop import StopSignals
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_COMMAND_S = 0.5
"""Seconds between two looks for commands."""
_ANSWERS = {
    "stop": "no new match begins; running ones end and are stored",
    "abort": "running matches end at once; resuming plays them again",
    "pause": "no new match begins until it goes on; running ones end and are stored",
    "resume": "matches begin again",
}
"""What is said to whoever asked, by kind of command."""


class Order(NamedTuple):
    """To begin no further match."""

    reason: str
    """Why, in words."""
    now: bool = False
    """Whether running matches end at once."""


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
    ) -> None:
        """Start the clock; what was asked before is out of date.

        Args:
            store: where people leave commands.
            tournament: the one that is run.
            lease: of that tournament; once it is lost, or its store, the run must end.
            signals: what this process was sent.
            say: told once how to stop at once.
            max_time: seconds after which no new match begins.
        """
        self.is_paused = False
        """Whether no new match is to begin for now."""
        self._store = store
        self._tournament = tournament
        self._lease = lease
        self._signals = signals
        self._say = say
        self._max_time = max_time
        self._began = self._next_look = time.monotonic()
        self._has_said = False
        for command in store.take_commands(tournament.id):
            store.answer(command.id, "asked before this run began")

    def poll(self) -> Order | None:
        """Return the strongest order there is, if any; cheap enough for every move.

        Raises:
            LeaseLostError: another process has taken over the tournament.
            MovedError: the file of the store was removed, moved or replaced.
        """
        wishes = {self._signals.wish, *self._commands()}
        if "abort" in wishes:
            return Order("running matches were ended", now=True)
        if "stop" in wishes:
            self._explain()
            return Order("stopped on request")
        if self._max_time is not None and time.monotonic() - self._began >= self._max_time:
            return Order(f"--max-time {self._max_time:g} is over")
        return None

    def _commands(self) -> list[str]:
        """Give the kinds of the commands that came since the last look, all of them answered."""
        now = time.monotonic()
        if now < self._next_look:
            return []
        self._next_look = now + _COMMAND_S
        self._lease.check()
        taken = self._store.take_commands(self._tournament.id)
        for command in taken:
            self._store.answer(command.id, _ANSWERS.get(command.kind, f"this run takes no {command.kind}"))
            if command.kind in ("pause", "resume"):
                self.is_paused = command.kind == "pause"
        return [command.kind for command in taken]

    def _explain(self) -> None:
        if not self._has_said:
            self._has_said = True
            self._say("stopping: running matches end and are stored; Ctrl-C again ends them now")
