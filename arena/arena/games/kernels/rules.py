"""The rules of k in a row on 64-bit words, as kernels to be called from kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.compiling import inline_kernel

if TYPE_CHECKING:
    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
# The largest defined shift of a word. It moves every stone off the board, because bit 63 is never a cell.
_LAST = np.uint64(63)


@inline_kernel
def land(occupied: np.uint64, action: Int, layout: Layout) -> np.uint64:
    """Return the cell where the stone of `action` lands, as a word with one bit; 0 if the column is full."""
    # The addition carries through the stones of the column; see `arena.games.bitboard`.
    return (occupied + layout.lows[action]) & layout.columns[action]


@inline_kernel
def landings(occupied: np.uint64, layout: Layout) -> np.uint64:
    """Return the cells where a stone can land, one bit for each legal action."""
    if layout.gravity:
        return (occupied + layout.bottom) & layout.full
    return layout.full & ~occupied


@inline_kernel
def has_line(stones: np.uint64, layout: Layout) -> bool:
    """Return whether `stones` contain k in a row; with `layout.exact`, only rows of exactly k count."""
    along, down, level, up = layout.steps
    starts = _starts(stones, along, layout.offsets) | _starts(stones, down, layout.offsets)
    starts |= _starts(stones, level, layout.offsets) | _starts(stones, up, layout.offsets)
    # Rows are rare, so the expensive test runs only after the cheap one found some.
    if starts and layout.exact:
        starts = _exact_starts(stones, along, layout.offsets) | _exact_starts(stones, down, layout.offsets)
        starts |= _exact_starts(stones, level, layout.offsets) | _exact_starts(stones, up, layout.offsets)
    return starts != _ZERO


@inline_kernel
def _starts(stones: np.uint64, step: np.uint64, offsets: tuple[np.uint64, ...]) -> np.uint64:
    """Return the first stones of all rows of k along `step`, found by doubling the length of runs."""
    run = stones & (stones >> step)
    length = _TWO
    k = np.uint64(len(offsets))
    while length < k:
        grown = min(length, k - length)
        run &= run >> (grown * step)
        length += grown
    return run


@inline_kernel
def _exact_starts(stones: np.uint64, step: np.uint64, offsets: tuple[np.uint64, ...]) -> np.uint64:
    """Return the first stones of all rows of exactly k along `step`: no stone directly before or after."""
    over = min(np.uint64(len(offsets)) * step, _LAST)
    return _starts(stones, step, offsets) & ~(stones << step | stones >> over)


@inline_kernel
def completing(stones: np.uint64, layout: Layout) -> np.uint64:
    """Return the cells where one more stone completes a line; each is empty or taken by the opponent."""
    along, down, level, up = layout.steps
    offsets, exact = layout.offsets, layout.exact
    cells = _ends(stones, along, offsets, exact) | _ends(stones, down, offsets, exact)
    cells |= _ends(stones, level, offsets, exact) | _ends(stones, up, offsets, exact)
    return cells & layout.full & ~stones


@inline_kernel
def _ends(
    stones: np.uint64,
    step: np.uint64,
    offsets: tuple[np.uint64, ...],
    exact: bool,  # noqa: FBT001 # kernels take only positional arguments
) -> np.uint64:
    """Return the bits where one more stone makes a row of k along `step`, counting stones on both sides."""
    k = len(offsets)
    found = _ZERO
    # The bits with `num_before` stones directly before them; `cells` also have the other stones of the row
    # after them.
    before = ~_ZERO
    for num_before in range(k):
        cells = before
        for number in range(1, k - num_before):
            cells &= stones >> (np.uint64(number) * step)
        before &= stones << min(np.uint64(num_before + 1) * step, _LAST)
        if exact:
            # No further stone directly before or after the row.
            cells &= ~(before | stones >> min(np.uint64(k - num_before) * step, _LAST))
        found |= cells
    return found
