"""The rules of k in a row on words of 64 bits, as kernels for kernels."""

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
_LAST = np.uint64(63)


@inline_kernel
def land(occupied: np.uint64, action: Int, layout: Layout) -> np.uint64:
    """Give where the stone of `action` comes to lie, as a word with one bit; 0 where the column is full."""
    return (occupied + layout.lows[action]) & layout.columns[action]


@inline_kernel
def landings(occupied: np.uint64, layout: Layout) -> np.uint64:
    """Give the cells where a stone can come to lie, one bit for each legal action."""
    if layout.gravity:
        return (occupied + layout.bottom) & layout.full
    return layout.full & ~occupied


@inline_kernel
def has_line(stones: np.uint64, layout: Layout) -> bool:
    """Tell whether `stones` hold k in a row; with `layout.exact`, k that are not part of a longer row."""
    along, down, level, up = layout.steps
    starts = _starts(stones, along, layout.offsets) | _starts(stones, down, layout.offsets)
    starts |= _starts(stones, level, layout.offsets) | _starts(stones, up, layout.offsets)
    if starts and layout.exact:
        starts = _exact_starts(stones, along, layout.offsets) | _exact_starts(stones, down, layout.offsets)
        starts |= _exact_starts(stones, level, layout.offsets) | _exact_starts(stones, up, layout.offsets)
    return starts != _ZERO


@inline_kernel
def _starts(stones: np.uint64, step: np.uint64, offsets: tuple[np.uint64, ...]) -> np.uint64:
    """Give the first stones of all rows of k along `step`."""
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
    """Give the first stones of all rows of k along `step` that have no stone before them and none behind."""
    over = min(np.uint64(len(offsets)) * step, _LAST)
    return _starts(stones, step, offsets) & ~(stones << step | stones >> over)


@inline_kernel
def completing(stones: np.uint64, layout: Layout) -> np.uint64:
    """Give the cells where one more of `stones` makes a line; the opponent may have taken them."""
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
    exact: bool,  # noqa: FBT001 # kernels take positions only
) -> np.uint64:
    """Give the bits beside which, along `step`, k - 1 of `stones` lie, some before and the others behind."""
    k = len(offsets)
    found = _ZERO
    before = ~_ZERO
    for num_before in range(k):
        cells = before
        for number in range(1, k - num_before):
            cells &= stones >> (np.uint64(number) * step)
        before &= stones << min(np.uint64(num_before + 1) * step, _LAST)
        if exact:
            # No further stone before them, none behind.
            cells &= ~(before | stones >> min(np.uint64(k - num_before) * step, _LAST))
        found |= cells
    return found
