"""The boards for compiled UCT: 64-bit words, or cells for boards of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from arena.games.kernels.cell_tactics import find_threats
from arena.games.kernels.cells import cell_layout_of, new_board, set_board
from arena.games.kernels.chance import seeded
from arena.games.kernels.layout import layout_of, words_of
from arena_bots.search.uct_cells import grow_cells
from arena_bots.search.uct_tree import NODE, selection
from arena_bots.search.uct_words import grow_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.cells import CellLayout
    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout
    from arena_bots.search.uct import TreeSettings
    from arena_plugins.contract import Game, State


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


def board_for(game: Game, settings: TreeSettings) -> PlayoutRoot:
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
