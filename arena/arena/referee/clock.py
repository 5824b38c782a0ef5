"""The clocks of both players during a match."""

from __future__ import annotations

from typing import NamedTuple

from arena.referee.timecontrol import TimeControl
from arena_plugins.contract import Termination
from arena_plugins.wire import Clock

__all__ = ["Bound", "GameClock", "TimeControl"]


class Bound(NamedTuple):
    """The time limits of one answer."""

    limit_ms: float
    """Time limit in milliseconds, without the margin; may be negative."""
    allowance_s: float
    """Seconds from the question after which the answer is too late, margin included."""
    lateness: Termination
    """The termination of a match whose bot answers too late."""


class GameClock:
    """The remaining time of both players, each under its own time control."""

    def __init__(self, controls: tuple[TimeControl, TimeControl]) -> None:
        self._controls = controls
        first, second = controls
        left_ms = _start_ms(first)
        self._left_ms = [left_ms, left_ms if second is first else _start_ms(second)]
        self._num_moves = [0, 0]
        self._thought_s = [0.0, 0.0]
        # Caches, valid until a clock changes; with a limit per move a clock never changes.
        self._shown: list[Clock | None] = [None, None]
        self._bounds: list[Bound | None] = [None, None]

    def remaining_ms(self, player: int) -> int:
        """Return the milliseconds on the player's clock, never below 0: `move_ms`, the clock, or the bank."""
        return max(0, int(self._left_ms[player]))

    def to_wire(self, player: int) -> Clock:
        """Return the field `clock` of the player's `go` message."""
        shown = self._shown[player]
        if shown is None:
            shown = Clock(you_ms=self.remaining_ms(player), opp_ms=self.remaining_ms(1 - player))
            self._shown[player] = shown
        return shown

    def bound(self, player: int) -> Bound:
        """Return the time limits of the player's next answer."""
        bound = self._bounds[player]
        if bound is None:
            bound = Bound(self.limit_ms(player), self.allowance_s(player), self.lateness(player))
            self._bounds[player] = bound
        return bound

    def limit_ms(self, player: int) -> float:
        """Return the player's time for the next answer in milliseconds, without margin; may be negative."""
        control = self._controls[player]
        if control.mode == "bank":
            return control.move_ms + self._left_ms[player]
        return min(control.move_ms, self._left_ms[player])

    def allowance_s(self, player: int) -> float:
        """Return the seconds after the question at which the next answer is too late, margin included."""
        return (self.limit_ms(player) + self._controls[player].margin_ms) / 1000

    def lateness(self, player: int) -> Termination:
        """Return the termination of the match if the player's next answer is too late."""
        control = self._controls[player]
        by_move = control.mode != "bank" and control.move_ms <= self._left_ms[player]
        return Termination.TIME_MOVE if by_move else Termination.TIME_GAME

    def thought_s(self, player: int) -> float:
        """Return the total seconds of the answers that were charged to the player."""
        return self._thought_s[player]

    def charge(self, player: int, elapsed_s: float) -> None:
        """Subtract the time of an answer from the player's clock, then add the increment."""
        self._thought_s[player] += elapsed_s
        control = self._controls[player]
        if control.mode == "move":
            return
        elapsed_ms = elapsed_s * 1000
        self._shown = [None, None]
        self._bounds[player] = None
        if control.mode == "bank":
            self._left_ms[player] -= max(0.0, elapsed_ms - control.move_ms)
        else:
            self._num_moves[player] += 1
            period_over = control.moves is not None and self._num_moves[player] % control.moves == 0
            self._left_ms[player] += control.inc_ms - elapsed_ms + (control.base_ms if period_over else 0)


def _start_ms(control: TimeControl) -> float:
    return float(control.move_ms if control.mode == "move" else control.base_ms)
