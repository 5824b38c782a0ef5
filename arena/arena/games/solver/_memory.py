"""Memory of a Connect Four search: counters, move lists, weights of the move order, transposition tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.bits import bit_number
from arena.games.kernels.compiling import inline_kernel
from arena.games.kernels.layout import WORD
from arena.games.solver._stones import NUM_ACTIONS, STRIDE

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The parts of the array have room between them: the move lists end at 302, the weights at 11,702, the
# success of 2 x 49 cells at 11,874.
_TOP_BITS = 2
"""Index of the logarithm (base 2) of the upper table's size."""
MOVES = 8
"""Index of the move lists: seven items per ply."""
ORDER = 512
"""Index of the weights of the learned move order; see `arena.games.solver._ordering`."""
_SUCCESS = 11_776
"""Index of the success of each cell, by side to move; see `success`."""
_MOST_SUCCESS = 500
"""Largest magnitude of a cell's success: half that of a merit, see `_ordering`."""
LAST_NOTED = 36
"""Before this ply, refutations are noted, and the success of a cell counts for the order."""
TABLES = _DEEP = 12_288
"""Index of the tables, of which the lower one is first."""
_DEEP_BITS = 16
"""Logarithm (base 2) of the lower table's size: half a megabyte, which stays in the processor's cache.

Almost all positions of a search are near its leaves: from ply 18, a single table of 8 MB took twice the time.
"""
_DEEP_PLY = 24
"""First ply of positions in the lower table; earlier ones are in the upper table, whose size is
configurable."""
_TOP = _DEEP + (1 << _DEEP_BITS)
_MIRRORED = 14
"""Before this ply, mirror images share an entry; later, computing the mirror image costs more than it
saves."""

# 2^64 divided by the golden ratio: Fibonacci hashing (Knuth, TAOCP vol. 3, section 6.4).
_MIX = np.uint64(0x9E3779B97F4A7C15)
_BITS = 49
STONE = _KEY = (1 << _BITS) - 1
"""Lower bits of an item of a move list: its stone."""
# A score is between -21 and 21, as each side has 21 stones, so it fits 6 bits.
_SCORE = 63
_ZERO = 32
"""Added to a score to make it positive."""
_LOW_AT = 6
"""Lowest bit of the lower bound in an entry; the upper bound is below it."""
_KEY_AT = 12
"""Lowest bit of the key in an entry."""
_WORTH_AT = 61
"""Lowest bit of the class of cost in an entry: two bits, and the sign stays 0."""
_COSTS = (64, 1024, 16_384)
"""Nodes from which a result belongs to the next class of cost."""
COLUMN_BITS = 127
"""The bits of the first column: six cells and a guard bit."""
_AT = tuple(STRIDE * column for column in range(NUM_ACTIONS))
"""Lowest bit of each column; also the distance of two columns that are so many apart."""


def new_memory(top_bits: int, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the memory of a search whose upper table has `2 ** top_bits` entries of 8 bytes.

    `order` are the weights of the learned move order.

    It is a single array, since every array passed between kernels costs seven machine words: with three
    arrays a node took twice the time.
    """
    memory = np.zeros(_TOP + (1 << top_bits), np.int64)
    memory[_TOP_BITS] = top_bits
    memory[ORDER : ORDER + len(order)] = order
    return memory


def forget(memory: NDArray[np.int64]) -> None:
    """Clear what searches have found, so that the next one runs as with new memory."""
    memory[_SUCCESS:] = 0


@inline_kernel
def key_of(own: int, mask: int, ply: int) -> int:
    """Return the unique key of a position, from the stones of the side to move and all stones.

    The sum is unique: in each column the highest set bit gives the height, and the bits below it the owners.
    """
    # A column of `own + mask` is at most 63 + 63, so no carry leaves its seven bits.
    key = own + mask
    return min(key, mirrored(key)) if ply < _MIRRORED else key


@inline_kernel
def mirrored(board: int) -> int:
    """Reverse the order of the columns of a board of stones or of a key."""
    # Columns 0 and 6 are six columns apart, 1 and 5 four, 2 and 4 two; column 3 stays.
    outer = (board & COLUMN_BITS) << _AT[6] | (board >> _AT[6]) & COLUMN_BITS
    middle = (board & COLUMN_BITS << _AT[1]) << _AT[4] | (board >> _AT[4]) & COLUMN_BITS << _AT[1]
    inner = (board & COLUMN_BITS << _AT[2]) << _AT[2] | (board >> _AT[2]) & COLUMN_BITS << _AT[2]
    return outer | middle | inner | board & COLUMN_BITS << _AT[3]


@inline_kernel
def find(memory: NDArray[np.int64], key: int, ply: int) -> int:
    """Return the entry of a position, 0 if there is none; see `lower` and `upper`."""
    # Each key may be in two adjacent slots.
    slot = _slot(memory, key, ply)
    entry = memory[slot]
    if (entry >> _KEY_AT) & _KEY != key:
        entry = memory[slot + 1]
        if (entry >> _KEY_AT) & _KEY != key:
            return 0
    # The empty board has key 0, like an unused slot, whose entry is 0, which also means that there is none.
    return entry


@inline_kernel
def lower(entry: int) -> int:
    """Return the smallest possible score of a position, from its entry."""
    return ((entry >> _LOW_AT) & _SCORE) - _ZERO


@inline_kernel
def upper(entry: int) -> int:
    """Return the largest possible score of a position, from its entry."""
    return (entry & _SCORE) - _ZERO


@inline_kernel
def keep(memory: NDArray[np.int64], key: int, ply: int, low: int, high: int, work: int) -> None:
    """Store that the score is between `low` and `high`, found in `work` nodes.

    Of the two slots for a key, the first keeps the more expensive result, the second the latest one.
    """
    worth = (work >= _COSTS[0]) + (work >= _COSTS[1]) + (work >= _COSTS[2])
    # From the top: 2 bits of cost, 49 of the key, 6 of the lower and 6 of the upper bound. The sign is never
    # set.
    entry = worth << _WORTH_AT | key << _KEY_AT | (low + _ZERO) << _LOW_AT | (high + _ZERO)
    slot = _slot(memory, key, ply)
    former = memory[slot]
    # The new bounds are at least as narrow as the former ones, because the search started from those.
    if (former >> _KEY_AT) & _KEY == key:
        memory[slot] = entry
    elif worth >= former >> _WORTH_AT:
        memory[slot] = entry
        memory[slot + 1] = former
    else:
        memory[slot + 1] = entry


@inline_kernel
def success(memory: NDArray[np.int64], ply: int, stone: int) -> int:
    """Return how much better than its place in the order a stone has been in the searches so far.

    This is the history heuristic (Schaeffer, The History Heuristic and Alpha-Beta Search Enhancements in
    Practice, 1989), but it also counts the stones that failed.
    """
    return memory[_SUCCESS + _BITS * (ply & 1) + int(bit_number(np.uint64(stone)))]


@inline_kernel
def note_refutation(memory: NDArray[np.int64], ply: int, refuting: int) -> None:
    """Count for `success` that the item at index `refuting` refuted a position, and none before it."""
    if ply >= LAST_NOTED:
        return
    begin, base = MOVES + NUM_ACTIONS * ply, _SUCCESS + _BITS * (ply & 1)
    for item in range(begin, refuting):
        cell = base + int(bit_number(np.uint64(memory[item] & STONE)))
        memory[cell] = max(memory[cell] - 1, -_MOST_SUCCESS)
    cell = base + int(bit_number(np.uint64(memory[refuting] & STONE)))
    memory[cell] = min(memory[cell] + refuting - begin, _MOST_SUCCESS)


@inline_kernel
def _slot(memory: NDArray[np.int64], key: int, ply: int) -> int:
    """Return the first of the two slots for a key."""
    mixed = np.uint64(key) * _MIX
    # The multiplication leaves the best-mixed bits at the top; the lowest bit is cleared to get an even slot.
    if ply >= _DEEP_PLY:
        return _DEEP + (int(np.int64(mixed >> np.uint64(WORD - _DEEP_BITS))) & ~1)
    return _TOP + (int(np.int64(mixed >> np.uint64(WORD - memory[_TOP_BITS]))) & ~1)
