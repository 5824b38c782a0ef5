"""UCT with compiled kernels: the tree of one match, its memory, and what it says of the root."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from arena_bots.search.uct import Edge
from arena_bots.search.uct_boards import NEVER, board_for
from arena_bots.search.uct_tree import DRAW, NODE, UNKNOWN, keep

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from numpy.typing import NDArray

    from arena_bots.search.budget import Budget
    from arena_bots.search.uct import Settings
    from arena_plugins.contract import Game, State

MOST = 1 << 21
"""Nodes of 32 bytes, 64 MiB in all. A tree that is full grows no more; its leaves are still played out."""
NEW_NODES = 1 << 12
"""New nodes between two looks at the clock. In a decided position a playout is short, but each of them may
add a node for every empty cell."""
PLIES = 1 << 15
"""Plies of rollouts between two looks at the clock, at most: 0.5 ms on small boards, 2 ms on the largest."""
_ENDLESS = 1 << 30
"""Playouts of one call of a kernel without a deadline."""


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
        # The system hands out memory page by page as nodes are written. An array that is copied into a larger
        # one, as it fills up, would take 20 ms at once, with no look at the clock.
        self._nodes: NDArray[np.void] = np.zeros(max(most, 2 * game.num_actions + 2), NODE)
        self._plies = game.max_length
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
        is_timed = math.isfinite(budget.deadline)
        most = max(PLIES // self._plies, 1) if is_timed else _ENDLESS
        made = 0
        while not self._is_proven and (not made or (made < budget.nodes and not budget.is_late)):
            wanted = 1 if budget.is_late else int(min(max(budget.nodes - made, 1), most))
            pause = self._size + NEW_NODES if is_timed else NEVER
            size, some = self._board.grow(self._nodes, self._size, wanted, pause)
            self._size, made = int(size), made + int(some)
        return made

    def edges(self) -> Mapping[int, Edge]:
        """Give what is known of each action that was tried at the root."""
        children = self._children(0)
        children = children[children["visits"] > 0]
        columns = (children[name].tolist() for name in ("action", "visits", "value", "proof"))
        return {
            action: Edge(visits, mean, None if proof == UNKNOWN else DRAW - proof)
            for action, visits, mean, proof in zip(*columns, strict=True)
        }

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
