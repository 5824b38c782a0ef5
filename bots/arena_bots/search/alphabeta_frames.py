"""What compiled alpha-beta keeps while it searches: the path from the root, its moves, expected actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arena.games.kernels.compiling import inline_kernel
from arena_bots.search.alphabeta_board import WON

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from arena_bots.search.alphabeta_board import Geometry

# Places in `Search.numbers`: plies of this depth, plies played before the search, level to go on from,
# states visited, bound of them, stones tried, stones after which to pause, whether a leaf was no end, age in
# the table, bits of a hash that do not count.
PLIES, PLAYED, LEVEL, NODES, MAX_NODES, STONES, PAUSE, OPEN, AGE, SHIFT = range(10)
NUM_NUMBERS = 10
# Columns of `Search.frames`: bounds of the score, the lower one at first, best score and its action, number
# of moves, of those tried, the action tried last and its cell, whether it was searched between both bounds,
# and whether there is room between the bounds.
ALPHA, BETA, FLOOR, BEST, ACTION, COUNT, INDEX, TRIED, CELL, FULL, WIDE = range(11)
NUM_COLUMNS = 11

UNKNOWN = 1 << 40
"""No score: the position is yet to be searched."""
LOST = -2 * WON
"""Less than any score."""
ACTION_BITS = 10
"""Bits of an action in a move; boards have at most 676 cells."""
ACTION_MASK = (1 << ACTION_BITS) - 1


class Search(NamedTuple):
    """A search under way, in arrays; levels count plies from the root, which is 0."""

    numbers: NDArray[np.int64]
    """What concerns the whole search, at the places named above; `[NUM_NUMBERS]`."""
    frames: NDArray[np.int64]
    """What concerns the position at each level, in the columns named above; `[levels, NUM_COLUMNS]`."""
    moves: NDArray[np.int64]
    """Actions at each level, with what speaks for them in the bits above; `[levels, num_actions]`."""
    lines: NDArray[np.int16]
    """Expected actions from each level on, then those from each action at the root on; number 0 is how many;
    `[levels + num_actions, levels + 1]`."""
    scores: NDArray[np.int64]
    """Score of each action at the root, exact where it is the best, else a bound; `[num_actions]`."""
    history: NDArray[np.int64]
    """How much a stone of each player has refuted; `[2, cells]`."""
    table: NDArray[np.int64]
    """Positions met before: their keys, and what is known of them; `[entries, 2]`."""


@inline_kernel
def player_at(search: Search, level: int) -> int:
    """Give who moves at `level`."""
    return (search.numbers[PLAYED] + level) & 1


@inline_kernel
def num_empty(geometry: Geometry, search: Search, level: int) -> int:
    """Give how many cells are empty at `level`."""
    return geometry.rows * geometry.columns - search.numbers[PLAYED] - level


@inline_kernel
def say(search: Search, level: int, action: int) -> None:
    """Expect `action` from `level` on, and nothing after it."""
    search.lines[level, 0] = 1
    search.lines[level, 1] = action


@inline_kernel
def say_line(search: Search, source: int, target: int, action: int) -> None:
    """Expect `action`, then what stands in line `source`, in line `target`."""
    lines = search.lines
    length = lines[source, 0]
    lines[target, 0] = length + 1
    lines[target, 1] = action
    for number in range(1, length + 1):
        lines[target, number + 1] = lines[source, number]


@inline_kernel
def pick(search: Search, level: int) -> bool:
    """Note the untried action of most merit as tried; False if there is none, or the position is refuted."""
    frame, moves = search.frames[level], search.moves[level]
    index = frame[INDEX]
    if index == frame[COUNT] or frame[ALPHA] >= frame[BETA]:
        return False
    best = index
    for number in range(index + 1, frame[COUNT]):
        if moves[number] > moves[best]:
            best = number
    moves[index], moves[best] = moves[best], moves[index]
    frame[INDEX] = index + 1
    frame[TRIED] = moves[index] & ACTION_MASK
    return True
