"""What a Connect Four search keeps between calls: counters, and a table of positions it has bounds for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.compiling import inline_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOP_BITS = 2
"""Index of the logarithm of the size of the upper table."""
MOVES = 8
"""Index of the lists of moves: seven for each ply."""
_DEEP = 512
"""Index of the lower table."""
_DEEP_BITS = 16
"""Logarithm of the size of the lower table: half a megabyte, which stays in the processor's cache.

Almost all positions of a search are near its leaves: from ply 18, one table of 8 MB took twice the time.
"""
_DEEP_PLY = 24
"""From this ply on positions are kept in the lower table, before in the upper one, as large as wanted."""
_TOP = _DEEP + (1 << _DEEP_BITS)
_MIRRORED = 14
"""Before this ply a position and its mirror image share an entry; later it would cost more than it saves."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
_KEY = (1 << 49) - 1
_SCORE = 63
_ZERO = 32
"""Added to a score to make it positive."""
LANE = 127


def new_memory(top_bits: int) -> NDArray[np.int64]:
    """Make the memory of a search, its upper table with `2 ** top_bits` entries of 8 bytes.

    It is one array, for each that a kernel hands on costs seven machine words: with three a node took twice
    the time.
    """
    memory = np.zeros(_TOP + (1 << top_bits), np.int64)
    memory[_TOP_BITS] = top_bits
    return memory


def forget(memory: NDArray[np.int64]) -> None:
    """Empty both tables, so that the next search is that of a new memory."""
    memory[_DEEP:] = 0


@inline_kernel
def key_of(own: int, mask: int, ply: int) -> int:
    """Give the number of a position: of the stones of the side to move and of all stones.

    The sum is unique: in each column the highest set bit tells the height, and those below it the owners.
    """
    key = own + mask
    return min(key, mirrored(key)) if ply < _MIRRORED else key


@inline_kernel
def mirrored(board: int) -> int:
    """Exchange the columns from left to right, on a board of stones or in a key."""
    outer = (board & LANE) << 42 | (board >> 42) & LANE
    middle = (board & LANE << 7) << 28 | (board >> 28) & LANE << 7
    inner = (board & LANE << 14) << 14 | (board >> 14) & LANE << 14
    return outer | middle | inner | board & LANE << 21


@inline_kernel
def find(memory: NDArray[np.int64], key: int, ply: int) -> int:
    """Give the entry of a position, 0 where there is none; see `lower` and `upper`."""
    slot = _slot(memory, key, ply)
    entry = memory[slot]
    if (entry >> 12) & _KEY != key:
        entry = memory[slot + 1]
        if (entry >> 12) & _KEY != key:
            return 0
    return entry


@inline_kernel
def lower(entry: int) -> int:
    """Give the least score that a position can have, by its entry."""
    return ((entry >> 6) & _SCORE) - _ZERO


@inline_kernel
def upper(entry: int) -> int:
    """Give the greatest score that a position can have, by its entry."""
    return (entry & _SCORE) - _ZERO


@inline_kernel
def keep(  # noqa: PLR0913, PLR0917 # kernels take no keywords
    memory: NDArray[np.int64], key: int, ply: int, low: int, high: int, work: int
) -> None:
    """Remember what was found in `work` nodes: the score lies between `low` and `high`.

    Of the two places for a key, the first is for what cost more, the second for what came last.
    """
    worth = (work >= 64) + (work >= 1024) + (work >= 16384)  # noqa: PLR2004 # four classes of cost in two bits
    entry = worth << 61 | key << 12 | (low + _ZERO) << 6 | (high + _ZERO)
    slot = _slot(memory, key, ply)
    former = memory[slot]
    if (former >> 12) & _KEY == key:
        memory[slot] = entry
    elif worth >= former >> 61:
        memory[slot] = entry
        memory[slot + 1] = former
    else:
        memory[slot + 1] = entry


@inline_kernel
def _slot(memory: NDArray[np.int64], key: int, ply: int) -> int:
    """Give the first of the two places for a key."""
    mixed = np.uint64(key) * _MIX
    if ply >= _DEEP_PLY:
        return _DEEP + (int(np.int64(mixed >> np.uint64(64 - _DEEP_BITS))) & ~1)
    return _TOP + (int(np.int64(mixed >> np.uint64(64 - memory[_TOP_BITS]))) & ~1)
