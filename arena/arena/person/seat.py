"""The seat of a person: it answers the referee with the person's commands."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from arena.person.session_config import PERSON
from arena.referee.seats import Answer, Forfeit, Resignation
from arena.referee.verdict import FaultError, evidence
from arena.sandbox.tier import Tier
from arena_plugins import Termination
from arena_plugins.thoughts import UNSAID

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.person.session_commands import SessionCommands
    from arena.referee.clock import GameClock
    from arena.referee.seats import SeatSetup
    from arena_plugins import Outcome, State

_TICK_S = 0.1
"""Seconds between two checks whether the match must end."""


class PersonSeat:
    """Seat of a person. The screen already shows the question, so the seat only waits for a command."""

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
