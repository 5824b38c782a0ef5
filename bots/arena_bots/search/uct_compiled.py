"""UCT with compiled kernels: the tree of one match on either kind of board, its memory, its results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from arena.games.kernels.cell_tactics import find_threats
from arena.games.kernels.cells import cell_layout_of, new_board, set_board
from arena.games.kernels.chance import seeded
from arena.games.kernels.layout import layout_of, words_of
from arena_bots.search.uct import Edge
from arena_bots.search.uct_kernels import grow_cells, grow_words
from arena_bots.search.uct_tree import DRAW, NODE, UNKNOWN, keep, selection

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from numpy.typing import NDArray

    from arena.games.kernels.cells import CellLayout
    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout
    from arena_bots.search.budget import Budget
    from arena_bots.search.uct import TreeSettings
    from arena_plugins.contract import Game, State

MOST = 1 << 21
"""Maximum number of nodes, 32 bytes each, 64 MiB in total; leaves of a full tree are still played out."""
NEW_NODES = 1 << 12
"""New nodes between two reads of the clock. In a decided position playouts are short, but each may add a node
for every empty cell."""
PLIES = 1 << 15
"""Maximum plies of rollouts between two reads of the clock: 0.5 ms on small boards, 2 ms on the largest."""
_ENDLESS = 1 << 30
"""Playouts per kernel call without a deadline."""


class CompiledTree:
    """The search tree of a game that kernels support; all its randomness comes from `random`."""

    def __init__(self, game: Game, random: Random, settings: TreeSettings, *, most: int = MOST) -> None:
        """Make a tree without a root; kernels are loaded, or compiled if they are not cached.

        Raises:
            ValueError: kernels do not support `game`.
        """
        self._random = random
        self._proves = settings.proves
        self._board = _board_for(game, settings)
        # Allocated once at full size: the system provides pages as nodes are written. Growing by copying to a
        # larger array would take 20 ms at once without a read of the clock.
        self._nodes: NDArray[np.void] = np.zeros(max(most, 2 * game.num_actions + 2), NODE)
        self._plies = game.max_length
        self._size = 0
        self._history: tuple[int, ...] = ()
        # Loaded here as well, because the first moves are timed.
        keep(self._nodes, 1, 0, np.empty(1, np.uint32))
        self.clear()

    def clear(self) -> None:
        """Discard everything, because a new match begins."""
        self._wipe(0, self._size)
        self._size = 0
        self._board.seed(self._random.getrandbits(64))

    def advance(self, state: State) -> None:
        """Make `state` the root; keep its statistics if it is in the tree, else start a new tree."""
        known, history = len(self._history), state.history
        # The new state continues the known match; otherwise the tree is of another one.
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
            # The proof of a leaf does not tell which action achieves it, so the root must be searched.
            self._nodes[0]["proof"] = UNKNOWN
        self._history = history
        self._board.place(state)

    def run(self, budget: Budget) -> int:
        """Make playouts until `budget` is exhausted or the root is proven; return their number.

        If the root is not proven, at least one playout is made.
        """
        is_timed = math.isfinite(budget.deadline)
        most = max(PLIES // self._plies, 1) if is_timed else _ENDLESS
        made = 0
        while not self._is_proven and (not made or (made < budget.nodes and not budget.is_late)):
            # Even if time is up before the first playout: an answer needs one tried action.
            wanted = 1 if budget.is_late else int(min(max(budget.nodes - made, 1), most))
            # The kernel cannot read the clock, so it returns after a number of new nodes.
            pause = self._size + NEW_NODES if is_timed else NEVER
            size, some = self._board.grow(self._nodes, self._size, wanted, pause)
            self._size, made = int(size), made + int(some)
        return made

    def edges(self) -> Mapping[int, Edge]:
        """Return the statistics of each action tried at the root."""
        children = self._children(0)
        children = children[children["visits"] > 0]
        columns = (children[name].tolist() for name in ("action", "visits", "value", "proof"))
        return {
            action: Edge(visits, mean, None if proof == UNKNOWN else DRAW - proof)
            for action, visits, mean, proof in zip(*columns, strict=True)
        }

    def line(self, action: int) -> list[int]:
        """Return the sequence of most visited actions that starts with the root's `action`."""
        number = self._child(0, action)
        line = [action]
        while len(children := self._children(number)):
            # The last key counts most: visits first, then the mean.
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
        # As bytes, because NumPy would assign field by field.
        self._nodes[start:end].view(np.uint8)[:] = 0

    def _children(self, number: int) -> NDArray[np.void]:
        first, count = int(self._nodes[number]["first"]), int(self._nodes[number]["count"])
        return self._nodes[first : first + count]

    def _child(self, number: int, action: int) -> int:
        """Return the number of the child for `action`, or -1."""
        found = np.flatnonzero(self._children(number)["action"] == action)
        return int(self._nodes[number]["first"]) + int(found[0]) if len(found) else -1


NEVER = 1 << 62
"""Value of `pause` in `PlayoutRoot.grow` that exceeds the size of any tree."""


class PlayoutRoot(Protocol):
    """The root position, and the kernel that plays from it."""

    def seed(self, seed: int) -> None:
        """Draw all randomness from `seed` from now on."""
        ...

    def place(self, state: State) -> None:
        """Make `state` the root position."""
        ...

    def grow(self, nodes: NDArray[np.void], size: int, playouts: int, pause: int) -> tuple[Int, Int]:
        """Make `playouts`; stop early once the root is proven or the tree has `pause` nodes.

        Once `nodes` is full, leaves are played out without adding children.

        Returns:
            The number of nodes in the tree, and the number of playouts made.
        """
        ...


def _board_for(game: Game, settings: TreeSettings) -> PlayoutRoot:
    """Make the fastest board that supports `game`, with its kernel loaded.

    Raises:
        ValueError: kernels do not support `game`.
    """
    board: PlayoutRoot
    if layout := layout_of(game):
        board = WordBoard(layout, settings)
    elif cell_layout := cell_layout_of(game):
        board = CellBoard(cell_layout, settings)
    else:
        raise ValueError(f"there are no kernels for {game.name}")
    # Load or compile the kernel now, because the first move of a match is timed.
    board.place(game.initial_state())
    board.grow(np.zeros(game.num_actions + 1, NODE), 1, 1, NEVER)
    return board


class WordBoard:
    """A board in 64-bit words."""

    def __init__(self, layout: Layout, settings: TreeSettings) -> None:
        self._layout = layout
        self._rule = selection(settings.c, is_puct=settings.is_puct)
        self._proves = settings.proves
        self._path = np.zeros(layout.max_length + 1, np.uint32)
        # The type of this argument decides for which kind of rollout the kernel is compiled.
        self._free = None if settings.is_tactical else np.zeros(layout.num_actions, np.uint64)
        self._chance = seeded(0)
        self._own = self._opp = np.uint64(0)

    def seed(self, seed: int) -> None:
        """Draw all randomness from `seed` from now on."""
        self._chance = seeded(seed)

    def place(self, state: State) -> None:
        """Make `state` the root position."""
        self._own, self._opp = words_of(state)

    def grow(self, nodes: NDArray[np.void], size: int, playouts: int, pause: int) -> tuple[Int, Int]:
        """Make up to `playouts`, see `PlayoutRoot.grow`; return the number of nodes and of playouts made."""
        return grow_words(
            nodes,
            size,
            playouts,
            pause,
            self._own,
            self._opp,
            self._layout,
            self._rule,
            self._proves,
            self._path,
            self._free,
            self._chance,
        )


class CellBoard:
    """A board of cells."""

    def __init__(self, layout: CellLayout, settings: TreeSettings) -> None:
        num_cells = len(layout.cells)
        self._layout = layout
        self._rule = selection(settings.c, is_puct=settings.is_puct)
        self._is_uniform = None if settings.is_tactical else True
        self._proves = settings.proves
        self._boards = np.array([new_board(layout)] * 2)
        self._num_empty = num_cells
        self._threats = np.zeros((2, 3, 1 + num_cells), np.uint16)
        self._path = np.zeros(1 + num_cells, np.uint32)
        self._free = np.zeros(layout.num_actions, np.uint16)
        self._chance = seeded(0)

    def seed(self, seed: int) -> None:
        """Draw all randomness from `seed` from now on."""
        self._chance = seeded(seed)

    def place(self, state: State) -> None:
        """Make `state` the root position."""
        self._num_empty = set_board(self._boards[0], state, self._layout)
        if self._proves or not self._is_uniform:
            find_threats(self._boards[0], self._threats[0], self._layout)

    def grow(self, nodes: NDArray[np.void], size: int, playouts: int, pause: int) -> tuple[Int, Int]:
        """Make up to `playouts`, see `PlayoutRoot.grow`; return the number of nodes and of playouts made."""
        return grow_cells(
            nodes,
            size,
            playouts,
            pause,
            self._boards,
            self._num_empty,
            self._threats,
            self._layout,
            self._rule,
            self._is_uniform,
            self._proves,
            self._path,
            self._free,
            self._chance,
        )
