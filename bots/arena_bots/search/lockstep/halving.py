"""Sequential halving: the number of visits of the action that each simulation begins with."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, log2
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DONE = -1
"""No simulation is left."""


@lru_cache(maxsize=1024)
def schedule(considered: int, simulations: int) -> tuple[int, ...]:
    """Return, for each simulation, the current visits of the action to begin with; `[simulations]`.

    The `considered` most promising actions are visited equally often, then the better half of them, and so on
    down to two; each phase gets about the same number of simulations. Source: Danihelka et al. (2022),
    figure 1.
    """
    if considered <= 1:
        return tuple(range(simulations))
    phases = ceil(log2(considered))
    visits, wanted = [0] * considered, list[int]()
    left = considered
    while len(wanted) < simulations:
        for _ in range(max(1, simulations // (phases * left))):
            wanted += visits[:left]
            visits[:left] = [count + 1 for count in visits[:left]]
        left = max(2, left // 2)
    return tuple(wanted[:simulations])


def schedules(considered: NDArray[np.int64], budgets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the schedules of many lanes, padded with DONE; `[lanes, largest budget]`."""
    wanted = np.full((len(budgets), int(budgets.max(initial=0))), DONE, np.int32)
    for lane, (number, budget) in enumerate(zip(considered.tolist(), budgets.tolist(), strict=True)):
        wanted[lane, :budget] = schedule(number, budget)
    return wanted
