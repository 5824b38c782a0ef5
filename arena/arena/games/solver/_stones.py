"""Where stones of Connect Four threaten, as kernels on boards of 6 rows and 7 columns.

A board is a signed word, its bits as in `arena.games.bitboard`: cell `h` of column `c` is bit `7 * c + h`.
The 49 bits leave the sign alone, so plain ints mix with them.
"""

from __future__ import annotations

import numpy as np

from arena.games.kernels.bits import num_bits
from arena.games.kernels.compiling import inline_kernel

NUM_CELLS = 42
NUM_ACTIONS = 7
BOTTOM = sum(1 << 7 * column for column in range(NUM_ACTIONS))
BOARD = 63 * BOTTOM
_ODD_ROWS = 0b010101 * BOTTOM
"""The first, third and fifth row."""
_ODD_HEIGHTS = 0b101010 * BOTTOM
"""Where the next stone of a column with an odd number of stones goes."""


@inline_kernel
def landings(mask: int) -> int:
    """Give the lowest empty cell of each column that is not full."""
    return (mask + BOTTOM) & BOARD


@inline_kernel
def count(cells: int) -> int:
    """Give the number of cells."""
    return int(num_bits(np.uint64(cells)))


@inline_kernel
def threats(stones: int, mask: int) -> int:
    """Give the empty cells that complete four of `stones`, in reach or not."""
    found = (stones << 1) & (stones << 2) & (stones << 3)
    found |= _along(stones, 7) | _along(stones, 6) | _along(stones, 8)
    return found & (BOARD ^ mask)


@inline_kernel
def _along(stones: int, step: int) -> int:
    """Give the cells that have three of `stones` in a row with them along one direction."""
    two = (stones << step) & (stones << 2 * step)
    found = two & (stones << 3 * step) | two & (stones >> step)
    two = (stones >> step) & (stones >> 2 * step)
    return found | two & (stones << step) | two & (stones >> 3 * step)


@inline_kernel
def has_four(cells: int) -> bool:
    """Tell whether there are four in a row among `cells`."""
    two = cells & (cells >> 1)
    found = two & (two >> 2)
    two = cells & (cells >> 6)
    found |= two & (two >> 12)
    two = cells & (cells >> 7)
    found |= two & (two >> 14)
    two = cells & (cells >> 8)
    return (found | two & (two >> 16)) != 0


@inline_kernel
def cannot_win(stones: int, mask: int) -> bool:
    """Tell whether no four is left for `stones`, all empty cells added."""
    return not has_four(stones | BOARD ^ mask)


@inline_kernel
def is_held(own: int, mask: int, ply: int) -> bool:
    """Tell whether the second player, who is not to move, can follow up to the end without a loss.

    All columns hold an even number of stones. Replying in the column of each move leaves the first player the
    odd rows; if these complete no four, that player cannot win. Source: claimeven in Allis, A Knowledge-based
    Approach of Connect-Four (1988), section 3.3.
    """
    if ply & 1 or (mask + BOTTOM) & _ODD_HEIGHTS:
        return False
    return not has_four(own | (BOARD ^ mask) & _ODD_ROWS)


@inline_kernel
def promise(own: int, mask: int, stone: int, dangers: int) -> int:
    """Tell how good it looks to place `stone`: 8 for each threat then, more or less for where it lies.

    8 more if the cell above it is a threat, too; 6 if the cell below it is in reach, where the other can go
    no more; 4 if it is in reach itself; 4 less above a cell of `dangers`, threats of the opponent. Of all
    weights tried these took the fewest nodes on 40 positions at ply 8: two thirds of those by threats alone.
    """
    after = mask | stone
    found = threats(own | stone, after)
    reach = landings(after)
    return (
        8 * (count(found) + count(found & (found >> 1)))
        + 6 * count(found & (reach << 1))
        + 4 * (count(found & reach) - count(found & (dangers << 1)))
    )
