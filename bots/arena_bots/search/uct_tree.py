"""A search tree in an array: selecting, adding, backing up and proving, the same for every kind of board."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.chance import draw
from arena.games.kernels.compiling import inline_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int

UNKNOWN, WIN, DRAW, LOSS = 0, 1, 2, 3
"""What is proven of a node, for the player whose action led there; a result is DRAW minus the number."""
NODE = np.dtype(
    [
        ("visits", np.uint32),  # playouts through the node
        ("first", np.uint32),  # number of its first child; the others follow
        ("value", np.float32),  # mean of the results for the player whose action led here
        ("bonus", np.float32),  # the part of the exploration term that depends on the node's visits
        ("total", np.int32),  # sum of those results
        ("parent", np.uint32),
        ("count", np.uint16),  # number of children; 0 for a leaf
        ("tried", np.uint16),  # number of children that can be selected; they come first, in random order
        ("action", np.uint16),  # the action that led here
        ("proof", np.uint16),
    ]
)
"""The type of a node, which is half a cache line. Node 0 is the root, a child has a larger number than its
parent, and everything behind the last node is 0."""
TABLE = 1 << 14
"""Number of visits up to which the formulas are tabulated."""
_LEAST = np.float32(-3e38)
_ONE = np.float32(1)


class Selection(NamedTuple):
    """Selects the child with the largest `value + scale * bonus`; N visits of the parent, n of the child.

    UCT: scale c sqrt(2 ln N), bonus 1 / sqrt(n), after each child was tried once; Kocsis and Szepesvari
        (2006).
    PUCT: scale c P sqrt(N), bonus 1 / (1 + n), P = 1 / children; Silver et al. (2017) with equal priors.
    """

    bonus: NDArray[np.float32]
    """Bonus by n; `[TABLE]`."""
    scale: NDArray[np.float32]
    """Scale by N, without P; `[TABLE]`."""
    c: float
    """Exploration constant."""
    is_puct: bool
    """Whether the formula is PUCT instead of UCT."""


def selection(c: float, *, is_puct: bool) -> Selection:
    """Tabulate one of the two formulas."""
    visits = np.arange(TABLE)
    some = np.maximum(visits, 1)
    if is_puct:
        bonus, scale = 1 / (1 + visits), np.sqrt(visits)
    else:
        bonus, scale = 1 / np.sqrt(some), np.sqrt(2 * np.log(some))
    return Selection(bonus.astype(np.float32), (c * scale).astype(np.float32), c, is_puct)


@inline_kernel
def select(nodes: NDArray[np.void], node: Int, rule: Selection, state: np.uint64) -> tuple[np.uint64, Int]:
    """Return the next random state, and the child to descend to from `node`, which must have children."""
    first, count, tried = (
        np.int64(nodes[node].first),
        np.int64(nodes[node].count),
        np.int64(nodes[node].tried),
    )
    if tried < count:
        # Move a random untried child to the front, so that children are tried in random order.
        state, index = draw(state, count - tried)
        child, other = first + tried, first + tried + index
        action = nodes[child].action
        nodes[child].action = nodes[other].action
        nodes[other].action = action
        if not rule.is_puct:
            nodes[node].tried = tried + 1
            return state, child
        nodes[child].bonus = _ONE
    visits = np.int64(nodes[node].visits)
    if visits < TABLE:
        scale = rule.scale[visits]
    else:
        scale = np.float32(rule.c * np.sqrt(visits if rule.is_puct else 2 * np.log(visits)))
    if rule.is_puct:
        scale /= np.float32(count)
        # All unvisited children have the same bound, so the first stands for the rest.
        count = min(tried + 1, count)
    best, chosen = _LEAST, first
    for child in range(first, first + count):
        bound = nodes[child].value + scale * nodes[child].bonus
        is_better = bound > best
        best = bound if is_better else best
        chosen = child if is_better else chosen
    if rule.is_puct:
        nodes[node].tried = max(tried, chosen - first + 1)
    return state, chosen


@inline_kernel
def is_end(nodes: NDArray[np.void], node: Int) -> bool:
    """Return whether a leaf is terminal; the player who moved there has won or drawn, never lost."""
    return nodes[node].proof == WIN or nodes[node].proof == DRAW


@inline_kernel
def back_up(
    nodes: NDArray[np.void], path: NDArray[np.uint32], depth: Int, result: Int, rule: Selection
) -> None:
    """Record a playout along `path[: depth + 1]`; `result` is for the player who moved to the last node."""
    for index in range(depth, -1, -1):
        node = np.int64(path[index])
        visits = np.int64(nodes[node].visits) + 1
        total = np.int64(nodes[node].total) + result
        nodes[node].visits = visits
        nodes[node].total = total
        nodes[node].value = np.float32(total) / np.float32(visits)
        if visits < TABLE:
            nodes[node].bonus = rule.bonus[visits]
        elif rule.is_puct:
            nodes[node].bonus = _ONE / np.float32(1 + visits)
        else:
            nodes[node].bonus = _ONE / np.sqrt(np.float32(visits))
        result = -result


@inline_kernel
def settle(nodes: NDArray[np.void], path: NDArray[np.uint32], depth: Int, proof: Int, proves: bool) -> None:  # noqa: FBT001 # kernels take only positional arguments
    """Set the immediate proof of node `path[depth]`; with `proves`, propagate it up as far as it proves more.

    Source: Winands, Bjornsson, Saito, Monte-Carlo tree search solver (2008), section 3, here with draws.
    Proofs do not change selection: that cost 0.3 points of quality, see docs/reference/bots.md.
    """
    nodes[np.int64(path[depth])].proof = proof
    if proof == UNKNOWN or not proves:
        return
    for index in range(depth - 1, -1, -1):
        node = np.int64(path[index])
        first = np.int64(nodes[node].first)
        best = LOSS
        for child in range(first, first + np.int64(nodes[node].count)):
            # UNKNOWN has the smallest number, because it may still turn out to be any result.
            found = np.int64(nodes[child].proof)
            if found == WIN:
                best = WIN
                break
            best = min(best, found)
        if best == UNKNOWN:
            return
        # The best result for the side to move is the opposite for the player who moved here.
        nodes[node].proof = WIN + LOSS - best


@kernel
def keep(nodes: NDArray[np.void], size: Int, root: Int, moved: NDArray[np.uint32]) -> Int:
    """Make `root` the root and drop everything outside of its subtree; return the new number of nodes.

    Args:
        nodes: the tree; the caller must clear the entries behind the returned number.
        size: the number of nodes.
        root: the new root.
        moved: scratch space `[size]`.
    """
    nodes[0] = nodes[root]
    moved[root] = 0
    kept = 1
    # Children have larger numbers than parents, so each node moves to a place that is no longer needed.
    for node in range(root + 1, size):
        old = np.int64(nodes[node].parent)
        # All earlier nodes have been moved; dropped ones have number 0, which otherwise means the root.
        parent = np.int64(moved[old]) if old >= root else 0
        if old != root and not parent:
            moved[node] = 0
            continue
        if np.int64(nodes[parent].first) == node:
            nodes[parent].first = kept
        nodes[kept] = nodes[node]
        nodes[kept].parent = parent
        moved[node] = kept
        kept += 1
    return kept
