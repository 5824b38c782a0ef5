"""How far an event is and how fast it goes on: one computation for lines, viewers and the dashboard."""

from __future__ import annotations

from typing import Final

import msgspec

_PATIENCE_S: Final = 5.0
_PATIENCE_RESULTS: Final = 3.0
"""Play has stalled after so many mean times between two results, and `_PATIENCE_S`, without one."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where an event stands at one moment."""

    done: int
    """Matches that need no more play."""
    total: int | None
    """Matches in all; None where nobody can know yet."""
    rate: float | None = None
    """Matches per minute; None before two have finished."""
    goal: str = ""
    """How far it is on the way to what it is held for: of a sequential test LLR and bounds."""
    is_most: bool = False
    """Whether `total` is only the most there can be, as of a sequential test that is not decided."""
    silent_s: float | None = None
    """Seconds since the last result; None where nobody plays, or before the first."""

    @property
    def share(self) -> float:
        """What part is done, 0 to 1; 0 where nobody knows of how many."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def is_stalled(self) -> bool:
        """Whether no result has come for three times as long as usual, and for 5 s at least."""
        if self.silent_s is None or not self.rate:
            return False
        return self.silent_s > max(_PATIENCE_S, _PATIENCE_RESULTS * 60 / self.rate)

    @property
    def eta_s(self) -> float | None:
        """Seconds until all are done at this rate; None where nobody knows, and while play has stalled.

        A sequential test ends when it is decided: the most matches there can be say nothing of that.
        """
        if not self.rate or self.total is None or self.is_most or self.is_stalled:
            return None
        return 60 * max(0, self.total - self.done) / self.rate
