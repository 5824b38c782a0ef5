"""UCT with compiled kernels: the tree of one match, its memory, and what it says of the root."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from arena_bots.search.uct import Edge
from arena_bots.search.uct_boards import board_for
from arena_bots.search.uct_tree import DRAW, NODE, UNKNOWN, keep

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from numpy.typing import NDArray

    from arena_bots.search.budget import Budget
    from arena_bots.search.uct import Settings
    from arena_plugins.contract import Game, State

_FEWEST = 1 << 13
"""Nodes there is room for at first."""
MOST = 1 << 21
"""Nodes of 32 bytes, 64 MiB in all. A tree that is full grows no more; its leaves are still played out."""
_CHUNK = 256
"""Playouts from one look at the clock to the next: about 0.1 ms on small boards, 4 ms on the largest."""
_ENDLESS = 1 << 30
"""Playouts of one call of a kernel where nothing else bounds them."""


class CompiledTree:
    """The search tree of a game that kernels can play; all its chance comes from `random`."""

    def __init__(self, game: Game, random: Random, settings: Settings, *, most: int = MOST) -> None:
        """Make a tree without a root; the kernels are loaded, and compiled if they never were.

        Raises:
            ValueError: kernels cannot play `game`.
        """
        self._random = random
        self._proves = settings.proves
        self._board = board_for(game, settings)
        self._most = max(most, 2 * game.num_actions + 2)
        self._nodes: NDArray[np.void] = np.zeros(min(_FEWEST, self._most), NODE)
        self._size = 0
        self._history: tuple[int, ...] = ()
        # Loaded here too: the first moves have a clock.
        keep(self._nodes, 1, 0, np.empty(1, np.uint32))
        self.clear()

    def clear(self) -> None:
        """Forget all: a new match begins."""
        self._wipe(0, self._size)
        self._size = 0
        self._board.seed(self._random.getrandbits(64))

    def advance(self, state: State) -> None:
        """Make `state` the root: with all its statistics if it lies in the tree, else anew."""
        known, history = len(self._history), state.history
        root = 0 if self._size and self._history == history[:known] else -1
        for action in history[known:]:
            root = self._child(root, action) if root >= 0 else -1
        size = self._size
        if root < 0:
            self._wipe(0, size)
            self._size = 1
        elif root:
            self._size = int(keep(self._nodes, size, root, np.empty(size, np.uint32)))
            self._wipe(self._size, size)
        if not self._nodes[0]["count"]:
            # What is proven of a leaf does not say by which action.
            self._nodes[0]["proof"] = UNKNOWN
        self._history = history
        self._board.place(state)

    def run(self, budget: Budget) -> int:
        """Make playouts until `budget` is spent or the root is proven; give how many.

        Where it is not proven there is at least one.
        """
        longest = _CHUNK if math.isfinite(budget.deadline) else _ENDLESS
        made = 0
        while not self._is_proven and (not made or (made < budget.nodes and not budget.is_late)):
            wanted = 1 if budget.is_late else min(max(budget.nodes - made, 1), longest)
            made += self._grow(int(wanted))
        return made

    def edges(self) -> Mapping[int, Edge]:
        """Give what is known of each action that was tried at the root."""
        return {int(node["action"]): _edge(node) for node in self._children(0) if node["visits"]}

    def line(self, action: int) -> list[int]:
        """Give the actions of most visits from the root's `action` on, that one first."""
        number = self._child(0, action)
        line = [action]
        while len(children := self._children(number)):
            best = int(np.lexsort((children["value"], children["visits"]))[-1])
            if not children[best]["visits"]:
                break
            number = int(self._nodes[number]["first"]) + best
            line.append(int(children[best]["action"]))
        return line

    @property
    def _is_proven(self) -> bool:
        return self._proves and bool(self._nodes[0]["proof"])

    def _grow(self, playouts: int) -> int:
        """Make `playouts`, fewer if the root is proven; give how many."""
        made = 0
        while made < playouts and not self._is_proven:
            capacity = len(self._nodes)
            size, some = self._board.grow(
                self._nodes, self._size, playouts - made, is_last=capacity >= self._most
            )
            self._size, made = int(size), made + int(some)
            if made < playouts and capacity < self._most:
                nodes = np.zeros(min(2 * capacity, self._most), NODE)
                nodes[: self._size] = self._nodes[: self._size]
                self._nodes = nodes
        return made

    def _wipe(self, start: int, end: int) -> None:
        # Bytes, for NumPy would set field by field.
        self._nodes[start:end].view(np.uint8)[:] = 0

    def _children(self, number: int) -> NDArray[np.void]:
        first, count = int(self._nodes[number]["first"]), int(self._nodes[number]["count"])
        return self._nodes[first : first + count]

    def _child(self, number: int, action: int) -> int:
        """Give the number of the child by `action`; -1 if there is none."""
        found = np.flatnonzero(self._children(number)["action"] == action)
        return int(self._nodes[number]["first"]) + int(found[0]) if len(found) else -1


def _edge(node: np.void) -> Edge:
    proof = int(node["proof"])
    return Edge(int(node["visits"]), float(node["value"]), None if proof == UNKNOWN else DRAW - proof)
