"""What is known of a position without a net: ends, wins and losses at hand, and the last empty cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.bits import num_bits
from arena.games.kernels.compiling import inline_kernel, kernel
from arena.games.kernels.rules import completing, has_line, landings
from arena_bots.search.lockstep.forest import DRAW, LOSS, UNKNOWN, WIN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_SPENT, _OPEN = 9, 8
"""No results: the budget is used up, and there is none yet."""
_OWN, _OPP, _CELLS, _BEST = range(4)
"""Of a frame: the position, what is yet to be tried, and the best result so far, plus 1."""
FRAMES = 64
"""No match has more plies."""
ENDING_NODES = 20_000
"""Positions the solver looks at for one node: a few milliseconds at worst; most take a hundredth of it."""


@inline_kernel
def sensible(own: np.uint64, opp: np.uint64, layout: Layout) -> np.uint64:
    """Give the cells to consider, where `own` cannot win at once: parries, and none that hands over a win.

    None where all lose to the opponent's next stone.
    """
    cells, dangers = landings(own | opp, layout), completing(opp, layout)
    forced = cells & dangers
    if forced:
        cells = _ZERO if forced & (forced - _ONE) else forced
    return cells & ~(dangers >> _ONE) if layout.gravity else cells


@inline_kernel
def known(own: np.uint64, opp: np.uint64, layout: Layout) -> Int:
    """Give what is seen at once, for `own`, who is to move."""
    cells = landings(own | opp, layout)
    if has_line(opp, layout):
        return LOSS
    if not cells:
        return DRAW
    if completing(own, layout) & cells:
        return WIN
    return UNKNOWN if sensible(own, opp, layout) else LOSS


@kernel
def ending(own: np.uint64, opp: np.uint64, layout: Layout, frames: NDArray[np.uint64]) -> Int:
    """Give 1, 0 or -1 for `own` by playing on to the end, where nothing is known at once; _SPENT if too long.

    Alpha-beta, with a frame for each ply in place of a call: `frames` is room for `[FRAMES, 4]`.
    """
    depth, value = -1, _OPEN
    for _ in range(ENDING_NODES):
        cells = landings(own | opp, layout)
        if not cells:
            value = 0
        elif completing(own, layout) & cells:
            value = 1
        else:
            depth += 1
            frames[depth, _OWN], frames[depth, _OPP] = own, opp
            frames[depth, _CELLS] = sensible(own, opp, layout)
            # What the mover has for certain elsewhere, two plies before, it need not look for here.
            frames[depth, _BEST] = frames[depth - 2, _BEST] if depth > 1 else _ZERO
        while True:
            if value != _OPEN:
                frames[depth, _BEST] = max(frames[depth, _BEST], np.uint64(1 - value))
                value = _OPEN
            cells, best = frames[depth, _CELLS], frames[depth, _BEST]
            bound = _TWO - frames[depth - 1, _BEST] if depth else _TWO
            if cells and best < bound:
                break
            value = np.int64(best) - 1
            depth -= 1
            if depth < 0:
                return value
        stone = cells & (~cells + _ONE)
        frames[depth, _CELLS] = cells ^ stone
        own, opp = frames[depth, _OPP], frames[depth, _OWN] | stone
    return _SPENT


@inline_kernel
def solved(own: np.uint64, opp: np.uint64, layout: Layout, most: Int, frames: NDArray[np.uint64]) -> Int:
    """Give what `known` does, and where at most `most` cells are empty what play to the end gives.

    UNKNOWN where that takes more than `ENDING_NODES`; `frames` is room for `[FRAMES, 4]`.
    """
    proof = known(own, opp, layout)
    if proof != UNKNOWN or layout.max_length - num_bits(own | opp) > most:
        return proof
    result = ending(own, opp, layout, frames)
    return UNKNOWN if result == _SPENT else DRAW - result
