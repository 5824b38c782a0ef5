"""UCT for any game: a tree of states that grows by one node per playout, with uniformly random rollouts."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from arena_bots.search.budget import Budget
    from arena_plugins.contract import State


PLIES = 64
"""Plies of a rollout between two reads of the clock; rules in Python take 0.1 to 3 ms for that many."""


class TreeSettings(NamedTuple):
    """How a tree is grown."""

    c: float
    """Exploration constant."""
    is_puct: bool = False
    """Whether to select by PUCT with equal priors instead of UCT."""
    is_tactical: bool = False
    """Whether rollouts win, parry and avoid giving wins if one ply decides; otherwise they are uniform."""
    proves: bool = False
    """Whether to prove wins, draws and losses, and to stop once the root is proven."""


class Edge(NamedTuple):
    """The statistics of an action at the root."""

    visits: int
    """Number of playouts that began with it, at least one."""
    mean: float
    """Mean result of its playouts for the player of the action, in [-1, 1]."""
    proof: int | None = None
    """The proven result for the player of the action, -1, 0 or 1; None if not proven."""


class Node:
    """A state in the tree, with the results of the playouts through it."""

    __slots__ = ("children", "state", "total", "untried", "visits")

    def __init__(self, state: State) -> None:
        self.state = state
        self.untried = list(state.legal_actions)
        """Actions that have no child yet."""
        self.children: dict[int, Node] = {}
        """Children by action, in the order in which they were tried."""
        self.visits = 0
        """Number of playouts through this node."""
        self.total = 0.0
        """Sum of the playouts' results, for the player whose action led here."""


class Tree:
    """A search tree; all its randomness comes from `random`. It uses neither tactics nor proofs."""

    root: Node

    def __init__(self, random: Random, settings: TreeSettings) -> None:
        self._random = random
        self._c = settings.c
        self._is_puct = settings.is_puct
        self._is_empty = True

    def clear(self) -> None:
        """Discard everything, because a new match begins."""
        self._is_empty = True

    def advance(self, state: State) -> None:
        """Make `state` the root; keep its statistics if it is in the tree, else start a new tree."""
        node = None
        if not self._is_empty:
            known, history = len(self.root.state.history), state.history
            # The new state continues the known match; otherwise the tree is of another one.
            node = self.root if self.root.state.history == history[:known] else None
            for action in history[known:]:
                node = node.children.get(action) if node else None
        self.root = node or Node(state)
        self._is_empty = False

    def run(self, budget: Budget) -> int:
        """Make playouts until `budget` is exhausted; return their number, at least one."""
        # Also if time is up already: an answer needs a tried action.
        self.playout(budget)
        made = 1
        while made < budget.nodes and not budget.is_late:
            self.playout(budget)
            made += 1
        return made

    def edges(self) -> Mapping[int, Edge]:
        """Return the statistics of each action tried at the root."""
        return {
            action: Edge(child.visits, child.total / child.visits)
            for action, child in self.root.children.items()
        }

    def line(self, action: int) -> list[int]:
        """Return the sequence of most visited actions that starts with the root's `action`."""
        line = [action]
        node = self.root.children[action]
        while node.children:
            action, node = max(node.children.items(), key=lambda item: _merit(item[1]))
            line.append(action)
        return line

    def playout(self, budget: Budget) -> None:
        """Select a leaf, add one node, play a random rollout, and back up the result.

        A rollout cut off by the deadline of `budget` counts as a draw; no other playout follows it.
        """
        node = self.root
        path = [(node, 0)]
        select = self._puct if self._is_puct else self._uct
        while child := select(node):
            path.append((child, node.state.current_player))
            node = child
        if node.untried:
            child = self._expand(node)
            path.append((child, node.state.current_player))
            node = child
        result = self._rollout(node.state, budget)
        for node, mover in path:
            node.visits += 1
            # Results are those of player 0, totals those of the player whose action led to the node.
            node.total += -result if mover else result

    def _uct(self, node: Node) -> Node | None:
        """Return the child with the largest Q + c sqrt(2 ln N / n), Q in [-1, 1]; None if one is untried.

        Source: UCB1 (Auer et al., 2002, section 2) in a tree (Kocsis and Szepesvari, 2006).
        """
        if node.untried or not node.children:
            return None
        scale = self._c * sqrt(2 * log(node.visits))
        return max(
            node.children.values(), key=lambda child: child.total / child.visits + scale / sqrt(child.visits)
        )

    def _puct(self, node: Node) -> Node | None:
        """Return the child with the largest Q + c P sqrt(N) / (1 + n), P equal for all; None if untried.

        Source: Silver et al., Mastering the game of Go without human knowledge (2017), methods.
        """
        if not node.children:
            return None
        scale = self._c * sqrt(node.visits) / (len(node.children) + len(node.untried))
        # An untried action has no value yet and n = 0, so its bound is `scale`. If all are tried, start below
        # every possible bound.
        best, chosen = scale if node.untried else -2.0, None
        for child in node.children.values():
            bound = child.total / child.visits + scale / (1 + child.visits)
            if bound > best:
                best, chosen = bound, child
        return chosen

    def _expand(self, node: Node) -> Node:
        untried = node.untried
        # Faster than `randrange`; the bias is below the number of actions divided by 2^53.
        index = int(self._random.random() * len(untried))
        # Removing the last element takes the same time however long the list is.
        untried[index], untried[-1] = untried[-1], untried[index]
        action = untried.pop()
        child = node.children[action] = Node(node.state.child(action))
        return child

    def _rollout(self, state: State, budget: Budget) -> float:
        """Return the result for player 0 of uniformly random play from `state`; 0 if time runs out first."""
        random = self._random.random
        while not budget.is_late:
            for _ in range(PLIES):
                if state.is_terminal:
                    return state.returns[0]
                actions = state.legal_actions
                state = state.child(actions[int(random() * len(actions))])
        return 0.0


def _merit(node: Node) -> tuple[int, float]:
    return node.visits, node.total / node.visits
