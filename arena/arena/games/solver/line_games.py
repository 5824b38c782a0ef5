"""The solver of small k-in-a-row games: tic-tac-toe, gomoku on small boards, Connect Four of other sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from arena.games.kernels.layout import WORD
from arena.games.solver._lines_search import forget, narrow, new_memory
from arena.games.solver.solver import Solver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from arena.games.k_in_a_row import KInARow, KInARowState
    from arena.games.kernels.layout import Layout
    from arena.games.solver.solver import Bounds

# Logarithm (base 2) of table entries per cell: small boards have few positions and need only small tables.
_BITS_PER_CELL = 0.8
# Added to the logarithm, so that small boards have room for every position that a search visits: from the
# empty 4x4 board with four in a row it visits 21,055, in a table of 131,072 entries. With 8,192 entries it
# visits 2 % more. A larger table only takes longer to clear.
_MORE_BITS = 4
MAX_BITS = 20
"""Logarithm (base 2) of the largest table's size: 24 MB."""
SMALL_BITS = 16


class LinesSolver(Solver):
    """Solves what its budget allows: boards up to 5x5 in seconds, larger ones only near the end."""

    usual_nodes = 300_000
    patient_nodes = 3_000_000
    """Nodes of about a second: a search on these boards that takes longer may take hours."""

    def __init__(self, game: KInARow, layout: Layout, *, max_bits: int = MAX_BITS) -> None:
        bits_of_table = min(max_bits, round(_BITS_PER_CELL * game.max_length) + _MORE_BITS)
        super().__init__(game, new_memory(bits_of_table))
        self._layout = layout
        bits = np.array(game.board.bits)
        self._maps = np.zeros((len(game.symmetries), WORD), np.int64)
        for number, symmetry in enumerate(game.symmetries):
            self._maps[number, bits] = bits[list(symmetry.cells)]
        self._lines = _lines_through(game)

    @override
    def clear(self) -> None:
        forget(self._memory)

    @override
    def _narrow(self, state: KInARowState, bounds: Bounds, *, exact: bool) -> bool:
        own, opp = np.uint64(state.own), np.uint64(state.opp)
        return narrow(self._memory, self._layout, self._maps, self._lines, bounds, own, opp, exact)

    @override
    def _order(self, state: KInARowState, actions: Iterable[int]) -> list[int]:
        del state
        bits = self.game.board.columns
        return sorted(actions, key=lambda action: -self._lines[bits[action].bit_length() - 1])

    @override
    def _distance(self, score: int, ply: int) -> int:
        left = self.game.max_length - ply
        return left if score == 0 else left + 1 - abs(score)


def _lines_through(game: KInARow) -> NDArray[np.int64]:
    """Return the number of lines of k cells through the cell of each bit; `[64]`."""
    board = game.board
    rows, cols, k = board.rows, board.cols, board.k
    found = np.zeros((rows, cols), np.int64)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for row in range(rows):
            for col in range(cols):
                end_row, end_col = row + (k - 1) * down, col + (k - 1) * right
                if 0 <= end_row < rows and 0 <= end_col < cols:
                    for step in range(k):
                        found[row + step * down, col + step * right] += 1
    lines = np.zeros(WORD, np.int64)
    lines[list(board.bits)] = found.ravel()
    return lines
