"""The data of a compiled alpha-beta search: the path from the root, its moves, the principal variations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arena.games.kernels.compiling import inline_kernel
from arena_bots.search.alphabeta_board import WON

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from arena_bots.search.alphabeta_board import AlphaBetaGeometry

# Indices in `AlphaBetaSearch.numbers`: plies of this depth, plies played before the search, level to resume
# at, states visited, their maximum, stones tried, number of stones at which to pause, whether any leaf was
# undecided, age of table entries, number of hash bits to discard.
PLIES, PLAYED, LEVEL, NODES, MAX_NODES, STONES, PAUSE, OPEN, AGE, SHIFT = range(10)
NUM_NUMBERS = 10
# Columns of `AlphaBetaSearch.frames`: bounds of the score, the initial lower bound, best score, its action,
# number of moves, number of moves tried, the action tried last, its cell, whether it was searched with the
# full window, and whether the window is wider than one point.
ALPHA, BETA, FLOOR, BEST, ACTION, COUNT, INDEX, TRIED, CELL, FULL, WIDE = range(11)
NUM_COLUMNS = 11

UNKNOWN = 1 << 40
"""Marks a position that has no score yet and must be searched."""
LOST = -2 * WON
"""Less than any score."""
ACTION_BITS = 10
"""Bits of an action within a move; boards have at most 676 cells."""
ACTION_MASK = (1 << ACTION_BITS) - 1


class AlphaBetaSearch(NamedTuple):
    """A search in progress; levels count plies from the root, which is level 0."""

    numbers: NDArray[np.int64]
    """Values of the whole search, at the indices above; `[NUM_NUMBERS]`."""
    frames: NDArray[np.int64]
    """Values of the position at each level, in the columns above; `[levels, NUM_COLUMNS]`."""
    moves: NDArray[np.int64]
    """Moves at each level: the action in the low bits, its merit in the others; `[levels, num_actions]`."""
    lines: NDArray[np.int16]
    """Principal variations from each level, then those of each root action. Element 0 is the length;
    `[levels + num_actions, levels + 1]`."""
    scores: NDArray[np.int64]
    """Score of each root action, exact for the best ones, otherwise a bound; `[num_actions]`."""
    history: NDArray[np.int64]
    """How much a stone of each player on a cell has refuted, for the history heuristic; `[2, cells]`."""
    table: NDArray[np.int64]
    """The transposition table: keys, and what is known of the positions; `[entries, 2]`."""


@inline_kernel
def player_at(search: AlphaBetaSearch, level: int) -> int:
    """Return the side to move at `level`."""
    return (search.numbers[PLAYED] + level) & 1


@inline_kernel
def num_empty(geometry: AlphaBetaGeometry, search: AlphaBetaSearch, level: int) -> int:
    """Return the number of empty cells at `level`."""
    return geometry.rows * geometry.columns - search.numbers[PLAYED] - level


@inline_kernel
def say(search: AlphaBetaSearch, level: int, action: int) -> None:
    """Set the variation at `level` to `action` alone."""
    search.lines[level, 0] = 1
    search.lines[level, 1] = action


@inline_kernel
def say_line(search: AlphaBetaSearch, source: int, target: int, action: int) -> None:
    """Set variation `target` to `action` followed by variation `source`."""
    lines = search.lines
    length = lines[source, 0]
    lines[target, 0] = length + 1
    lines[target, 1] = action
    for number in range(1, length + 1):
        lines[target, number + 1] = lines[source, number]


@inline_kernel
def pick(search: AlphaBetaSearch, level: int) -> bool:
    """Select the untried move of highest merit; return False if none is left or the position is refuted."""
    frame, moves = search.frames[level], search.moves[level]
    index = frame[INDEX]
    if index == frame[COUNT] or frame[ALPHA] >= frame[BETA]:
        return False
    # Selection instead of sorting: most positions are refuted by one of their first moves.
    best = index
    for number in range(index + 1, frame[COUNT]):
        if moves[number] > moves[best]:
            best = number
    moves[index], moves[best] = moves[best], moves[index]
    frame[INDEX] = index + 1
    frame[TRIED] = moves[index] & ACTION_MASK
    return True
