"""Threats and fours in Connect Four, as kernels on boards of 6 rows and 7 columns.

A board is a signed word whose bits are as in `arena.games.bitboard`: cell `h` of column `c` is bit `7 * c +
h`. The 49 bits never reach the sign, so plain ints can be mixed with them.
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
_EVEN_ROWS = 0b101010 * BOTTOM
"""The others; the next stone of a column with an odd number of stones lands there."""


@inline_kernel
def landings(mask: int) -> int:
    """Return the lowest empty cell of each column that is not full."""
    return (mask + BOTTOM) & BOARD


@inline_kernel
def count(cells: int) -> int:
    """Return the number of cells."""
    return int(num_bits(np.uint64(cells)))


@inline_kernel
def threats(stones: int, mask: int) -> int:
    """Return the empty cells that complete four of `stones`, reachable or not."""
    # In a column only the cell above three stones can be empty; in other directions any of the four can.
    found = (stones << 1) & (stones << 2) & (stones << 3)
    found |= _along(stones, 7) | _along(stones, 6) | _along(stones, 8)
    return found & (BOARD ^ mask)


@inline_kernel
def _along(stones: int, step: int) -> int:
    """Return the cells that form a line of four with three of `stones` in one direction."""
    # Two stones directly before the cell, and a third before those or after the cell; then the other way.
    two = (stones << step) & (stones << 2 * step)
    found = two & (stones << 3 * step) | two & (stones >> step)
    two = (stones >> step) & (stones >> 2 * step)
    return found | two & (stones << step) | two & (stones >> 3 * step)


@inline_kernel
def has_four(cells: int) -> bool:
    """Return whether `cells` contain four in a row."""
    # Shifts by 1, 6, 7 and 8 are the vertical, one diagonal, the horizontal and the other diagonal direction.
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
    """Return whether `stones` could not form a four even with all empty cells."""
    return not has_four(stones | BOARD ^ mask)


@inline_kernel
def follow_up(first: int, second: int, mask: int) -> int:
    """Return what the second player is sure of by always answering in a pair: 1 a win, 0 a draw, -1 nothing.

    The empty cells are paired: each odd row with the even row above it, and the next cells of two columns
    with an odd number of stones with each other. The second player answers a stone in one cell of a pair with
    the other cell, which is always possible. So the first player gets the odd rows and one cell of each other
    pair. If these complete no four in any case, the second player does not lose; if the even rows that
    are left complete a four of the second player, that player wins. With an odd number of such columns, it is
    the second player's turn, who takes one of these cells and pairs the others. Not every pairing is tried.

    Source: claimeven and baseinverse in Allis, A Knowledge-based Approach of Connect-Four (1988), section 3.
    """
    empty = BOARD ^ mask
    sure = first | empty & _ODD_ROWS
    if has_four(sure):
        return -1
    shared = landings(mask) & _EVEN_ROWS
    one = shared & -shared
    others = shared ^ one
    two = others & -others
    three = others ^ two
    if others == 0:
        # No such column; or a single one, whose cell the second player takes.
        shared = 0
    elif has_four(sure | shared):
        if three & (three - 1):
            return -1
        bad = has_four(sure | one) + has_four(sure | two)
        if three:
            # The second player takes the worst of the three.
            bad += has_four(sure | three) - 1
        if bad > 0:
            return -1
    return 1 if has_four(second | empty & _EVEN_ROWS & ~shared) else 0


@inline_kernel
def promise(own: int, mask: int, stone: int, dangers: int) -> int:
    """Return a heuristic value of placing `stone`, used to order moves.

    Of all weights tried, these needed the fewest nodes on 40 positions at ply 8: two thirds of those with
    threats alone.
    """
    number, stacked, pending, reachable, covered = features(own, mask, stone, dangers)
    return 8 * (number + stacked) + 6 * pending + 4 * (reachable - covered)


@inline_kernel
def features(own: int, mask: int, stone: int, dangers: int) -> tuple[int, int, int, int, int]:
    """Return the numbers of threats after placing `stone`, all and by kind.

    The kinds: below another threat; above a reachable cell, where the opponent then cannot play; reachable;
    above a cell of `dangers`, the opponent's threats.
    """
    after = mask | stone
    found = threats(own | stone, after)
    reach = landings(after)
    return (
        count(found),
        count(found & (found >> 1)),
        count(found & (reach << 1)),
        count(found & reach),
        count(found & (dangers << 1)),
    )
