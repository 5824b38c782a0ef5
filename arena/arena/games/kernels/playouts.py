"""Random playouts on boards of 64-bit words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.bits import nth_bit, num_bits
from arena.games.kernels.chance import draw
from arena.games.kernels.compiling import kernel
from arena.games.kernels.rules import completing, has_line, landings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout

_ONE = np.uint64(1)


@kernel
def list_landings(occupied: np.uint64, free: NDArray[np.uint64], layout: Layout) -> Int:
    """Write the cells where a stone can land into `free`, one bit each; return their number."""
    cells = landings(occupied, layout)
    count = 0
    # `x & -x` isolates the lowest set bit, `x & (x - 1)` clears it.
    while cells:
        free[count] = cells & (~cells + _ONE)
        cells &= cells - _ONE
        count += 1
    return count


@kernel
def uniform_playout(
    own: np.uint64, opp: np.uint64, layout: Layout, free: NDArray[np.uint64], chance: NDArray[np.uint64]
) -> Int:
    """Play to the end with all actions equally likely; return the result for `own`: 1, 0 or -1.

    `own` is to move. `free` is scratch space for `[num_actions]` cells.
    """
    # Listed once and then maintained: a ply changes one entry, while listing costs a step for each legal
    # action.
    count = list_landings(own | opp, free, layout)
    state = chance[0]
    sign = 1
    while count:
        state, index = draw(state, count)
        bit = free[index]
        own |= bit
        if has_line(own, layout):
            chance[0] = state
            return sign
        if bit & layout.closing:
            count -= 1
            free[index] = free[count]
        else:
            # Only a column with gravity has another cell, and it is the next higher bit.
            free[index] = bit << _ONE
        own, opp, sign = opp, own, -sign
    chance[0] = state
    return 0


@kernel
def tactical_playout(own: np.uint64, opp: np.uint64, layout: Layout, chance: NDArray[np.uint64]) -> Int:
    """Play to the end at random, except where one ply decides; return the result for `own`: 1, 0 or -1.

    `own` is to move. A player wins if it can, parries a threat, and makes no move that lets the opponent win.
    The playout ends as soon as the result is certain: an immediate win, two threats to parry, or only moves
    that let the opponent win.
    """
    mine, theirs = completing(own, layout), completing(opp, layout)
    state = chance[0]
    sign = 1
    while True:
        cells = landings(own | opp, layout)
        if mine & cells:
            break
        if not cells:
            sign = 0
            break
        forced = theirs & cells
        if forced:
            # More than one bit is set: the opponent has two threats, and only one can be parried.
            if forced & (forced - _ONE):
                sign = -sign
                break
            cells = forced
        if layout.gravity:
            # A stone directly below a threat lets the opponent complete it.
            cells &= ~(theirs >> _ONE)
            if not cells:
                sign = -sign
                break
        state, index = draw(state, num_bits(cells))
        own |= nth_bit(cells, index)
        # Only the mover's threats are computed again. A stone creates none for the other side, and `& cells`
        # above ignores threats whose cell it took.
        own, opp, mine, theirs, sign = opp, own, theirs, completing(own, layout), -sign
    chance[0] = state
    return sign
