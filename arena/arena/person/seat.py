"""The seat of a person: it answers with what was ordered at the board."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from arena.person.config import PERSON
from arena.referee.seats import Answer, Fault, Resignation, Thoughts
from arena.referee.verdict import FaultError, evidence
from arena.sandbox.tier import Tier
from arena_plugins import Termination

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.person.desk import Desk
    from arena.referee.clock import GameClock
    from arena.referee.seats import SeatSetup
    from arena_plugins import Outcome, State

_TICK_S = 0.1
"""Seconds between two looks whether the match is to end."""


class PersonSeat:
    """The place of a person; what it is asked stands on the screen already, so it only waits."""

    name = PERSON
    version = ""
    tier = max(Tier)
    """People are no danger: how the match was isolated is for the bot's seat to say."""
    deterministic = False
    limits = ""
    runtime = ""
    idle_cpu_s = None

    def __init__(self, desk: Desk, give_hint: Callable[[State, int], None]) -> None:
        """Take its desk.

        Args:
            desk: where orders come from.
            give_hint: called as `give_hint(state, command)` when a person asks for a hint.
        """
        self._desk = desk
        self._give_hint = give_hint
        self._player = 0

    def start(self, setup: SeatSetup) -> Fault | None:
        """Remember the side."""
        self._player = setup.player

    def ask(self, state: State, num_opening: int, clock: GameClock) -> Answer | Resignation | Fault:
        """Wait for a move, or for a resignation; a match that is taken back ends as `aborted`."""
        del num_opening
        limit_ms, allowance_s, lateness = clock.bound(self._player)
        began = time.monotonic()
        self._desk.turn(state)
        while (elapsed_s := time.monotonic() - began) <= allowance_s:
            if self._desk.must_end:
                return Fault(Termination.ABORTED, {})
            order = self._desk.next_order(min(_TICK_S, allowance_s - elapsed_s))
            if order is None:
                continue
            if order.kind == "hint":
                self._give_hint(state, order.command)
            elif order.kind == "resign":
                return Resignation(order.t - began)
            else:
                self._desk.moved(order.action)
                return Answer(order.action, max(0.0, order.t - began), Thoughts())
        late = FaultError(lateness, "no move came in time")
        return Fault(lateness, evidence(late, self, elapsed_s, limit_ms))

    def check(self) -> Fault | None:
        """A person is always in order."""

    def check_idle(self, opponent_s: float) -> Fault | None:
        """A person may think while the opponent does."""

    def finish(self, outcome: Outcome, termination: Termination) -> None:
        """Accept no further move; the screen tells people of the end."""
        del outcome, termination
        self._desk.over()

    def close(self) -> None:
        """Accept no further move; there is no process to end."""
        self._desk.over()
