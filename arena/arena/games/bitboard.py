"""Boards as Python ints, one bit a cell, and k in a row on them by shifts."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_STONES = bytes.maketrans(bytes([0x90, 0x91, 0x92]), bytes([0, 1, 2]))
"""What digits of 0x30 and 0x31, the first once and the second twice, add up to."""


class Bitboard:
    """Where the cells of a board of any size lie in an int, where stones land, and what a line is.

    Each lane of cells is followed by one guard bit that stays empty, so no shift runs from one lane into
    the next. Without gravity a lane is a row: bit `row * (cols + 1) + col`, row 0 on top. With gravity a
    lane is a column: bit `col * (rows + 1) + height`, height 0 at the bottom.

    An action fills a column of cells from its lowest bit; without gravity that column is a single cell. So
    one formula says where a stone lands, `(occupied + lows[action]) & columns[action]`: the addition carries
    through the stones below. It gives 0 where the column is full.
    """

    __slots__ = (
        "_digits",
        "_num_bits",
        "_pick",
        "_tests",
        "bits",
        "closing",
        "cols",
        "columns",
        "exact",
        "k",
        "lows",
        "rows",
        "stride",
    )

    rows: int
    """Cells from top to bottom."""
    cols: int
    """Cells from left to right."""
    k: int
    """Stones in a line that win."""
    exact: bool
    """Whether only exactly k in a row win, not more."""
    stride: int
    """Bits from one lane to the next; lines run along `1`, `stride - 1`, `stride` and `stride + 1`."""
    bits: tuple[int, ...]
    """Bit number of each cell, row 0 on top; `[rows * cols]`."""
    lows: tuple[int, ...]
    """Lowest cell of each action's column, as an int with one bit; `[num_actions]`."""
    columns: tuple[int, ...]
    """All cells of each action's column, guard left out; `[num_actions]`."""
    closing: int
    """The cells that fill their column: a stone there takes its action out of the legal ones."""

    def __init__(self, rows: int, cols: int, k: int, *, exact: bool = False, gravity: bool = False) -> None:
        self.rows, self.cols, self.k = rows, cols, k
        places = [(row, col) for row in range(rows) for col in range(cols)]
        if gravity:
            self.stride = rows + 1
            self.bits = tuple(col * self.stride + (rows - 1 - row) for row, col in places)
            self.lows = tuple(1 << self.stride * c for c in range(cols))
            self.columns = tuple(low * ((1 << rows) - 1) for low in self.lows)
            self.closing = sum(low << (rows - 1) for low in self.lows)
        else:
            self.stride = cols + 1
            self.bits = tuple(row * self.stride + col for row, col in places)
            self.lows = self.columns = tuple(1 << bit for bit in self.bits)
            self.closing = sum(self.lows)
        self.exact = exact
        self._num_bits = num_bits = max(self.bits) + 1
        self._digits = f"0{num_bits}b"
        self._pick = itemgetter(*(num_bits - 1 - bit for bit in self.bits))
        steps = (1, self.stride - 1, self.stride, self.stride + 1)
        self._tests = tuple((step, tuple(step * grown for grown in _growth(k))) for step in steps)

    def has_line(self, stones: int) -> bool:
        """Tell whether `stones` hold k in a row; with `exact`, k that are not part of a longer row."""
        return any(run for _, run in self._starts(stones))

    def lines(self, stones: int) -> tuple[int, ...]:
        """Return the cells of all lines that win, ascending; row 0 is on top."""
        won = 0
        for step, run in self._starts(stones):
            for place in range(self.k):
                won |= run << place * step
        return tuple(cell for cell, bit in enumerate(self.bits) if won >> bit & 1)

    def _starts(self, stones: int) -> Iterator[tuple[int, int]]:
        """Yield for each direction its step and the first stone of every row of k."""
        for step, shifts in self._tests:
            run = stones
            for shift in shifts:
                run &= run >> shift
            # An exact row has no stone before it and none after.
            if run and self.exact:
                run &= ~(stones << step | stones >> self.k * step)
            yield step, run

    def cells(self, first: int, second: int) -> tuple[int, ...]:
        """Give the board flat, row 0 on top: 0 empty, 1 a stone of `first`, 2 of `second`.

        Three times as fast as by NumPy, which takes a microsecond for each of its calls.
        """
        # Binary digits as ASCII, one byte each, so added as numbers they cannot carry.
        ones, twos = (
            int.from_bytes(format(stones, self._digits).encode(), "big") for stones in (first, second)
        )
        digits = (ones + 2 * twos).to_bytes(self._num_bits, "big")
        return self._pick(digits.translate(_STONES))


def _growth(k: int) -> list[int]:
    """Give the shifts that grow single stones to rows of k by doubling: for 5, 1 + 1 + 2 + 1 stones."""
    shifts: list[int] = []
    length = 1
    while length < k:
        shifts.append(min(length, k - length))
        length += shifts[-1]
    return shifts
