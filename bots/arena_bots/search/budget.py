"""How much a search may use for one answer."""

from __future__ import annotations

import math
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from arena_plugins.contract import Limit

_SHARE = 0.9
"""Part of the allowed time a search takes: the answer has yet to be written, carried and read in time."""
_ANSWERS = 25
"""Answers that what is left of a bank has to do for, as it seems at each of them."""


class Budget(NamedTuple):
    """The bounds of one search; infinite where there is none."""

    nodes: float
    """Nodes (or playouts) the search may visit."""
    deadline: float
    """When it must stop, in seconds of `perf_counter`."""

    @classmethod
    def of(cls, limit: Limit, *, nodes: int | None = None, seconds: float | None = None) -> Budget:
        """Give the tighter of `limit` and a bot's own bounds, the clock starting now."""
        start = perf_counter()
        return cls(
            min(_bound(limit.nodes), _bound(nodes)),
            start + min(_allowed(limit) * _SHARE, _bound(seconds)),
        )

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return perf_counter() >= self.deadline


def _allowed(limit: Limit) -> float:
    """Give the seconds for one answer."""
    if limit.bank is None:
        return _bound(limit.seconds)
    return (limit.seconds or 0.0) + limit.bank / _ANSWERS


def _bound(bound: float | None) -> float:
    return math.inf if bound is None else bound
