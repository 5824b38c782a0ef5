"""The line heuristic: the worth of open lines in k-in-a-row games."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena_plugins.contract import Game

_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Directions as (rows down, columns to the right) per step."""
_REMEMBERED = 1 << 15
"""Number of line contents whose worth is cached: all 2,187 of seven cells, the common ones of fifteen."""


def line_length(game: Game) -> int:
    """Return the number of stones in a row that win, the parameter `k`; 0 if it is unknown.

    Without `k`, the shorter side of the board is assumed if each action is a cell, because tic-tac-toe has no
    parameters. A `k` longer than the board must have another meaning.
    """
    rows, columns = game.shape
    k = game.params.get("k")
    if isinstance(k, int):
        return k if k <= max(rows, columns) else 0
    return min(rows, columns) if game.num_actions == rows * columns else 0


class OpenLines:
    """Evaluates open lines: a window of k cells with n stones of one player only is worth 4^(n-1)."""

    def __init__(self, shape: tuple[int, int], k: int) -> None:
        self._lines = tuple(_lines(*shape, k)) if k > 1 else ()
        self._worth = lru_cache(_REMEMBERED)(partial(_worth, k))
        area = shape[0] * shape[1]
        self.bound = 4 * area * 4 ** max(k - 2, 0)
        """Upper bound of the worth of a position: four directions, k - 1 stones in each window."""

    def __call__(self, cells: tuple[int, ...]) -> int:
        """Return the worth of a position for player 0; `cells` is `[rows * columns]`."""
        worth = self._worth
        # A list, because a generator would cost a call for each line.
        return sum([worth(cells[line]) for line in self._lines])


def _lines(rows: int, columns: int, k: int) -> Iterator[slice]:
    """Yield every row, column and diagonal of at least k cells as a slice of the flat board."""

    def is_on_board(row: int, column: int) -> bool:
        return 0 <= row < rows and 0 <= column < columns

    for down, right in _DIRECTIONS:
        for row, column in product(range(rows), range(columns)):
            if is_on_board(row - down, column - right):
                continue
            length = 1
            while is_on_board(row + length * down, column + length * right):
                length += 1
            if length >= k:
                start, step = row * columns + column, down * columns + right
                yield slice(start, start + (length - 1) * step + 1, step)


def _worth(k: int, line: tuple[int, ...]) -> int:
    total = 0
    for start in range(len(line) - k + 1):
        window = line[start : start + k]
        first, second = window.count(1), window.count(2)
        # A full window is a finished line, and the match is over: the search scores that itself.
        if first and not second and first < k:
            total += 4 ** (first - 1)
        elif second and not first and second < k:
            total -= 4 ** (second - 1)
    return total
