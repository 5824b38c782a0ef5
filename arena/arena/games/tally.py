"""Stones and lines of one player in one int, so that a win is found by an addition and a mask."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.games.bitboard import Bitboard

_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Steps of a line in rows and columns."""


class Tally:
    """Counts, for every line of k cells on a board, the stones a player has on it.

    A player's tally is an int: the stones as the bitboard has them, and above them a counter for each line.
    A stone adds its gain: itself, and one to the counter of each line through its cell. A counter begins at
    `2^n - k`, n as small as it can be, so its highest bit is set when k stones are there and not before;
    more than k cells a line does not have, so no counter runs into the next.
    """

    __slots__ = ("_board", "actions", "cells", "columns", "empty", "free", "full", "places")

    actions: dict[int, int]
    """The action that puts a stone on a cell, by the cell's bit."""

    cells: int
    """All cells: `tally & cells` are the stones."""
    columns: tuple[int, ...]
    """All cells of each action's column, as on the bitboard; `[num_actions]`."""
    empty: int
    """The tally of a player without stones."""
    full: int
    """The highest bits of all counters: `tally & full` is not 0 if a line of k is the player's; then ask
    `is_won`."""
    free: int
    """Where stones can land on the empty board, in each column its lowest cell."""
    places: dict[int, tuple[int, int, bool]]
    """What a stone does, by the bit of its cell: it adds the first to its owner's tally and the second to the
    cells where stones can land; the third tells whether it takes its action out of the legal ones."""

    def __init__(self, board: Bitboard) -> None:
        self._board = board
        self.columns = board.columns
        bits = [1 << bit for bit in board.bits]
        # With gravity a column is an action, else a cell is: there are as many actions as cells.
        self.actions = {bit: cell % len(self.columns) for cell, bit in enumerate(bits)}
        gains = list(bits)
        top = (board.k - 1).bit_length()
        shift = max(bits).bit_length()
        self.cells = sum(bits)
        self.free = sum(board.lows)
        self.empty = self.full = 0
        for line in _lines(board.rows, board.cols, board.k):
            self.empty |= ((1 << top) - board.k) << shift
            self.full |= 1 << (shift + top)
            for cell in line:
                gains[cell] += 1 << shift
            shift += top + 1
        self.places = {}
        for bit, gain in zip(bits, gains, strict=True):
            closes = bool(bit & board.closing)
            # One bit up is the next cell of the column, if it has one.
            self.places[bit] = (gain, -bit if closes else bit, closes)

    @override
    def __reduce__(self) -> tuple[type[Tally], tuple[Bitboard]]:
        """Pickle the board alone: it is a hundredth of what is made of it."""
        return Tally, (self._board,)

    def is_won(self, tally: int) -> bool:
        """Tell whether a line that is full wins; on a board with `exact` it does not in a longer row."""
        return not self._board.exact or self._board.has_line(tally & self.cells)


def _lines(rows: int, cols: int, k: int) -> Iterator[range]:
    """Give the cells of each line of k."""
    for (down, right), row, col in product(_DIRECTIONS, range(rows), range(cols)):
        if row + down * (k - 1) < rows and 0 <= col + right * (k - 1) < cols:
            first, step = row * cols + col, down * cols + right
            yield range(first, first + k * step, step)
