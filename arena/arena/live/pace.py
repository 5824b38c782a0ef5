"""Progress and pace of a tournament, computed in one place for terminal lines, viewers and dashboard."""

from __future__ import annotations

from typing import Final

import msgspec

_PATIENCE_S: Final = 5.0
_PATIENCE_RESULTS: Final = 3.0
"""Play counts as stalled if no result came for this many mean intervals, and for `_PATIENCE_S` seconds."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a tournament at one time."""

    done: int
    """Number of matches that need no further attempt."""
    total: int | None
    """Number of matches in all; None while it is unknown."""
    rate: float | None = None
    """Matches per minute; None before two have finished."""
    goal: str = ""
    """Progress towards the tournament's goal, such as LLR and bounds of a sequential test."""
    is_most: bool = False
    """Whether `total` is only an upper bound, as in an undecided sequential test."""
    silent_s: float | None = None
    """Seconds since the last result; None if nothing is played, or before the first result."""

    @property
    def share(self) -> float:
        """Share that is done, 0 to 1; 0 if the total is unknown."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def is_stalled(self) -> bool:
        """Whether no result came for three times the mean interval, and for at least 5 s."""
        if self.silent_s is None or not self.rate:
            return False
        return self.silent_s > max(_PATIENCE_S, _PATIENCE_RESULTS * 60 / self.rate)

    @property
    def eta_s(self) -> float | None:
        """Seconds until all matches are done at this rate; None if unknown, and while play is stalled.

        A sequential test ends when it is decided, so the upper bound on its matches gives no estimate.
        """
        if not self.rate or self.total is None or self.is_most or self.is_stalled:
            return None
        return 60 * max(0, self.total - self.done) / self.rate
