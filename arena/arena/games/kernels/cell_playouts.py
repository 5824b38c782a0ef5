"""Matches played to the end by chance, on boards of cells of any size."""

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
    """Give how many of `stone` follow each other from the place after `place`, one every `step`."""
    length = 0
    place += step
    while board[place] == stone:
        length += 1
        place += step
    return length


@inline_kernel
def is_line(length: Int, layout: CellLayout) -> bool:
    """Tell whether a row of `length` stones wins."""
    return bool(length == layout.k if layout.exact else length >= layout.k)


@kernel
def makes_line(board: NDArray[np.uint8], place: Int, stone: Int, layout: CellLayout) -> bool:
    """Tell whether `stone` on `place`, where it may lie already, is part of a line."""
    for step in (1, layout.stride - 1, layout.stride, layout.stride + 1):
        length = 1 + run_length(board, place, step, stone) + run_length(board, place, -step, stone)
        if is_line(length, layout):
            return True
    return False


@inline_kernel
def is_landing(board: NDArray[np.uint8], place: Int, layout: CellLayout) -> bool:
    """Tell whether a stone can land on `place`, a cell."""
    return board[place] == EMPTY and not (layout.gravity and board[place + layout.stride] == EMPTY)


@inline_kernel
def landing(board: NDArray[np.uint8], action: Int, layout: CellLayout) -> Int:
    """Give the place where the stone of `action` comes to lie; it is no empty cell where there is none."""
    return climbed(board, np.int64(layout.starts[action]), layout)


@inline_kernel
def climbed(board: NDArray[np.uint8], place: Int, layout: CellLayout) -> Int:
    """Give the first place without a stone from `place` on upwards; without gravity, `place`."""
    if layout.gravity:
        while board[place] == MOVER or board[place] == OTHER:
            place -= layout.stride
    return place


@kernel
def list_landings(board: NDArray[np.uint8], free: NDArray[np.uint16], layout: CellLayout) -> Int:
    """Write the places where a stone can land into `free`, by action; give their number."""
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
    """Replace place `index` of `free`, where a stone lies now, or drop it; give how many places there are."""
    place = climbed(board, np.int64(free[index]), layout)
    if board[place] == EMPTY:
        free[index] = place
        return count
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
    """Play on with all actions equally likely; give the result for `mover`, whose turn it is: 1, 0 or -1.

    The stones stay on `board`; `free` is room for `[num_actions]` places.
    """
    count = list_landings(board, free, layout)
    state = chance[0]
    stone, result = mover, 0
    while count:
        state, index = draw(state, count)
        place = np.int64(free[index])
        board[place] = stone
        if makes_line(board, place, stone, layout):
            result = 1 if stone == mover else -1
            break
        count = renew(board, free, count, index, layout)
        stone = MOVER + OTHER - stone
    chance[0] = state
    return result
