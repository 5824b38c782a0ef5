"""Matches played to the end by chance, on words of 64 bits."""

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
    """Write the cells where a stone can land into `free`, a bit each; give their number."""
    cells = landings(occupied, layout)
    count = 0
    while cells:
        free[count] = cells & (~cells + _ONE)
        cells &= cells - _ONE
        count += 1
    return count


@kernel
def uniform_playout(
    own: np.uint64, opp: np.uint64, layout: Layout, free: NDArray[np.uint64], chance: NDArray[np.uint64]
) -> Int:
    """Play on with all actions equally likely; give the result for `own`, who is to move: 1, 0 or -1.

    `free` is room for `[num_actions]` cells.
    """
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
            # Only a column with gravity has a next cell, and that is the next bit.
            free[index] = bit << _ONE
        own, opp, sign = opp, own, -sign
    chance[0] = state
    return 0


@kernel
def tactical_playout(own: np.uint64, opp: np.uint64, layout: Layout, chance: NDArray[np.uint64]) -> Int:
    """Play on at random, but win, parry a threat, and leave no win, wherever one ply decides; else as above.

    Where two plies decide the match the result is given at once: a win now, two threats to parry, or none
    but actions that let the opponent win.
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
            if forced & (forced - _ONE):
                sign = -sign
                break
            cells = forced
        if layout.gravity:
            cells &= ~(theirs >> _ONE)
            if not cells:
                sign = -sign
                break
        state, index = draw(state, num_bits(cells))
        own |= nth_bit(cells, index)
        own, opp, mine, theirs, sign = opp, own, theirs, completing(own, layout), -sign
    chance[0] = state
    return sign
