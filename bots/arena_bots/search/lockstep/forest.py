"""The search trees of many games as arrays, and the data of one search step in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.compiling import inline_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int

UNKNOWN, WIN, DRAW, LOSS = 0, 1, 2, 3
"""What is proven of a node, for the side to move there; a result is DRAW minus the number."""
BARRED = np.float32(-1)
"""Prior of an action that is illegal, or that loses at once while another action does not."""
NOWHERE = -1
"""Stands for no node, or no action."""


class Forest(NamedTuple):
    """One tree for each of `lanes` games; node 0 is the root, children have larger numbers than parents."""

    own: NDArray[np.uint64]
    """Stones of the side to move; the next five arrays have the same shape, `[lanes, nodes]`."""
    opp: NDArray[np.uint64]
    """Stones of the other side."""
    last: NDArray[np.uint64]
    """The stone placed last, as a word with one bit; 0 if unknown."""
    parent: NDArray[np.int32]
    worth: NDArray[np.float32]
    """The network's value of the node for the side to move, in [-1, 1]."""
    proof: NDArray[np.int8]
    """UNKNOWN, WIN, DRAW or LOSS."""
    child: NDArray[np.int32]
    """Node after each action, 0 if there is none; with the next three, `[lanes, nodes, num_actions]`."""
    visits: NDArray[np.int32]
    total: NDArray[np.float32]
    """Sum of the values backed up through each action, for the player of the action."""
    prior: NDArray[np.float32]
    """Probability by the network; BARRED for actions that are not searched."""
    size: NDArray[np.int32]
    """Number of nodes in each tree; `[lanes]`."""


class Leaves(NamedTuple):
    """Where one step of the search ended in each game."""

    node: NDArray[np.int32]
    """The new node; NOWHERE if the tree is full or the step ended at a proven node; `[lanes]`."""
    own: NDArray[np.uint64]
    """Stones of the side to move at the leaf; with the next seven arrays, `[lanes]`."""
    opp: NDArray[np.uint64]
    last: NDArray[np.uint64]
    depth: NDArray[np.int32]
    """Number of actions from the root to the leaf; 0 if no step was made."""
    proof: NDArray[np.int8]
    """What is proven of the leaf."""
    waits: NDArray[np.bool_]
    """Whether the network must evaluate the leaf."""
    worth: NDArray[np.float32]
    """Value of the leaf for the side to move there."""
    places: NDArray[np.int32]
    """Row of the batch that evaluates the leaf."""
    logits: NDArray[np.float32]
    """The network's policy logits; `[lanes, num_actions]`."""
    nodes: NDArray[np.int32]
    """Nodes on the path; `[lanes, max_length + 1]`."""
    actions: NDArray[np.int32]
    """Actions on the path, between its nodes; `[lanes, max_length + 1]`."""


class Rule(NamedTuple):
    """How actions are selected below the root, and at the root unless the caller chooses."""

    is_gumbel: bool
    """Whether to select by the improved policy (see `selecting`) instead of PUCT."""
    c_puct: float
    """Exploration constant of PUCT."""
    cautious: bool
    """Whether PUCT values an untried action as 0, like the paper's code, instead of as its node."""
    c_visit: float = 50.0
    """Weight of values against priors before any visit, for the improved policy; Danihelka et al. (2022)."""


def new_forest(lanes: int, nodes: int, num_actions: int) -> Forest:
    """Return trees without nodes, with space for `nodes` in each."""
    flat, wide = (lanes, nodes), (lanes, nodes, num_actions)
    return Forest(
        own=np.zeros(flat, np.uint64),
        opp=np.zeros(flat, np.uint64),
        last=np.zeros(flat, np.uint64),
        parent=np.zeros(flat, np.int32),
        worth=np.zeros(flat, np.float32),
        proof=np.zeros(flat, np.int8),
        child=np.zeros(wide, np.int32),
        visits=np.zeros(wide, np.int32),
        total=np.zeros(wide, np.float32),
        prior=np.zeros(wide, np.float32),
        size=np.zeros(lanes, np.int32),
    )


def new_leaves(lanes: int, num_actions: int, max_length: int) -> Leaves:
    """Return space for the leaves of one step."""
    path = (lanes, max_length + 1)
    return Leaves(
        node=np.zeros(lanes, np.int32),
        own=np.zeros(lanes, np.uint64),
        opp=np.zeros(lanes, np.uint64),
        last=np.zeros(lanes, np.uint64),
        depth=np.zeros(lanes, np.int32),
        proof=np.zeros(lanes, np.int8),
        waits=np.zeros(lanes, np.bool_),
        worth=np.zeros(lanes, np.float32),
        places=np.zeros(lanes, np.int32),
        logits=np.zeros((lanes, num_actions), np.float32),
        nodes=np.zeros(path, np.int32),
        actions=np.zeros(path, np.int32),
    )


@inline_kernel
def add_node(forest: Forest, lane: Int, own: np.uint64, opp: np.uint64, last: np.uint64, parent: Int) -> Int:
    """Add a node without statistics, for which there must be space; return its number."""
    node = np.int64(forest.size[lane])
    forest.size[lane] = node + 1
    forest.own[lane, node] = own
    forest.opp[lane, node] = opp
    forest.last[lane, node] = last
    forest.parent[lane, node] = parent
    forest.worth[lane, node] = 0
    forest.proof[lane, node] = UNKNOWN
    for action in range(forest.prior.shape[2]):
        forest.child[lane, node, action] = 0
        forest.visits[lane, node, action] = 0
        forest.total[lane, node, action] = 0
        # Entries are reused by later trees, so nothing of an earlier node may remain.
        forest.prior[lane, node, action] = BARRED
    return node


@inline_kernel
def mean(forest: Forest, lane: Int, node: Int, action: Int) -> np.float32:
    """Return the mean value of a tried action for its player; the exact result if it is proven."""
    child = np.int64(forest.child[lane, node, action])
    if child and forest.proof[lane, child] != UNKNOWN:
        # A proof is for the side to move at the child, so its sign is turned for the player of the action.
        return np.float32(np.int64(forest.proof[lane, child]) - DRAW)
    return forest.total[lane, node, action] / np.float32(forest.visits[lane, node, action])
