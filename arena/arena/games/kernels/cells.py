"""What kernels know of a k-in-a-row game of any size: a board of cells, with a wall around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.layout import rules_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena_plugins.contract import Game, State

EMPTY, MOVER, OTHER, WALL = 0, 1, 2, 3
"""What is on a place: nothing, a stone of the side to move at the start, one of the other, or no cell."""


class CellLayout(NamedTuple):
    """A k-in-a-row game on places in rows, row 0 on top; a wall after each row, and rows of walls around.

    So neighbouring places lie 1, `stride - 1`, `stride` or `stride + 1` apart.
    """

    num_actions: int
    """Actions are the ints from 0."""
    k: int
    """Stones in a line that win, at least 2."""
    exact: bool
    """Whether a longer row does not win."""
    gravity: bool
    """Whether stones drop; else each action is a cell."""
    stride: int
    """Places from one row to the next."""
    starts: NDArray[np.uint16]
    """Where the first stone of each action lands; `[num_actions]`."""
    actions: NDArray[np.uint16]
    """Action that fills each place; 0 for a wall; `[num_places]`."""
    cells: NDArray[np.uint16]
    """Place of each cell of a state; `[rows * columns]`."""


def cell_layout_of(game: Game) -> CellLayout | None:
    """Give the layout of `game`; None if kernels cannot play it: it is another kind of game."""
    rules = rules_of(game)
    if rules is None:
        return None
    board = rules.board
    row, col = np.divmod(np.arange(board.rows * board.cols), board.cols)
    stride = board.cols + 1
    cells = ((row + 1) * stride + col).astype(np.uint16)
    gravity = board.lows != board.columns
    actions = np.zeros((board.rows + 2) * stride + 1, np.uint16)
    actions[cells] = col if gravity else np.arange(len(cells))
    starts = cells[-board.cols :] if gravity else cells
    return CellLayout(game.num_actions, board.k, board.exact, gravity, stride, starts, actions, cells)


def new_board(layout: CellLayout) -> NDArray[np.uint8]:
    """Give an empty board: `[num_places]`."""
    board = np.full(len(layout.actions), WALL, np.uint8)
    board[layout.cells] = EMPTY
    return board


def set_board(board: NDArray[np.uint8], state: State, layout: CellLayout) -> int:
    """Put the stones of `state` on `board`; give the number of empty cells."""
    cells = np.array(state.cells, np.uint8)
    # 1 and 2 stand for the first and the second player there, for the mover and the other here.
    board[layout.cells] = np.array([EMPTY, OTHER, MOVER], np.uint8)[cells] if state.current_player else cells
    return int(np.count_nonzero(cells == EMPTY))
