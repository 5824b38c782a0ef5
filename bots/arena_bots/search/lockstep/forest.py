"""The trees of many games as arrays, and how a step of a search goes on in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.compiling import inline_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int

UNKNOWN, WIN, DRAW, LOSS = 0, 1, 2, 3
"""What is proven of a node, for the side to move there; a result is DRAW less the number."""
BARRED = np.float32(-1)
"""Prior of an action that is not legal, or loses at once while another does not."""
NOWHERE = -1
"""No node, no action."""


class Forest(NamedTuple):
    """One tree for each of `lanes` games; node 0 is its root, and a child has a larger number."""

    own: NDArray[np.uint64]
    """Stones of the side to move; `[lanes, nodes]`, as the next five."""
    opp: NDArray[np.uint64]
    """Stones of the other side."""
    last: NDArray[np.uint64]
    """The stone placed last, one bit; 0 where it is not known."""
    parent: NDArray[np.int32]
    worth: NDArray[np.float32]
    """What the net says of the node for the side to move, in [-1, 1]."""
    proof: NDArray[np.int8]
    """UNKNOWN, WIN, DRAW or LOSS."""
    child: NDArray[np.int32]
    """Node after each action; 0 where there is none; `[lanes, nodes, num_actions]`, as the next three."""
    visits: NDArray[np.int32]
    total: NDArray[np.float32]
    """Sum of the values that came back through each action, for who plays it."""
    prior: NDArray[np.float32]
    """Probability by the net; BARRED for actions that are not searched."""
    size: NDArray[np.int32]
    """Nodes of each tree; `[lanes]`."""


class Leaves(NamedTuple):
    """Where one step of the search ended in each game."""

    node: NDArray[np.int32]
    """The new node; NOWHERE where there was no room for one, or the end is a proven node; `[lanes]`."""
    own: NDArray[np.uint64]
    """Stones of the side to move there; `[lanes]`, as the next seven."""
    opp: NDArray[np.uint64]
    last: NDArray[np.uint64]
    depth: NDArray[np.int32]
    """Actions from the root to there; 0 where no step was made."""
    proof: NDArray[np.int8]
    """What is known of it."""
    waits: NDArray[np.bool_]
    """Whether the net is to be asked."""
    worth: NDArray[np.float32]
    """What it is worth for the side to move there."""
    places: NDArray[np.int32]
    """Row of the batch that answers."""
    logits: NDArray[np.float32]
    """What the net says of each action; `[lanes, num_actions]`."""
    nodes: NDArray[np.int32]
    """The nodes on the way; `[lanes, max_length + 1]`."""
    actions: NDArray[np.int32]
    """The actions between them; as long."""


class Rule(NamedTuple):
    """How an action is selected below the root, and at it where nothing else is said."""

    is_gumbel: bool
    """Whether by the improved policy (see `selecting`), else by PUCT."""
    c_puct: float
    """Exploration of PUCT."""
    cautious: bool
    """Whether PUCT takes an untried action to be worth 0, as the paper's code does, else as its node."""
    c_visit: float = 50.0
    """Weight of values against priors before any visit, for the improved policy; Danihelka et al. (2022)."""


def new_forest(lanes: int, nodes: int, num_actions: int) -> Forest:
    """Give trees without a node, with room for `nodes` each."""
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
    """Give room for the ends of one step."""
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
def add_node(  # noqa: PLR0913, PLR0917 # a kernel has no object to keep its arrays in
    forest: Forest, lane: Int, own: np.uint64, opp: np.uint64, last: np.uint64, parent: Int
) -> Int:
    """Add a node without statistics; there must be room. Give its number."""
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
        forest.prior[lane, node, action] = BARRED
    return node


@inline_kernel
def mean(forest: Forest, lane: Int, node: Int, action: Int) -> np.float32:
    """Give what an action that was tried is worth for who plays it: exactly where that is proven."""
    child = np.int64(forest.child[lane, node, action])
    if child and forest.proof[lane, child] != UNKNOWN:
        return np.float32(np.int64(forest.proof[lane, child]) - DRAW)
    return forest.total[lane, node, action] / np.float32(forest.visits[lane, node, action])
