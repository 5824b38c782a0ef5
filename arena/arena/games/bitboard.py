"""Boards as Python ints with one bit per cell, and tests for k in a row by shifting them."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_STONES = bytes.maketrans(bytes([0x90, 0x91, 0x92]), bytes([0, 1, 2]))
"""Translates one digit of the sum computed by `cells`: 0x30 + 2 * 0x30 is an empty cell, and so on."""


class Bitboard:
    """The bit layout of a board of any size: where cells are, where stones land, and what a line is.

    Cells are grouped into lanes. Each lane is followed by one guard bit that is always 0, so a shift never
    moves a stone from one lane into the next. Without gravity a lane is a row: bit `row * (cols + 1) + col`,
    row 0 on top. With gravity a lane is a column: bit `col * (rows + 1) + height`, height 0 at the bottom.

    An action fills a column of cells from its lowest bit up; without gravity each column is a single cell.
    Hence one formula tells where a stone lands: `(occupied + lows[action]) & columns[action]`. The addition
    carries through the stones below. The result is 0 if the column is full.
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
    """Number of rows."""
    cols: int
    """Number of columns."""
    k: int
    """Number of stones in a row that win."""
    exact: bool
    """Whether exactly k in a row win, and longer rows do not."""
    stride: int
    """Distance in bits between lanes; lines run along `1`, `stride - 1`, `stride` and `stride + 1`."""
    bits: tuple[int, ...]
    """Bit number of each cell, cells in order of rows with row 0 on top; `[rows * cols]`."""
    lows: tuple[int, ...]
    """Lowest cell of each action's column, as an int with one bit; `[num_actions]`."""
    columns: tuple[int, ...]
    """All cells of each action's column, without the guard bit; `[num_actions]`."""
    closing: int
    """The topmost cell of each column; a stone there fills the column, so its action becomes illegal."""

    def __init__(self, rows: int, cols: int, k: int, *, exact: bool = False, gravity: bool = False) -> None:
        self.rows, self.cols, self.k = rows, cols, k
        places = [(row, col) for row in range(rows) for col in range(cols)]
        if gravity:
            # The guard bit: without it, three stones at the top of a column and one at the bottom of the next
            # would make a vertical line.
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
        # `format` writes the highest bit first, so bit b is digit `num_bits - 1 - b`.
        self._pick = itemgetter(*(num_bits - 1 - bit for bit in self.bits))
        steps = (1, self.stride - 1, self.stride, self.stride + 1)
        self._tests = tuple((step, tuple(step * grown for grown in _growth(k))) for step in steps)

    def has_line(self, stones: int) -> bool:
        """Return whether `stones` contain k in a row; with `exact`, only rows of exactly k count."""
        return any(run for _, run in self._starts(stones))

    def lines(self, stones: int) -> tuple[int, ...]:
        """Return the cells of all winning lines, ascending; row 0 is on top."""
        won = 0
        for step, run in self._starts(stones):
            # Rows longer than k have several first stones, and their lines overlap to the whole row.
            for place in range(self.k):
                won |= run << place * step
        return tuple(cell for cell, bit in enumerate(self.bits) if won >> bit & 1)

    def _starts(self, stones: int) -> Iterator[tuple[int, int]]:
        """Yield, for each direction, its step and a bitboard of the first stones of all rows of k."""
        for step, shifts in self._tests:
            run = stones
            for shift in shifts:
                run &= run >> shift
            # A row of exactly k has no stone directly before it and none directly after it.
            if run and self.exact:
                run &= ~(stones << step | stones >> self.k * step)
            yield step, run

    def cells(self, first: int, second: int) -> tuple[int, ...]:
        """Return the board as a flat tuple, row 0 on top: 0 empty, 1 a stone of `first`, 2 of `second`.

        This is three times as fast as NumPy, whose calls take a microsecond each.
        """
        # Each binary digit becomes one ASCII byte, 0x30 or 0x31, so adding the numbers never carries.
        ones, twos = (
            int.from_bytes(format(stones, self._digits).encode(), "big") for stones in (first, second)
        )
        digits = (ones + 2 * twos).to_bytes(self._num_bits, "big")
        return self._pick(digits.translate(_STONES))


def _growth(k: int) -> list[int]:
    """Return the shifts that grow single stones to rows of k by doubling; [1, 2, 1] for 5."""
    shifts: list[int] = []
    # A run of n, shifted by s <= n and intersected with itself, contains the starts of runs of n + s. The
    # last shift is shorter, so that the length is exactly k.
    length = 1
    while length < k:
        shifts.append(min(length, k - length))
        length += shifts[-1]
    return shifts
