"""The budget of a search for one answer: nodes and time."""

from __future__ import annotations

import math
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena_plugins.contract import Limit

_SHARE = 0.9
"""Share of the allowed time that a search uses; the rest is for writing, sending and reading the answer."""
_LAST = 1.05
"""Work after the search, such as a check of the choice, must end by this multiple of the search's time."""
_LOOKS_LEFT = 2
"""The search stops when less than this many times the longest interval between clock reads is left."""
_ANSWERS = 25
"""Number of answers that the rest of a bank is assumed to have to last for."""


class Budget:
    """The limits of one search; infinite where there is no limit."""

    __slots__ = ("_end", "_longest", "_looked", "deadline", "last", "nodes")

    def __init__(
        self, nodes: float, deadline: float, *, last: float = math.inf, end: float = math.inf
    ) -> None:
        """Set the limits; times are in seconds of `perf_counter`.

        Args:
            nodes: maximum number of nodes (or playouts) that the search may visit.
            deadline: time at which the search must stop.
            last: time at which the answer must be chosen, after any work that follows the search.
            end: time at which the answer must have arrived.
        """
        self.nodes = nodes
        self.deadline = deadline
        self.last = last
        self._end = end
        self._looked = perf_counter()
        self._longest = 0.0

    @classmethod
    def of(cls, limit: Limit, *, nodes: int | None = None, seconds: float | None = None) -> Budget:
        """Return the tighter of `limit` and the bot's own limits; the clock starts now."""
        start = perf_counter()
        allowed = _allowed(limit)
        # Only the limit of the match needs a reserve; the arena does not check a bot's own limit.
        searched = min(allowed * _SHARE, _bound(seconds))
        return cls(
            min(_bound(limit.nodes), _bound(nodes)),
            start + searched,
            last=start + searched * _LAST,
            end=start + allowed,
        )

    @property
    def is_late(self) -> bool:
        """Whether the search must stop, including the risk that the answer would come too late.

        On a busy machine a process waits to be scheduled, and rules may be slow; the longest interval between
        two reads of the clock measures both. The search stops when there may not be time for another such
        interval and one for the answer.
        """
        now = perf_counter()
        self._longest = max(self._longest, now - self._looked)
        self._looked = now
        return now >= self.deadline or now + _LOOKS_LEFT * self._longest >= self._end


def _allowed(limit: Limit) -> float:
    """Return the number of seconds for one answer."""
    if limit.bank is None:
        return _bound(limit.seconds)
    # An equal share of what is left, so the bank shrinks but never runs out.
    return (limit.seconds or 0.0) + limit.bank / _ANSWERS


def _bound(bound: float | None) -> float:
    return math.inf if bound is None else bound
