"""One search step in many trees: down to a leaf, what is known there, and back up."""

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
_LEAST = np.float32(-3e38)
"""Below every logit; close to the least number of 32 bits."""


@kernel
def plant(
    forest: Forest,
    leaves: Leaves,
    layout: Layout,
    own: NDArray[np.uint64],
    opp: NDArray[np.uint64],
    last: NDArray[np.uint64],
    chosen: NDArray[np.bool_],
) -> None:
    """Start new trees in the `chosen` lanes at these positions, none of which is terminal.

    Roots are evaluated by the network even if a win is available, because their priors are shown and learnt.
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
        # Not the proof of the root, because a root must be evaluated even if it is decided.
        leaves.proof[lane] = UNKNOWN
        leaves.waits[lane] = True


@kernel
def descend(
    forest: Forest,
    leaves: Leaves,
    layout: Layout,
    rule: Rule,
    firsts: NDArray[np.int32],
    active: NDArray[np.bool_],
    ending_cells: Int,
    scratch: NDArray[np.uint64],
) -> None:
    """Descend the trees of the active lanes to a new leaf or a proven node.

    Args:
        forest: the trees; leaves are added while there is space.
        leaves: receives where each descent ended.
        layout: the game.
        rule: how actions are selected.
        firsts: the first action; NOWHERE selects one by the rule; `[lanes]`.
        active: the lanes to process; `[lanes]`.
        ending_cells: a leaf with at most this many empty cells is solved.
        scratch: scratch space of the solver; `[FRAMES, 4]`.
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
            # A proven node has one value for ever, so nothing below it needs to be searched.
            if forest.proof[lane, node] != UNKNOWN:
                leaves.proof[lane] = forest.proof[lane, node]
                break
        leaves.depth[lane] = depth


@inline_kernel
def _arrive(
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
    """Record the position after an action without a node, and add a node for it if there is space."""
    own, opp = forest.own[lane, node], forest.opp[lane, node]
    stone = land(own | opp, action, layout)
    # The child sees the board from the other side, so own and opp are swapped.
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
    """Set the priors of new leaves, and back their values up to the roots."""
    for lane in range(len(leaves.node)):
        node = np.int64(leaves.node[lane])
        # A leaf of a full tree has no node for its priors, but its value is backed up all the same.
        if leaves.waits[lane] and node != NOWHERE:
            forest.worth[lane, node] = leaves.worth[lane]
            _spread(forest, leaves, layout, lane, node)
        depth = np.int64(leaves.depth[lane])
        if not depth:
            continue
        proof = np.int64(leaves.proof[lane])
        # A proof is a result for the side to move at the leaf; each step up changes the side.
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
    """Turn logits into priors of the actions that are worth searching."""
    own, opp = forest.own[lane, node], forest.opp[lane, node]
    cells = _candidates(own, opp, layout)
    # Softmax over the candidates alone; subtracting the largest logit keeps exp from overflowing.
    top, rest = _LEAST, cells
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
    """Return the cells to search; at a root that is decided at once, those that win or parry one threat."""
    legal = landings(own | opp, layout)
    wins = completing(own, layout) & legal
    # A root may be decided at once and is searched nevertheless, for its priors and its move.
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
    """Propagate the proof of a new leaf upwards as far as it proves more.

    Source: Winands, Bjornsson, Saito, Monte-Carlo tree search solver (2008), section 3, here with draws.
    """
    for index in range(depth - 1, -1, -1):
        node = np.int64(leaves.nodes[lane, index])
        # Of the results of all children the best for the mover; only with all of them known is it proven.
        best, is_open = LOSS, False
        for action in range(forest.prior.shape[2]):
            if forest.prior[lane, node, action] < 0:
                continue
            child = np.int64(forest.child[lane, node, action])
            found = np.int64(forest.proof[lane, child]) if child else UNKNOWN
            # A child that is lost for its mover is won for this node, which needs no further proof.
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
    """Make the node after each lane's move its root, if that node can be searched further.

    Args:
        forest: the trees; everything outside of the new roots' subtrees is dropped.
        moves: the action of each lane, NOWHERE to leave a lane unchanged; `[lanes]`.
        moved: scratch space `[nodes]`.
        kept: receives whether each tree was kept; `[lanes]`.
    """
    for lane in range(len(moves)):
        kept[lane] = moves[lane] == NOWHERE
        if kept[lane] or not forest.size[lane]:
            continue
        root = np.int64(forest.child[lane, 0, moves[lane]])
        # The proof of a leaf does not tell which action achieves it, so such a root is started again.
        if not root or forest.proof[lane, root] != UNKNOWN:
            continue
        kept[lane] = True
        size = np.int64(forest.size[lane])
        count = 0
        for node in range(size):
            # In one pass: parents come before their children, so `moved` of the parent is already known.
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
    """Copy a node to a smaller number; children have larger numbers than parents, so none is overwritten."""
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
