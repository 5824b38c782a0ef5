"""UCT on boards that fit into a 64-bit word: the kernel that grows the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.bits import bit_number
from arena.games.kernels.compiling import inline_kernel, kernel
from arena.games.kernels.playouts import tactical_playout, uniform_playout
from arena.games.kernels.rules import completing, has_line, land, landings
from arena_bots.search.uct_tree import (
    DRAW,
    LOSS,
    UNKNOWN,
    WIN,
    back_up,
    is_end,
    select,
    settle,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout
    from arena_bots.search.uct_tree import Selection

_BIT = np.uint64(1)


@kernel
def grow_words(  # noqa: PLR0913, PLR0917 # a kernel has no object that could hold its arrays
    nodes: NDArray[np.void],
    size: Int,
    playouts: Int,
    pause: Int,
    own: np.uint64,
    opp: np.uint64,
    layout: Layout,
    rule: Selection,
    proves: bool,  # noqa: FBT001 # numba passes arguments by position
    path: NDArray[np.uint32],
    free: NDArray[np.uint64] | None,
    chance: NDArray[np.uint64],
) -> tuple[Int, Int]:
    """Make `playouts` from a root where `own` is to move; return nodes and playouts made, like `Board.grow`.

    `path` is scratch space `[max_length + 1]`, `free` `[num_actions]`. If `free` is None, rollouts are
    tactical, and only those are compiled.
    """
    # A node may get as many children as there are actions, so that much space must be left.
    room = len(nodes) - layout.num_actions
    for made in range(playouts):
        has_room = size <= room
        if size >= pause or (proves and nodes[0].proof):
            return size, made
        mover, other = own, opp
        node, depth = 0, 0
        path[0] = 0
        while True:
            if not nodes[node].count:
                # A leaf gets children at its second visit; the first visit ends here and plays it out.
                if node and (not nodes[node].visits or is_end(nodes, node) or not has_room):
                    break
                size = _expand(nodes, size, node, landings(mover | other, layout), layout)
            chance[0], node = select(nodes, node, rule, chance[0])
            mover, other = other, mover | land(mover | other, np.int64(nodes[node].action), layout)
            depth += 1
            path[depth] = node
        if not nodes[node].visits:
            settle(nodes, path, depth, _known(mover, other, layout, proves), proves)
        # The playout's result is for the side to move; the minus turns it to the player who moved here.
        if is_end(nodes, node):
            result = DRAW - np.int64(nodes[node].proof)
        elif free is None:
            result = -tactical_playout(mover, other, layout, chance)
        else:
            result = -uniform_playout(mover, other, layout, free, chance)
        back_up(nodes, path, depth, result, rule)
    return size, playouts


@inline_kernel
def _expand(nodes: NDArray[np.void], size: Int, node: Int, cells: np.uint64, layout: Layout) -> Int:
    """Add a child to `node` for each of `cells`; return the new number of nodes."""
    end = size
    while cells:
        nodes[end].parent = node
        nodes[end].action = layout.actions[bit_number(cells)]
        cells &= cells - _BIT
        end += 1
    nodes[node].first = size
    nodes[node].count = end - size
    return end


@inline_kernel
def _known(mover: np.uint64, other: np.uint64, layout: Layout, proves: bool) -> Int:  # noqa: FBT001
    """Return what is immediately proven for `other`, who has just moved."""
    cells = landings(mover | other, layout)
    if has_line(other, layout):
        return WIN
    if not cells:
        return DRAW
    if proves and completing(mover, layout) & cells:
        return LOSS
    return UNKNOWN
