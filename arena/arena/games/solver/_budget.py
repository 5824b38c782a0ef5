"""Search budgets: runs kernels in turns of limited length, so that callers can stop a search between two."""

from __future__ import annotations

import math
from time import perf_counter
from typing import TYPE_CHECKING

from arena.games.solver._counters import BUDGET, NODES

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

_FIRST = 1_000_000
"""Nodes of the first turn, about a twentieth of a second."""
_GROWTH = 1.25
"""Ratio of a turn's nodes to those of the turn before. A turn continues the search only from its table,
so turns of constant length might never finish it."""
_PACE = 200_000
"""Nodes per second that any machine reaches; with a deadline, the first turn measures the real speed."""
_SHARE = 0.5
"""Maximum share of the remaining time for one turn, so that a machine that slows down is still in time."""
# Seconds; avoids a division by zero when a turn is shorter than the resolution of the clock.
_TICK = 1e-6
LEAST = 1_000
"""Minimum nodes of a turn, however little time remains."""


class Meter:
    """Runs kernels in turns until a budget of nodes or seconds is used up."""

    def __init__(self, memory: NDArray[np.int64], nodes: float, seconds: float) -> None:
        self._memory = memory
        self._begin = int(memory[NODES])
        self._nodes = nodes
        self._deadline = perf_counter() + seconds
        self._pace = float(_PACE)
        self._turn = float(_FIRST)

    @property
    def nodes(self) -> int:
        """Nodes used so far."""
        return int(self._memory[NODES]) - self._begin

    def run(
        self, kernel: Callable[[], bool], on_turn: Callable[[], None] | None, *, until: float = math.inf
    ) -> bool:
        """Call `kernel` until it returns True; return False if the budget ends before that.

        Args:
            kernel: searches up to the node count in `BUDGET`; another call continues the search.
            on_turn: called between two calls.
            until: this call also ends when `nodes` reaches this number.
        """
        limit = min(self._nodes, until)
        while True:
            begin, done = perf_counter(), self.nodes
            turn = min(self._turn, limit - done)
            if self._deadline < math.inf:
                left = self._deadline - begin
                # A kernel cannot look at the clock, so the deadline is turned into nodes, at the pace of the
                # last turn.
                turn = min(turn, max(left * self._pace * _SHARE, LEAST) if left > 0 else 0)
            self._memory[BUDGET] = self._memory[NODES] + max(int(turn), 0)
            # Also without any budget: the bounds of a position may be known without a search.
            if kernel():
                return True
            self._pace = (self.nodes - done) / max(perf_counter() - begin, _TICK)
            if turn <= 0 or self.nodes >= limit:
                return False
            self._turn *= _GROWTH
            if on_turn is not None:
                on_turn()
