"""Alpha-beta kernels for k-in-a-row games that fit 64-bit words; simpler and slower than Connect Four's.

A score is for the side to move. With C cells and a match that ends after t plies, it is C + 1 - t for a win,
the negative of that for a loss, and 0 for a draw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.bits import bit_number, num_bits
from arena.games.kernels.compiling import inline_kernel, kernel
from arena.games.kernels.layout import WORD
from arena.games.kernels.rules import completing, has_line, landings
from arena.games.solver._counters import ABORTED, BUDGET, NODES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.layout import Layout

_BITS = 2
"""Index of the logarithm (base 2) of the table size."""
_LIST = 64
"""Items of a ply's move list: as many as a word has bits."""
MOVES = 8
"""Index of the move lists, one for each ply."""
_TABLE = MOVES + WORD * _LIST
"""Index of the table. An entry has three words: the stones of both sides, and the bounds."""
# Two bounds of 8 bits each are packed into one word. A board in 63 bits has at most 60 cells, so a bound is
# between -60 and 60; with the lift it is positive, and an entry is never 0.
_SCALE = 256
_LIFT = 64
_BIT_NUMBERS = 6
"""Width in bits of a bit number in an item of a move list; the sort key is above it."""
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
# Fibonacci hashing (Knuth, TAOCP vol. 3, section 6.4): 2^64 divided by the golden ratio. The second
# multiplier is the prime PRIME64_2 of xxHash.
_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX_MORE = np.uint64(0xC2B2AE3D27D4EB4F)
_SYMMETRIC = 6
"""With fewer empty cells, symmetric positions are not merged: computing the images takes longer than the
search."""
_LINE = 16
"""Weight of a threat in the move order, relative to the number of lines through a cell."""


def new_memory(bits: int) -> NDArray[np.int64]:
    """Return the memory of a search whose table has `2 ** bits` entries of 24 bytes."""
    memory = np.zeros(_TABLE + (3 << bits), np.int64)
    memory[_BITS] = bits
    return memory


def forget(memory: NDArray[np.int64]) -> None:
    """Clear the table."""
    memory[_TABLE:] = 0


# All windows are null windows: the score is above `alpha` exactly if that of the reply is not above
# `-alpha - 1`.
@kernel
def search(  # noqa: C901, PLR0911 # kernels do not call in a circle
    memory: NDArray[np.int64],
    layout: Layout,
    maps: NDArray[np.int64],
    lines: NDArray[np.int64],
    own: np.uint64,
    opp: np.uint64,
    alpha: int,
) -> int:
    """Return a bound that shows whether the score is above `alpha`: a lower one if it is, else an upper one.

    Args:
        memory: memory of the search; its counter and its table are updated.
        layout: layout of the board.
        maps: image of each bit under each symmetry; `[symmetries, 64]`.
        lines: number of lines through the cell of each bit; `[64]`.
        own: stones of the side to move.
        opp: stones of the other side.
        alpha: the score to compare with.
    """
    nodes = memory[NODES]
    memory[NODES] = nodes + 1
    if nodes >= memory[BUDGET]:
        return ABORTED
    occupied = own | opp
    ply = int(num_bits(occupied))
    left = layout.max_length - ply
    moves = landings(occupied, layout)
    if completing(own, layout) & moves or moves == _ZERO:
        return left  # what a win with the next stone is worth; 0 for a draw, without a move
    low, high = 1 - left, max(left - 2, 0)  # a loss to the next stone, a win with the one after that
    dangers = completing(opp, layout) & moves
    if low > alpha or dangers & (dangers - _ONE):
        return low
    if high <= alpha:
        return high
    # A side that cannot win has at most 0; the window says of which side that would decide.
    if _is_dead(own if alpha >= 0 else opp, occupied, layout):
        return 0
    moves = dangers or moves
    first, second = _canonical(own, opp, maps, left)
    slot = _slot(memory, first, second)
    entry = _find(memory, slot, first, second)
    if entry:
        low, high = max(low, entry // _SCALE - _LIFT), min(high, entry % _SCALE - _LIFT)
        if low > alpha or high <= alpha:
            return low if low > alpha else high
    found = -ABORTED  # below every score
    place = MOVES + _LIST * ply
    for move in range(place, place + _rank(memory, layout, lines, own, opp, moves)):
        stone = _ONE << np.uint64(memory[move] & ((1 << _BIT_NUMBERS) - 1))
        reply = search(memory, layout, maps, lines, opp, own | stone, -alpha - 1)
        if reply == ABORTED:
            return ABORTED
        found = max(found, -reply)
        if found > alpha:
            break
    low, high = (max(low, found), high) if found > alpha else (low, min(high, found))
    _keep(memory, slot, first, second, (low + _LIFT) * _SCALE + high + _LIFT)
    return found


@inline_kernel
def _is_dead(stones: np.uint64, occupied: np.uint64, layout: Layout) -> bool:
    """Return whether the owner of `stones` could not win even with all empty cells."""
    # With exactly k in a row, additional stones may destroy a line, so nothing follows from them.
    return not layout.exact and not has_line(stones | layout.full & ~occupied, layout)


@inline_kernel
def _canonical(
    own: np.uint64, opp: np.uint64, maps: NDArray[np.int64], left: int
) -> tuple[np.uint64, np.uint64]:
    """Return the smallest image of a position; near the end the position itself, which is faster."""
    first, second = own, opp
    if left >= _SYMMETRIC:
        for symmetry in range(1, len(maps)):
            image, other = _image(own, maps[symmetry]), _image(opp, maps[symmetry])
            if image < first or (image == first and other < second):
                first, second = image, other
    return first, second


@inline_kernel
def _image(stones: np.uint64, bits: NDArray[np.int64]) -> np.uint64:
    image = _ZERO
    while stones:
        image |= _ONE << np.uint64(bits[bit_number(stones)])
        # Clears the lowest set bit.
        stones &= stones - _ONE
    return image


@inline_kernel
def _slot(memory: NDArray[np.int64], first: np.uint64, second: np.uint64) -> int:
    # The highest bits of a product depend on all bits of the factor, so they select the slot.
    mixed = (first * _MIX ^ second) * _MIX_MORE
    return _TABLE + 3 * int(np.int64(mixed >> np.uint64(WORD - memory[_BITS])))


@inline_kernel
def _find(memory: NDArray[np.int64], slot: int, first: np.uint64, second: np.uint64) -> int:
    """Return the packed bounds of a position, 0 if there are none."""
    # An unused slot looks like the empty board, but its bounds are 0, which stands for none.
    if memory[slot] == np.int64(first) and memory[slot + 1] == np.int64(second):
        return int(memory[slot + 2])
    return 0


@inline_kernel
def _keep(memory: NDArray[np.int64], slot: int, first: np.uint64, second: np.uint64, entry: int) -> None:
    # The newest result replaces any other. The whole position is stored, so a collision costs time, never a
    # wrong score.
    memory[slot], memory[slot + 1], memory[slot + 2] = np.int64(first), np.int64(second), entry


@inline_kernel
def _rank(
    memory: NDArray[np.int64],
    layout: Layout,
    lines: NDArray[np.int64],
    own: np.uint64,
    opp: np.uint64,
    moves: np.uint64,
) -> int:
    """Write the bit numbers of `moves` to memory, best first; return their number.

    An item has the bit number in its lower six bits and the sort key above.
    """
    place = MOVES + _LIST * int(num_bits(own | opp))
    length = 0
    while moves:
        bit = bit_number(moves)
        stone = _ONE << np.uint64(bit)
        moves ^= stone
        worth = lines[bit] + _LINE * num_bits(completing(own | stone, layout) & ~opp)
        item = worth << _BIT_NUMBERS | bit
        # Insertion sort is fast on such short lists.
        at = place + length
        while at > place and memory[at - 1] < item:
            memory[at] = memory[at - 1]
            at -= 1
        memory[at] = item
        length += 1
    return length


@kernel
def narrow(
    memory: NDArray[np.int64],
    layout: Layout,
    maps: NDArray[np.int64],
    lines: NDArray[np.int64],
    bounds: NDArray[np.int64],
    own: np.uint64,
    opp: np.uint64,
    exact: bool,  # noqa: FBT001 # kernels take no keywords
) -> bool:
    """Narrow `bounds` to the score of a position that is not over; return False if the budget is used up.

    Unless `exact`, it stops when win, draw or loss is certain. The arguments are those of `search`.
    """
    left = layout.max_length - int(num_bits(own | opp))
    bounds[0] = max(bounds[0], -left)
    bounds[1] = min(bounds[1], left)
    guess = 0
    while bounds[0] < bounds[1] and (exact or bounds[0] <= 0 <= bounds[1]):
        alpha = min(max(guess, bounds[0]), bounds[1] - 1)
        found = search(memory, layout, maps, lines, own, opp, alpha)
        if found == ABORTED:
            return False
        if found > alpha:
            bounds[0] = guess = found
        else:
            bounds[1], guess = found, found - 1
    return True
