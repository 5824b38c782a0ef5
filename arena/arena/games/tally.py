"""One player's stones and line counters in a single int, so that one addition and one mask detect a win."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.games.bitboard import Bitboard

_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""The four directions of lines, as steps in (rows, columns)."""


class LineTally:
    """Counts, for every line of k cells on a board, the stones that a player has on it.

    A player's tally is an int: the low bits are the stones in the bitboard's layout, the bits above hold one
    counter per line. Placing a stone adds its gain: its own bit, and one to the counter of each line through
    its cell. A counter starts at `2^n - k` for the smallest possible n, so its highest bit is set exactly
    when k stones are on the line. A line has only k cells, so a counter never overflows into the next.
    """

    __slots__ = ("_board", "actions", "cells", "columns", "empty", "free", "full", "places")

    actions: dict[int, int]
    """The action that places a stone on a cell, by the cell's bit."""

    cells: int
    """All cells: `tally & cells` are the player's stones."""
    columns: tuple[int, ...]
    """All cells of each action's column, as on the bitboard; `[num_actions]`."""
    empty: int
    """The tally of a player without stones: every counter at its start."""
    full: int
    """The highest bits of all counters. If `tally & full` is not 0, the player has filled a line of k;
    `is_won` tells whether it wins."""
    free: int
    """The cells where stones can land on the empty board: the lowest cell of each column."""
    places: dict[int, tuple[int, int, bool]]
    """The effect of a stone, by the bit of its cell: (what it adds to its owner's tally, what it adds to the
    cells where stones can land, whether it fills its column and so removes its action)."""

    def __init__(self, board: Bitboard) -> None:
        self._board = board
        self.columns = board.columns
        bits = [1 << bit for bit in board.bits]
        # With gravity each action is a column, otherwise a cell; both are `cell % number of actions`.
        self.actions = {bit: cell % len(self.columns) for cell, bit in enumerate(bits)}
        gains = list(bits)
        # 2^top is the smallest power of two that is at least k, so a counter needs top + 1 bits.
        top = (board.k - 1).bit_length()
        shift = max(bits).bit_length()
        self.cells = sum(bits)
        self.free = sum(board.lows)
        self.empty = self.full = 0
        # A line has a counter of its own, and a cell is on it once, so a gain adds at most 1 to any counter.
        for line in _lines(board.rows, board.cols, board.k):
            self.empty |= ((1 << top) - board.k) << shift
            self.full |= 1 << (shift + top)
            for cell in line:
                gains[cell] += 1 << shift
            shift += top + 1
        self.places = {}
        for bit, gain in zip(bits, gains, strict=True):
            closes = bool(bit & board.closing)
            # With gravity the next cell of the column is one bit higher.
            self.places[bit] = (gain, -bit if closes else bit, closes)

    @override
    def __reduce__(self) -> tuple[type[LineTally], tuple[Bitboard]]:
        """Pickle only the board, which is a hundredth of the size of the tables made from it."""
        return LineTally, (self._board,)

    def is_won(self, tally: int) -> bool:
        """Return whether a filled line wins; with `exact` it does not if it is part of a longer row."""
        # The counters know lines of k cells only; an overline fills several of them, so the board must be
        # examined.
        return not self._board.exact or self._board.has_line(tally & self.cells)


def _lines(rows: int, cols: int, k: int) -> Iterator[range]:
    """Yield each line of k as the range of its cells."""
    for (down, right), row, col in product(_DIRECTIONS, range(rows), range(cols)):
        if row + down * (k - 1) < rows and 0 <= col + right * (k - 1) < cols:
            first, step = row * cols + col, down * cols + right
            yield range(first, first + k * step, step)
