"""Random playouts on boards of cells, for games of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.cells import EMPTY, MOVER, OTHER
from arena.games.kernels.chance import draw
from arena.games.kernels.compiling import inline_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.cells import CellLayout
    from arena.games.kernels.compiling import Int


@inline_kernel
def run_length(board: NDArray[np.uint8], place: Int, step: Int, stone: Int) -> Int:
    """Return the number of consecutive stones of kind `stone` after `place`, in steps of `step`."""
    length = 0
    place += step
    # No bounds check: a wall is no stone, so every run ends at it at the latest.
    while board[place] == stone:
        length += 1
        place += step
    return length


@inline_kernel
def is_line(length: Int, layout: CellLayout) -> bool:
    """Return whether a row of `length` stones wins."""
    return bool(length == layout.k if layout.exact else length >= layout.k)


@kernel
def makes_line(board: NDArray[np.uint8], place: Int, stone: Int, layout: CellLayout) -> bool:
    """Return whether a `stone` on `place`, which may be empty or hold it already, is part of a line."""
    # Only lines through the new stone can be new; each direction is followed both ways.
    for step in (1, layout.stride - 1, layout.stride, layout.stride + 1):
        length = 1 + run_length(board, place, step, stone) + run_length(board, place, -step, stone)
        if is_line(length, layout):
            return True
    return False


@inline_kernel
def is_landing(board: NDArray[np.uint8], place: Int, layout: CellLayout) -> bool:
    """Return whether a stone can land on the cell `place`."""
    # Row 0 is on top, so the cell below is one stride further. A wall below supports a stone, too.
    return board[place] == EMPTY and not (layout.gravity and board[place + layout.stride] == EMPTY)


@inline_kernel
def landing(board: NDArray[np.uint8], action: Int, layout: CellLayout) -> Int:
    """Return the place where a stone of `action` lands; if it holds no empty cell, the action is illegal."""
    return climbed(board, np.int64(layout.starts[action]), layout)


@inline_kernel
def climbed(board: NDArray[np.uint8], place: Int, layout: CellLayout) -> Int:
    """Return the first place without a stone, from `place` upwards; without gravity, `place` itself."""
    if layout.gravity:
        # In a full column this ends at the wall above it.
        while board[place] == MOVER or board[place] == OTHER:
            place -= layout.stride
    return place


@kernel
def list_landings(board: NDArray[np.uint8], free: NDArray[np.uint16], layout: CellLayout) -> Int:
    """Write the places where a stone can land into `free`, in order of actions; return their number."""
    count = 0
    for action in range(layout.num_actions):
        place = landing(board, action, layout)
        if board[place] == EMPTY:
            free[count] = place
            count += 1
    return count


@inline_kernel
def renew(
    board: NDArray[np.uint8], free: NDArray[np.uint16], count: Int, index: Int, layout: CellLayout
) -> Int:
    """Replace the place `free[index]`, which is now occupied, by the one above it, or remove it.

    Returns:
        The new number of places in `free`.
    """
    place = climbed(board, np.int64(free[index]), layout)
    if board[place] == EMPTY:
        free[index] = place
        return count
    # The last place fills the gap. The order of places does not matter, because all are equally likely.
    free[index] = free[count - 1]
    return count - 1


@kernel
def uniform_cell_playout(
    board: NDArray[np.uint8],
    mover: Int,
    layout: CellLayout,
    free: NDArray[np.uint16],
    chance: NDArray[np.uint64],
) -> Int:
    """Play to the end with all actions equally likely; return the result for `mover`, who is to move.

    Args:
        board: the position; it holds the final position afterwards.
        mover: the side to move, MOVER or OTHER.
        layout: the game.
        free: scratch space of `[num_actions]` places.
        chance: the random state, advanced.

    Returns:
        1 for a win of `mover`, -1 for a loss, 0 for a draw.
    """
    count = list_landings(board, free, layout)
    state = chance[0]
    # The random state is in a local variable, which stays in a register, until the end.
    stone, result = mover, 0
    while count:
        state, index = draw(state, count)
        place = np.int64(free[index])
        board[place] = stone
        if makes_line(board, place, stone, layout):
            result = 1 if stone == mover else -1
            break
        count = renew(board, free, count, index, layout)
        # Exchanges MOVER and OTHER.
        stone = MOVER + OTHER - stone
    chance[0] = state
    return result
