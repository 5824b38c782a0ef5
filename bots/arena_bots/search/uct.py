"""UCT on any game: a tree of states grown one node per playout, with uniformly random rollouts."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from arena_plugins.contract import State


class Node:
    """A state in the tree with the results of the playouts that went through it."""

    __slots__ = ("children", "state", "total", "untried", "visits")

    def __init__(self, state: State) -> None:
        self.state = state
        self.untried = list(state.legal_actions)
        """Actions without a child yet."""
        self.children: dict[int, Node] = {}
        """By action, in the order they were tried."""
        self.visits = 0
        """Playouts through here."""
        self.total = 0.0
        """Sum of their results for the player whose action led here."""


class Tree:
    """A search tree; all its chance comes from `random`."""

    def __init__(self, state: State, random: Random, c: float) -> None:
        self.root = Node(state)
        self._random = random
        self._c = c

    def advance(self, state: State) -> None:
        """Make `state` the root: with all its statistics if it lies in the tree, else anew."""
        known, history = len(self.root.state.history), state.history
        node = self.root if self.root.state.history == history[:known] else None
        for action in history[known:]:
            node = node.children.get(action) if node else None
        self.root = node or Node(state)

    def playout(self) -> None:
        """Select a leaf by UCT, add one node, play to the end at random, back the result up."""
        node = self.root
        path = [(node, 0)]
        while node.children and not node.untried:
            mover = node.state.current_player
            node = self._select(node)
            path.append((node, mover))
        if node.untried:
            mover = node.state.current_player
            node = self._expand(node)
            path.append((node, mover))
        result = self._rollout(node.state)
        for node, mover in path:
            node.visits += 1
            node.total += -result if mover else result

    def _select(self, node: Node) -> Node:
        """Give the child of largest Q + c sqrt(2 ln N / n), Q in [-1, 1].

        Source: UCB1 (Auer et al., 2002, section 2) in a tree (Kocsis and Szepesvari, 2006).
        """
        scale = self._c * sqrt(2 * log(node.visits))
        best, chosen = -2.0 - scale, node
        for child in node.children.values():
            visits = child.visits
            bound = child.total / visits + scale / sqrt(visits)
            if bound > best:
                best, chosen = bound, child
        return chosen

    def _expand(self, node: Node) -> Node:
        untried = node.untried
        index = int(self._random.random() * len(untried))
        untried[index], untried[-1] = untried[-1], untried[index]
        action = untried.pop()
        child = node.children[action] = Node(node.state.child(action))
        return child

    def _rollout(self, state: State) -> float:
        """Give the result for player 0 of uniformly random play from `state`."""
        random = self._random.random
        while not state.is_terminal:
            actions = state.legal_actions
            state = state.child(actions[int(random() * len(actions))])
        return state.returns[0]
