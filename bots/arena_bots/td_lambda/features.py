"""The 87 features of the linear value function, from the view of the player who has just moved.

| feature | meaning |
| --- | --- |
| 0 to 41 | own stones, row by row from the bottom |
| 42 to 83 | the other player's stones, in the same order |
| 84 | own stones in the middle column / 6 |
| 85, 86 | own and the other player's open lines / 50 |

An open line is one of the 69 windows of four cells with stones of one player only, at least one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena_bots.td_lambda.tuples import COLUMNS, ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

CELLS = ROWS * COLUMNS
MIDDLE, OWN_LINES, OTHER_LINES = 2 * CELLS, 2 * CELLS + 1, 2 * CELLS + 2
NUM_FEATURES = 2 * CELLS + 3
LINES = 50.0
"""Divisor for the number of open lines."""
_LANE = ROWS + 1
_K = 4

BITS = np.array([column * _LANE + row for row in range(ROWS) for column in range(COLUMNS)], np.uint64)
"""Bit of each cell, row by row from the bottom; stones are laid out as `column * 7 + height`; `[42]`."""


def _windows() -> NDArray[np.uint64]:
    found = [
        sum(1 << (column + right * n) * _LANE + row + up * n for n in range(_K))
        for up, right in ((0, 1), (1, 0), (1, 1), (-1, 1))
        for column in range(COLUMNS - (_K - 1) * right)
        for row in range(ROWS)
        if 0 <= row + (_K - 1) * up < ROWS
    ]
    return np.array(found, np.uint64)


WINDOWS = _windows()
"""The 69 lines of four, as words in the layout of stones; `[69]`."""


def features_of(own: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the features of positions, `[n]` to `[n, 87]`; `own` are the stones of the last mover."""
    features = np.zeros((len(own), NUM_FEATURES))
    features[:, :CELLS] = own[:, None] >> BITS & 1
    features[:, CELLS:MIDDLE] = other[:, None] >> BITS & 1
    # Cells are numbered row by row, so those of a column are one row apart.
    middle = np.arange(COLUMNS // 2, CELLS, COLUMNS)
    features[:, MIDDLE] = features[:, middle].sum(axis=1) / ROWS
    has_own, has_other = own[:, None] & WINDOWS != 0, other[:, None] & WINDOWS != 0
    features[:, OWN_LINES] = (has_own & ~has_other).sum(axis=1) / LINES
    features[:, OTHER_LINES] = (has_other & ~has_own).sum(axis=1) / LINES
    return features
