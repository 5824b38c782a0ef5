"""The form in which kernels see a k-in-a-row game of any size: a board of cells, surrounded by walls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.layout import rules_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena_plugins.contract import Game, State

EMPTY, MOVER, OTHER, WALL = 0, 1, 2, 3
"""Contents of a place: nothing, a stone of the side to move at the start, one of the other side, a wall."""


class CellLayout(NamedTuple):
    """A k-in-a-row game on a flat array of places, row 0 on top, with walls around the cells.

    One wall follows each row, and there is a row of walls above and below. Runs therefore stop without bounds
    checks. Neighbouring places are 1, `stride - 1`, `stride` or `stride + 1` apart.
    """

    num_actions: int
    """Actions are the ints in `[0, num_actions)`."""
    k: int
    """Number of stones in a row that win, at least 2."""
    exact: bool
    """Whether a row longer than k does not win."""
    gravity: bool
    """Whether stones drop; otherwise each action is a cell."""
    stride: int
    """Number of places from one row to the next."""
    starts: NDArray[np.uint16]
    """The place where the first stone of each action lands; `[num_actions]`."""
    actions: NDArray[np.uint16]
    """The action that fills each place, 0 for a wall; `[num_places]`."""
    cells: NDArray[np.uint16]
    """The place of each cell of a state; `[rows * columns]`."""


def cell_layout_of(game: Game) -> CellLayout | None:
    """Return the layout of `game`, or None if it is not a k-in-a-row game that kernels can play."""
    rules = rules_of(game)
    if rules is None:
        return None
    board = rules.board
    row, col = np.divmod(np.arange(board.rows * board.cols), board.cols)
    stride = board.cols + 1
    cells = ((row + 1) * stride + col).astype(np.uint16)
    gravity = board.lows != board.columns
    # The diagonal neighbour of the first cell has index -1, which is the last place, which is a wall, too.
    actions = np.zeros((board.rows + 2) * stride + 1, np.uint16)
    actions[cells] = col if gravity else np.arange(len(cells))
    starts = cells[-board.cols :] if gravity else cells
    return CellLayout(game.num_actions, board.k, board.exact, gravity, stride, starts, actions, cells)


def new_board(layout: CellLayout) -> NDArray[np.uint8]:
    """Return an empty board with its walls; `[num_places]`."""
    board = np.full(len(layout.actions), WALL, np.uint8)
    board[layout.cells] = EMPTY
    return board


def set_board(board: NDArray[np.uint8], state: State, layout: CellLayout) -> int:
    """Copy the stones of `state` to `board`; return the number of empty cells."""
    cells = np.array(state.cells, np.uint8)
    # States number stones by player (1 first, 2 second); the board numbers them by mover and other side.
    board[layout.cells] = np.array([EMPTY, OTHER, MOVER], np.uint8)[cells] if state.current_player else cells
    return int(np.count_nonzero(cells == EMPTY))
