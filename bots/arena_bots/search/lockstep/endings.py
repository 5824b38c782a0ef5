"""Exact knowledge without a network: terminal positions, immediate wins and losses, and solved endings."""

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
"""Values that are not results: the budget is exhausted, and no result yet."""
_OWN, _OPP, _CELLS, _BEST = range(4)
"""Columns of a frame: the position (two words), the cells to try, and the best result so far plus 1."""
FRAMES = 64
"""Number of frames; no match has more plies, because a board has at most 63 cells."""
ENDING_NODES = 20_000
"""Maximum positions the solver visits per node: a few milliseconds at worst, usually a hundredth of that."""


@inline_kernel
def sensible(own: np.uint64, opp: np.uint64, layout: Layout) -> np.uint64:
    """Return the cells worth considering if `own` cannot win at once: parries, and no cell that allows a win.

    The result is 0 if every move loses to the opponent's next stone.
    """
    cells, dangers = landings(own | opp, layout), completing(opp, layout)
    forced = cells & dangers
    # `x & (x - 1)` clears the lowest bit; a rest means two threats, which cannot both be parried.
    if forced:
        cells = _ZERO if forced & (forced - _ONE) else forced
    # With gravity, a stone on the cell directly below a danger lets the opponent complete it.
    return cells & ~(dangers >> _ONE) if layout.gravity else cells


@inline_kernel
def known(own: np.uint64, opp: np.uint64, layout: Layout) -> Int:
    """Return the immediately visible result for `own`, the side to move; else UNKNOWN."""
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
    """Solve a position without an immediate result by playing to the end; return 1, 0 or -1 for `own`.

    Returns _SPENT if it takes too long. Alpha-beta with one frame per ply instead of recursion; `frames` is
    scratch space `[FRAMES, 4]`.
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
            # The mover has this result for certain two plies earlier, so only a better one matters here.
            frames[depth, _BEST] = frames[depth - 2, _BEST] if depth > 1 else _ZERO
        while True:
            if value != _OPEN:
                # A result for the side to move below is the opposite here; `_BEST` holds results plus 1.
                frames[depth, _BEST] = max(frames[depth, _BEST], np.uint64(1 - value))
                value = _OPEN
            cells, best = frames[depth, _CELLS], frames[depth, _BEST]
            # Beta: what the opponent already has one ply earlier, seen from this side.
            bound = _TWO - frames[depth - 1, _BEST] if depth else _TWO
            if cells and best < bound:
                break
            value = np.int64(best) - 1
            depth -= 1
            if depth < 0:
                return value
        stone = cells & (~cells + _ONE)
        # Taken out before it is played, so that the frame continues with the next cell when the search
        # returns to it.
        frames[depth, _CELLS] = cells ^ stone
        own, opp = frames[depth, _OPP], frames[depth, _OWN] | stone
    return _SPENT


@inline_kernel
def solved(own: np.uint64, opp: np.uint64, layout: Layout, most: Int, frames: NDArray[np.uint64]) -> Int:
    """Return the result by `known`, or, with at most `most` empty cells, by playing to the end.

    Returns UNKNOWN if that takes more than `ENDING_NODES`; `frames` is scratch space `[FRAMES, 4]`.
    """
    proof = known(own, opp, layout)
    if proof != UNKNOWN or layout.max_length - num_bits(own | opp) > most:
        return proof
    result = ending(own, opp, layout, frames)
    return UNKNOWN if result == _SPENT else DRAW - result
