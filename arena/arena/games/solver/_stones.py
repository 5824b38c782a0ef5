"""Threats, fours and pairs of cells in Connect Four, as kernels on boards of 6 rows and 7 columns.

A board is a signed word whose bits are as in `arena.games.bitboard`: cell `h` of column `c` is bit `7 * c +
h`. The 49 bits never reach the sign, so plain ints can be mixed with them.
"""

from __future__ import annotations

import numpy as np

from arena.games.kernels.bits import bit_number, num_bits
from arena.games.kernels.compiling import inline_kernel

NUM_CELLS = 42
NUM_ACTIONS = 7
STRIDE = 7
"""Bits of a column: six cells and a guard bit."""
COLUMN = 63
"""The cells of the first column."""
BOTTOM = sum(1 << STRIDE * column for column in range(NUM_ACTIONS))
BOARD = COLUMN * BOTTOM
_FALLING, _RISING = STRIDE - 1, STRIDE + 1
"""Steps in bits along the diagonals; `STRIDE` is the step along a row, 1 that along a column."""
_ODD_ROWS = 0b010101 * BOTTOM
"""The first, third and fifth row."""
_EVEN_ROWS = 0b101010 * BOTTOM
"""The second, fourth and sixth row; the next stone of a column with an odd number of stones lands there."""
_SECOND_ROW = 0b000010 * BOTTOM
_LOW_EVEN_ROWS = 0b001010 * BOTTOM
_THIRD_ROW = 0b000100 * BOTTOM
_MANY, _PENDING, _REACH = 8, 6, 4
"""Weights of the features in `promise`, relative to each other; see there."""
_BROKEN = -1
"""Returned in place of cells: the other side can complete a four."""


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
    found |= _along(stones, STRIDE) | _along(stones, _FALLING) | _along(stones, _RISING)
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
    # In each direction first pairs, then pairs of pairs. The guard bits keep a shift from joining columns.
    two = cells & (cells >> 1)
    found = two & (two >> 2)
    two = cells & (cells >> _FALLING)
    found |= two & (two >> 2 * _FALLING)
    two = cells & (cells >> STRIDE)
    found |= two & (two >> 2 * STRIDE)
    two = cells & (cells >> _RISING)
    return (found | two & (two >> 2 * _RISING)) != 0


@inline_kernel
def cannot_win(stones: int, mask: int) -> bool:
    """Return whether `stones` could not form a four even with all empty cells."""
    return not has_four(stones | BOARD ^ mask)


@inline_kernel
def follow_up(first: int, second: int, mask: int, claims: int) -> int:
    """Return the least score that the second player is sure of by always answering in a pair, or -1 if none.

    The empty cells are paired: each odd row with the even row above it, and the next cells of two columns
    with an odd number of stones with each other. The second player answers a stone in one cell of a pair with
    the other cell, which is always possible. So the first player gets the odd rows and one cell of each other
    pair, but nothing above an even row where the second player wins. If these complete no four in any case,
    the second player does not lose (0). If the even rows that are left complete a four of the second player,
    that player wins: in row 6 with the last stone (1), else with an earlier one, since the rows above that
    four are still empty (2 up to row 4, 3 in row 2). With an odd number of columns with an odd number of
    stones, it is the second player's turn, who takes one of their cells and pairs the others. Not every
    pairing is tried.

    Source: claimeven and baseinverse in Allis, A Knowledge-based Approach of Connect-Four (1988), section 3.

    Args:
        first: stones of the first player.
        second: stones of the second player.
        mask: all stones.
        claims: the second player's threats.
    """
    empty, reach = BOARD ^ mask, landings(mask)
    wins = claims & _EVEN_ROWS & ~reach
    # The odd rows above a threat; bits shifted out of a column land on its guard bit or in an even row.
    beyond = wins << 1 | wins << 3
    lost = _shared(first | empty & _ODD_ROWS & ~beyond, reach & _EVEN_ROWS)
    if lost == _BROKEN:
        return -1
    even = empty & _EVEN_ROWS & ~lost
    if not has_four(second | even):
        return 0
    if has_four(second | even & _SECOND_ROW):
        return 3
    return 2 if has_four(second | even & _LOW_EVEN_ROWS) else 1


@inline_kernel
def zugzwang(second: int, mask: int, claims: int) -> int:
    """Return the least score that the first player is sure of by a threat in an odd row, or 0 if none.

    Neither player wants to play below the threat: the first player would give it up, and the second would
    lose to it. Without the cells from there on up, the number of empty cells is even at the second
    player's turn. So the first player can pair the others as in `follow_up`, and the second player runs out
    of them first. Above odd cells in the column of the threat, pairs start in even rows. The second player
    gets the lower cell of each pair, and the one below the threat; if these complete no four, the first
    player wins, when at most the cells above the threat are empty: in row 3 with a score of 2, in row 5 of 1.

    Source: control of zugzwang in Allis (1988), section 3.

    Args:
        second: stones of the second player.
        mask: all stones.
        claims: the first player's threats.
    """
    empty, reach = BOARD ^ mask, landings(mask)
    found = 0
    left = claims & _ODD_ROWS & ~reach
    while left:
        threat = left & -left
        # Columns are seven bits apart, and the lowest threat of a column comes first.
        column = COLUMN << int(bit_number(np.uint64(threat))) // STRIDE * STRIDE
        left &= ~column
        below = (threat - 1) & column & empty
        sure = second | empty & _ODD_ROWS & ~column | below & _EVEN_ROWS
        # In each column that leaves one cell without a partner above it, that is the next cell.
        if _shared(sure, reach & (_EVEN_ROWS & ~column | _ODD_ROWS & column)) != _BROKEN:
            found = max(found, 2 if threat & _THIRD_ROW else 1)
    return found


@inline_kernel
def _shared(sure: int, nexts: int) -> int:
    """Return the cells on which the side that answers in pairs cannot count, or `_BROKEN`.

    `nexts` are the next cells of some columns. That side answers a stone in one of them with a stone in
    another; if their number is odd, that side is to move and takes one first.

    Args:
        sure: stones of the other side, and the cells that it gets in any case.
        nexts: the cells that the sides share.
    """
    if has_four(sure):
        return _BROKEN
    one = nexts & -nexts
    others = nexts ^ one
    if others == 0:
        return 0
    # Unless all of them together help the other side, it does not matter who gets which.
    if has_four(sure | nexts):
        two = others & -others
        three = others ^ two
        # More than three cells are shared, and their pairings are not tried.
        if three & (three - 1):
            return _BROKEN
        bad = has_four(sure | one) + has_four(sure | two)
        if three:
            # Of three, it takes the one that helps the other side most.
            bad += has_four(sure | three) - 1
        if bad > 0:
            return _BROKEN
    return nexts


@inline_kernel
def promise(own: int, mask: int, stone: int, dangers: int) -> int:
    """Return a heuristic value of placing `stone`, used to order moves.

    Of all weights tried, these needed the fewest nodes on 40 positions at ply 8: two thirds of those with
    threats alone.
    """
    number, stacked, pending, reachable, covered = features(own, mask, stone, dangers)
    return _MANY * (number + stacked) + _PENDING * pending + _REACH * (reachable - covered)


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
