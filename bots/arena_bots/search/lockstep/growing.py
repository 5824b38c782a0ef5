"""One step of a search in many trees: down to a leaf, what is known there, and back up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.bits import bit_number
from arena.games.kernels.compiling import inline_kernel, kernel
from arena.games.kernels.rules import completing, land, landings
from arena_bots.search.lockstep.endings import known, sensible, solved
from arena_bots.search.lockstep.forest import (
    DRAW,
    LOSS,
    NOWHERE,
    UNKNOWN,
    WIN,
    add_node,
)
from arena_bots.search.lockstep.selecting import select

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout
    from arena_bots.search.lockstep.forest import Forest, Leaves, Rule

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@kernel
def plant(  # noqa: PLR0913, PLR0917 # a kernel has no object to keep its arrays in
    forest: Forest,
    leaves: Leaves,
    layout: Layout,
    own: NDArray[np.uint64],
    opp: NDArray[np.uint64],
    last: NDArray[np.uint64],
    chosen: NDArray[np.bool_],
) -> None:
    """Begin the trees of the `chosen` lanes anew, at these positions, none of them over.

    Roots wait for the net even where a win is at hand: their priors are shown, and learnt from.
    """
    for lane in range(len(chosen)):
        leaves.waits[lane] = False
        leaves.depth[lane] = 0
        if not chosen[lane]:
            continue
        forest.size[lane] = 0
        add_node(forest, lane, own[lane], opp[lane], last[lane], 0)
        forest.proof[lane, 0] = known(own[lane], opp[lane], layout)
        leaves.node[lane] = 0
        leaves.own[lane], leaves.opp[lane], leaves.last[lane] = own[lane], opp[lane], last[lane]
        leaves.proof[lane] = UNKNOWN
        leaves.waits[lane] = True


@kernel
def descend(  # noqa: PLR0913, PLR0917 # a kernel has no object to keep its arrays in
    forest: Forest,
    leaves: Leaves,
    layout: Layout,
    rule: Rule,
    firsts: NDArray[np.int32],
    active: NDArray[np.bool_],
    ending_cells: Int,
    scratch: NDArray[np.uint64],
) -> None:
    """Go down the trees of the active lanes, up to a new leaf or one that is proven.

    Args:
        forest: the trees; leaves are added where there is room.
        leaves: where it ended.
        layout: the game.
        rule: how actions are selected.
        firsts: the action to begin with; NOWHERE selects one by the rule; `[lanes]`.
        active: lanes to do; `[lanes]`.
        ending_cells: with so many empty cells or fewer a leaf is solved.
        scratch: room for the solver; `[FRAMES, 4]`.
    """
    room = forest.own.shape[1]
    for lane in range(len(active)):
        leaves.waits[lane] = False
        leaves.depth[lane] = 0
        if not active[lane]:
            continue
        node, depth = 0, 0
        leaves.node[lane] = NOWHERE
        while True:
            action = np.int64(firsts[lane]) if depth == 0 else NOWHERE
            if action == NOWHERE:
                action = select(forest, lane, node, rule)
            leaves.nodes[lane, depth] = node
            leaves.actions[lane, depth] = action
            depth += 1
            child = np.int64(forest.child[lane, node, action])
            if not child:
                _arrive(forest, leaves, layout, lane, node, action, ending_cells, scratch, room)
                break
            node = child
            if forest.proof[lane, node] != UNKNOWN:
                leaves.proof[lane] = forest.proof[lane, node]
                break
        leaves.depth[lane] = depth


@inline_kernel
def _arrive(  # noqa: PLR0913, PLR0917 # a kernel has no object to keep its arrays in
    forest: Forest,
    leaves: Leaves,
    layout: Layout,
    lane: Int,
    node: Int,
    action: Int,
    ending_cells: Int,
    scratch: NDArray[np.uint64],
    room: Int,
) -> None:
    """Note the position after an action that has no node, and give it one where there is room."""
    own, opp = forest.own[lane, node], forest.opp[lane, node]
    stone = land(own | opp, action, layout)
    leaves.own[lane], leaves.opp[lane], leaves.last[lane] = opp, own | stone, stone
    proof = solved(opp, own | stone, layout, ending_cells, scratch)
    leaves.proof[lane] = proof
    leaves.waits[lane] = proof == UNKNOWN
    if np.int64(forest.size[lane]) < room:
        child = add_node(forest, lane, opp, own | stone, stone, node)
        forest.proof[lane, child] = proof
        forest.child[lane, node, action] = child
        leaves.node[lane] = child


@kernel
def grow(forest: Forest, leaves: Leaves, layout: Layout) -> None:
    """Give leaves their priors, and take what they are worth up to the roots."""
    for lane in range(len(leaves.node)):
        node = np.int64(leaves.node[lane])
        if leaves.waits[lane] and node != NOWHERE:
            forest.worth[lane, node] = leaves.worth[lane]
            _spread(forest, leaves, layout, lane, node)
        depth = np.int64(leaves.depth[lane])
        if not depth:
            continue
        proof = np.int64(leaves.proof[lane])
        value = leaves.worth[lane] if proof == UNKNOWN else np.float32(DRAW - proof)
        for index in range(depth - 1, -1, -1):
            value = -value
            above, action = np.int64(leaves.nodes[lane, index]), np.int64(leaves.actions[lane, index])
            forest.visits[lane, above, action] += 1
            forest.total[lane, above, action] += value
        if proof != UNKNOWN and node != NOWHERE:
            _prove(forest, leaves, lane, depth)


@inline_kernel
def _spread(forest: Forest, leaves: Leaves, layout: Layout, lane: Int, node: Int) -> None:
    """Turn logits into priors of the actions that are worth a search."""
    own, opp = forest.own[lane, node], forest.opp[lane, node]
    cells = _candidates(own, opp, layout)
    top, rest = np.float32(-3e38), cells
    while rest:
        top = max(top, leaves.logits[lane, layout.actions[bit_number(rest)]])
        rest &= rest - _ONE
    weight, rest = np.float32(0), cells
    while rest:
        weight += np.exp(leaves.logits[lane, layout.actions[bit_number(rest)]] - top)
        rest &= rest - _ONE
    while cells:
        action = layout.actions[bit_number(cells)]
        forest.prior[lane, node, action] = np.exp(leaves.logits[lane, action] - top) / weight
        cells &= cells - _ONE


@inline_kernel
def _candidates(own: np.uint64, opp: np.uint64, layout: Layout) -> np.uint64:
    """Give the cells to search; a root that is decided at once has those that win, or that parry once."""
    legal = landings(own | opp, layout)
    wins = completing(own, layout) & legal
    if wins:
        return wins
    cells = sensible(own, opp, layout)
    if cells:
        return cells
    parries = completing(opp, layout) & legal
    if parries:
        return parries
    return legal


@inline_kernel
def _prove(forest: Forest, leaves: Leaves, lane: Int, depth: Int) -> None:
    """Take what is proven of a new leaf up as far as it proves more.

    Source: Winands, Bjornsson, Saito, Monte-Carlo tree search solver (2008), section 3, here with draws.
    """
    for index in range(depth - 1, -1, -1):
        node = np.int64(leaves.nodes[lane, index])
        best, is_open = LOSS, False
        for action in range(forest.prior.shape[2]):
            if forest.prior[lane, node, action] < 0:
                continue
            child = np.int64(forest.child[lane, node, action])
            found = np.int64(forest.proof[lane, child]) if child else UNKNOWN
            if found == LOSS:
                best = WIN
                break
            if found == UNKNOWN:
                is_open = True
            elif found == DRAW:
                best = DRAW
        if best != WIN and is_open:
            return
        forest.proof[lane, node] = best


@kernel
def keep(forest: Forest, moves: NDArray[np.int32], moved: NDArray[np.int32], kept: NDArray[np.bool_]) -> None:
    """Make the node after each lane's move its root, where there is one that can be searched on.

    Args:
        forest: the trees; what is not below the new roots is dropped.
        moves: the action of each lane, NOWHERE leaves a lane as it is; `[lanes]`.
        moved: room for `[nodes]`.
        kept: where it is told whether the tree was kept; `[lanes]`.
    """
    for lane in range(len(moves)):
        kept[lane] = moves[lane] == NOWHERE
        if kept[lane] or not forest.size[lane]:
            continue
        root = np.int64(forest.child[lane, 0, moves[lane]])
        # What is proven of a leaf does not say by which action.
        if not root or forest.proof[lane, root] != UNKNOWN:
            continue
        kept[lane] = True
        size = np.int64(forest.size[lane])
        count = 0
        for node in range(size):
            above = np.int64(forest.parent[lane, node])
            is_below = node == root or (node > root and above >= root and moved[above] != NOWHERE)
            moved[node] = count if is_below else NOWHERE
            count += is_below
        for node in range(root, size):
            if moved[node] != NOWHERE:
                _move_node(forest, lane, node, np.int64(moved[node]), moved)
        forest.parent[lane, 0] = 0
        forest.size[lane] = count


@inline_kernel
def _move_node(forest: Forest, lane: Int, old: Int, new: Int, moved: NDArray[np.int32]) -> None:
    """Copy a node to a smaller number; a child's number is larger than its parent's, so none is lost."""
    forest.own[lane, new], forest.opp[lane, new] = forest.own[lane, old], forest.opp[lane, old]
    forest.last[lane, new] = forest.last[lane, old]
    above = np.int64(forest.parent[lane, old])
    forest.parent[lane, new] = max(np.int64(moved[above]), 0)
    forest.worth[lane, new], forest.proof[lane, new] = forest.worth[lane, old], forest.proof[lane, old]
    for action in range(forest.prior.shape[2]):
        child = np.int64(forest.child[lane, old, action])
        forest.child[lane, new, action] = moved[child] if child else 0
        forest.visits[lane, new, action] = forest.visits[lane, old, action]
        forest.total[lane, new, action] = forest.total[lane, old, action]
        forest.prior[lane, new, action] = forest.prior[lane, old, action]
