"""How long a solver may search, and when it comes up for air."""

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
"""Nodes until the clock is looked at; a twentieth of a second."""
_GROWTH = 1.25
"""What a search did before it was interrupted stands in its tables; longer turns make sure it ends."""
_PACE = 200_000
"""Nodes a second that every machine does; the first turn under a deadline shows how many this one does."""
_SHARE = 0.5
"""Part of the time left that a turn may take, so that a machine that slows down is still in time."""
_TICK = 1e-6
LEAST = 1_000
"""Nodes of a turn, however little time is left."""


class Meter:
    """Lets kernels search in turns, until nodes or seconds are used up."""

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
        """Call `kernel` until it says that it is done; False if the budget ends before.

        Args:
            kernel: searches until `BUDGET` at most; called again, it goes on.
            on_turn: called between two calls.
            until: the budget of this call ends where `nodes` reaches so many.
        """
        limit = min(self._nodes, until)
        while True:
            begin, done = perf_counter(), self.nodes
            turn = min(self._turn, limit - done)
            if self._deadline < math.inf:
                left = self._deadline - begin
                turn = min(turn, max(left * self._pace * _SHARE, LEAST) if left > 0 else 0)
            self._memory[BUDGET] = self._memory[NODES] + max(int(turn), 0)
            if kernel():
                return True
            self._pace = (self.nodes - done) / max(perf_counter() - begin, _TICK)
            if turn <= 0 or self.nodes >= limit:
                return False
            self._turn *= _GROWTH
            if on_turn is not None:
                on_turn()
