"""How much a search may use for one answer."""

from __future__ import annotations

import math
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena_plugins.contract import Limit

_SHARE = 0.9
"""Part of the allowed time a search takes: the answer has yet to be written, carried and read in time."""
_LAST = 1.05
"""What follows the search, such as a check of the choice, ends at this multiple of the search's time."""
_LOOKS_LEFT = 2
"""As many of the longest times between two looks at the clock must be left."""
_ANSWERS = 25
"""Answers that what is left of a bank has to do for, as it seems at each of them."""


class Budget:
    """The bounds of one search; infinite where there is none."""

    __slots__ = ("_end", "_longest", "_looked", "deadline", "last", "nodes")

    def __init__(
        self, nodes: float, deadline: float, *, last: float = math.inf, end: float = math.inf
    ) -> None:
        """Set the bounds; times are seconds of `perf_counter`.

        Args:
            nodes: nodes (or playouts) the search may visit.
            deadline: when it must stop.
            last: when the answer must be chosen, what is done with the result of the search included.
            end: when the answer must have arrived.
        """
        self.nodes = nodes
        self.deadline = deadline
        self.last = last
        self._end = end
        self._looked = perf_counter()
        self._longest = 0.0

    @classmethod
    def of(cls, limit: Limit, *, nodes: int | None = None, seconds: float | None = None) -> Budget:
        """Return the tighter of `limit` and a bot's own bounds, the clock starting now."""
        start = perf_counter()
        allowed = _allowed(limit)
        searched = min(allowed * _SHARE, _bound(seconds))
        return cls(
            min(_bound(limit.nodes), _bound(nodes)),
            start + searched,
            last=start + searched * _LAST,
            end=start + allowed,
        )

    @property
    def is_late(self) -> bool:
        """Whether the search must stop, also because the answer might come too late otherwise.

        On a crowded machine a process waits for its turn, and rules may be slow: the longest time between two
        looks shows it. The search must stop where another such time, and one for the answer, may not be left.
        """
        now = perf_counter()
        self._longest = max(self._longest, now - self._looked)
        self._looked = now
        return now >= self.deadline or now + _LOOKS_LEFT * self._longest >= self._end


def _allowed(limit: Limit) -> float:
    """Give the seconds for one answer."""
    if limit.bank is None:
        return _bound(limit.seconds)
    return (limit.seconds or 0.0) + limit.bank / _ANSWERS


def _bound(bound: float | None) -> float:
    return math.inf if bound is None else bound
