"""Incremental threat lists on boards of cells, and playouts that use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.cell_playouts import (
    climbed,
    is_landing,
    is_line,
    list_landings,
    makes_line,
    run_length,
)
from arena.games.kernels.cells import EMPTY, MOVER, OTHER
from arena.games.kernels.chance import draw
from arena.games.kernels.compiling import inline_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.cells import CellLayout
    from arena.games.kernels.compiling import Int

NOWHERE = 0
"""Place 0, which is a wall and never a cell."""
_LOST = -1


@kernel
def find_threats(board: NDArray[np.uint8], threats: NDArray[np.uint16], layout: CellLayout) -> None:
    """Write into `threats[stone]` the number of empty cells where `stone` completes a line, then the cells.

    `threats` is `[3, 1 + rows * columns]`; row 0 is unused.
    """
    for stone in (MOVER, OTHER):
        threats[stone, 0] = 0
        for place in layout.cells:
            if board[place] == EMPTY and makes_line(board, np.int64(place), stone, layout):
                _add(threats, stone, np.int64(place))


@kernel
def note_threats(
    board: NDArray[np.uint8], place: Int, stone: Int, threats: NDArray[np.uint16], layout: CellLayout
) -> bool:
    """Add the threats that a new `stone` on `place` creates; return whether the stone completes a line.

    In each direction, the only candidates are the first cells beyond the run of stones through `place`.
    """
    for step in (1, layout.stride - 1, layout.stride, layout.stride + 1):
        ahead = run_length(board, place, step, stone)
        behind = run_length(board, place, -step, stone)
        # The match is over, so threats in the other directions no longer matter.
        if is_line(1 + ahead + behind, layout):
            return True
        gap = place + (ahead + 1) * step
        # Filling the gap joins the run with the stones behind the gap.
        if board[gap] == EMPTY and is_line(2 + ahead + behind + run_length(board, gap, step, stone), layout):
            _add(threats, stone, gap)
        gap = place - (behind + 1) * step
        if board[gap] == EMPTY and is_line(2 + ahead + behind + run_length(board, gap, -step, stone), layout):
            _add(threats, stone, gap)
    return False


@kernel
def _add(threats: NDArray[np.uint16], stone: Int, place: Int) -> None:
    if not _has(threats, stone, place):
        # No cell is listed twice, so a list is never longer than the board and cannot run over its row.
        count = np.int64(threats[stone, 0]) + 1
        threats[stone, 0] = count
        threats[stone, count] = place


@inline_kernel
def _has(threats: NDArray[np.uint16], stone: Int, place: Int) -> bool:
    for index in range(1, 1 + np.int64(threats[stone, 0])):  # noqa: SIM110 # numba has no generators
        if threats[stone, index] == place:
            return True
    return False


@kernel
def urgent(
    board: NDArray[np.uint8], stone: Int, threats: NDArray[np.uint16], layout: CellLayout
) -> tuple[Int, Int]:
    """Return the number of cells where `stone` completes a line at once, at most 2, and one such cell.

    Threats whose cell has been taken are removed on the way.
    """
    found, place = 0, NOWHERE
    index = np.int64(threats[stone, 0])
    # From the last entry to the first, so that an entry moved into a gap is not examined twice.
    while index and found < 2:  # noqa: PLR2004 # two threats cannot both be parried
        cell = np.int64(threats[stone, index])
        if board[cell] != EMPTY:
            # The cell is taken: overwrite it with the last entry, which has already been examined.
            last = np.int64(threats[stone, 0])
            threats[stone, index] = threats[stone, last]
            threats[stone, 0] = last - 1
        # With exactly k in a row, a later stone may have made the row too long, so it is tested again.
        elif is_landing(board, cell, layout) and (not layout.exact or makes_line(board, cell, stone, layout)):
            found, place = found + 1, cell
        index -= 1
    return found, place


@inline_kernel
def _is_given(
    board: NDArray[np.uint8], place: Int, stone: Int, threats: NDArray[np.uint16], layout: CellLayout
) -> bool:
    """Return whether a stone on `place` lets `stone` complete a line directly above it."""
    above = place - layout.stride
    return layout.gravity and board[above] == EMPTY and _has(threats, stone, above)


@kernel
def _choose(
    board: NDArray[np.uint8],
    other: Int,
    threats: NDArray[np.uint16],
    layout: CellLayout,
    free: NDArray[np.uint16],
    count: Int,
    state: np.uint64,
) -> tuple[np.uint64, Int, Int]:
    """Draw a random place after which `other` cannot win at once.

    Returns:
        The next random state, the number of places left in `free`, and the place; _LOST if every place lets
        `other` win, NOWHERE if there is no place.
    """
    left = count
    while left:
        state, index = draw(state, left)
        place = climbed(board, np.int64(free[index]), layout)
        if board[place] != EMPTY:
            # Nothing can land here any more: drop it and close both gaps (rejected places follow `left`).
            free[index] = free[left - 1]
            free[left - 1] = free[count - 1]
            left, count = left - 1, count - 1
        elif _is_given(board, place, other, threats, layout):
            free[index] = free[left - 1]
            free[left - 1] = place
            left -= 1
        else:
            return state, count, place
    return state, count, _LOST if count else NOWHERE


@kernel
def tactical_cell_playout(
    board: NDArray[np.uint8],
    mover: Int,
    threats: NDArray[np.uint16],
    layout: CellLayout,
    free: NDArray[np.uint16],
    chance: NDArray[np.uint64],
) -> Int:
    """Play to the end at random, but win, parry and avoid giving wins; return the result for `mover`.

    The policy is that of `tactical_playout`. `board` holds the final position afterwards; `threats` must
    describe `board`, and is updated.
    """
    count = list_landings(board, free, layout)
    state = chance[0]
    stone, result = mover, 0
    while True:
        other = MOVER + OTHER - stone
        # First its own win: a player that wins at once need not parry anything.
        if urgent(board, stone, threats, layout)[0]:
            result = 1 if stone == mover else -1
            break
        forced, place = urgent(board, other, threats, layout)
        if not forced:
            state, count, place = _choose(board, other, threats, layout, free, count, state)
            if place == NOWHERE:
                break
        elif forced > 1 or _is_given(board, place, other, threats, layout):
            place = _LOST
        if place == _LOST:
            result = 1 if other == mover else -1
            break
        # `free` still lists the cell: `_choose` finds the next cell of the column, or none, when it draws the
        # entry.
        board[place] = stone
        note_threats(board, place, stone, threats, layout)
        stone = other
    chance[0] = state
    return result
