"""A search tree on an array: selecting, adding, backing up and proving, the same for every kind of board."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.chance import draw
from arena.games.kernels.compiling import inline_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int

UNKNOWN, WIN, DRAW, LOSS = 0, 1, 2, 3
"""What is proven of a node, for the player whose action led there; a result is DRAW less the number."""
NODE = np.dtype(
    [
        ("visits", np.uint32),  # playouts through the node
        ("first", np.uint32),  # its first child; the others follow
        ("value", np.float32),  # mean of the results for the player whose action led here
        ("bonus", np.float32),  # the part of the exploration term that depends on the node's own visits
        ("total", np.int32),  # sum of those results
        ("parent", np.uint32),
        ("count", np.uint16),  # children; 0 for a leaf
        ("tried", np.uint16),  # children that can be selected; the rest come first, in random order
        ("action", np.uint16),  # the action that led here
        ("proof", np.uint16),
    ]
)
"""A node: half a cache line. The root is node 0, a child has a larger number than its parent, and all is 0
behind the last node."""
TABLE = 1 << 14
"""Visits up to which the formulas are tabulated."""
_LEAST = np.float32(-3e38)
_ONE = np.float32(1)


class Selection(NamedTuple):
    """Selects the child of largest `value + scale * bonus`; N visits of the parent, n of the child.

    UCT: scale c sqrt(2 ln N), bonus 1 / sqrt(n), each child once before; Kocsis and Szepesvari (2006).
    PUCT: scale c P sqrt(N), bonus 1 / (1 + n), P = 1 / children; Silver et al. (2017) with equal priors.
    """

    bonus: NDArray[np.float32]
    """By n; `[TABLE]`."""
    scale: NDArray[np.float32]
    """By N, without P; `[TABLE]`."""
    c: float
    """Exploration."""
    is_puct: bool
    """PUCT, else UCT."""


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
    """Give the next state of chance, and the child to go to from `node`, which has children."""
    first, count, tried = (
        np.int64(nodes[node].first),
        np.int64(nodes[node].count),
        np.int64(nodes[node].tried),
    )
    if tried < count:
        # The others come to the front one after the other, in random order.
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
        # One without visits stands for all of them.
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
    """Tell whether the match is over at a leaf: who has moved there never loses by that."""
    return nodes[node].proof == WIN or nodes[node].proof == DRAW


@inline_kernel
def back_up(
    nodes: NDArray[np.void], path: NDArray[np.uint32], depth: Int, result: Int, rule: Selection
) -> None:
    """Count a playout along `path[: depth + 1]` that ended with `result` for who moved to the last node."""
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
def settle(nodes: NDArray[np.void], path: NDArray[np.uint32], depth: Int, proof: Int, proves: bool) -> None:  # noqa: FBT001 # kernels take positions only
    """Set what is known at once of node `path[depth]`; with `proves` take it up as far as it proves more.

    Source: Winands, Bjornsson, Saito, Monte-Carlo tree search solver (2008), section 3, here with draws. It
    changes no selection: that cost 0.3 points of quality, see docs/reference/bots.md.
    """
    nodes[np.int64(path[depth])].proof = proof
    if proof == UNKNOWN or not proves:
        return
    for index in range(depth - 1, -1, -1):
        node = np.int64(path[index])
        first = np.int64(nodes[node].first)
        best = LOSS
        for child in range(first, first + np.int64(nodes[node].count)):
            # UNKNOWN is less than the others: it may yet be anything.
            found = np.int64(nodes[child].proof)
            if found == WIN:
                best = WIN
                break
            best = min(best, found)
        if best == UNKNOWN:
            return
        # What is best for who moves here is the opposite for who moved here.
        nodes[node].proof = WIN + LOSS - best


@kernel
def keep(nodes: NDArray[np.void], size: Int, root: Int, moved: NDArray[np.uint32]) -> Int:
    """Make `root` the root and drop what is not below it; give the number of nodes left of `size`.

    What lies behind them is for the caller to clear.

    `moved` is room for `[size]` numbers.
    """
    nodes[0] = nodes[root]
    moved[root] = 0
    kept = 1
    # A child's number is larger than its parent's, so each node moves to a place that is not needed any more.
    for node in range(root + 1, size):
        old = np.int64(nodes[node].parent)
        # Every node has moved but the dropped, which stand for 0 where the root is not meant.
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
