"""N-tuples for Connect Four: which cells they look at, and the table entry each column contributes to.

Sources: Thill, Koch and Konen, Reinforcement learning with n-tuples on the game Connect-4 (2012); Bagheri,
Thill, Koch and Konen, Online adaptable learning rates for the game Connect-4 (2016).

A cell of a tuple is in one of four states: the first player's, the second's, empty and playable now, empty
and not yet playable. Most of the 4^8 patterns of eight cells can never lie on a board, because stones fall:
here each tuple is cut into its columns, the contents that a column can have are numbered, and a pattern's
entry is the number with these digits. So tables hold what can happen, and a stone changes one digit.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 6
COLUMNS = 7
CELLS = ROWS * COLUMNS
KEYS = 1 << (ROWS + 1)
"""Contents of a column: 2^height plus a bit for each stone of the first player, so 1 to 127."""
_PLAYABLE = 2
_HANGING = 3


class Parts(NamedTuple):
    """Where each tuple looks into its table, column by column."""

    parts: NDArray[np.int32]
    """What a column adds to the entry of a tuple: `[COLUMNS, KEYS, 2 * num_tuples]`, mirrored tuples last."""
    starts: NDArray[np.int64]
    """The first entry of each tuple's table, and the number of all entries; `[num_tuples + 1]`."""


def draw_tuples(count: int, length: int, seed: int) -> NDArray[np.uint8]:
    """Draw `count` tuples of cells, walks of a king that visit no cell twice; `[count, length]`, ascending.

    Cells are numbered column by column from the bottom: `column * ROWS + height`. No two tuples are equal,
    also after mirroring.
    """
    rng = Random(seed)  # noqa: S311 - training needs no secrets
    found: dict[tuple[int, ...], None] = {}
    while len(found) < count:
        walk = [rng.randrange(CELLS)]
        while len(walk) < length:
            free = [cell for cell in _neighbours(walk[-1]) if cell not in walk]
            if not free:
                break
            walk.append(rng.choice(free))
        if len(walk) == length:
            cells = tuple(sorted(walk))
            found.setdefault(min(cells, mirrored(cells)))
    return np.array(list(found), np.uint8)


def mirrored(cells: tuple[int, ...]) -> tuple[int, ...]:
    """Give the cells of the mirror image, ascending."""
    return tuple(sorted((COLUMNS - 1 - cell // ROWS) * ROWS + cell % ROWS for cell in cells))


def parts_of(tuples: NDArray[np.uint8]) -> Parts:
    """Tabulate what each column contributes, for tuples of cells `[num_tuples, length]`."""
    count = len(tuples)
    parts = np.zeros((COLUMNS, KEYS, 2 * count), np.int32)
    starts = np.zeros(count + 1, np.int64)
    for number, cells in enumerate(tuples.tolist()):
        weight = 1
        for column in range(COLUMNS):
            rows = tuple(cell % ROWS for cell in cells if cell // ROWS == column)
            digits, base = _digits(rows)
            parts[column, :, number] = weight * digits
            weight *= base
        # The start of the table is added once, with the first column.
        parts[0, :, number] += starts[number]
        starts[number + 1] = starts[number] + weight
    parts[:, :, count:] = parts[::-1, :, :count]
    return Parts(parts, starts)


def keys_of(first: int, second: int) -> NDArray[np.intp]:
    """Give the content of each column, `[COLUMNS]`, of stones laid out `column * 7 + height`."""
    bottom = sum(1 << (ROWS + 1) * column for column in range(COLUMNS))
    word = first + (first | second) + bottom
    return np.array([word >> (ROWS + 1) * column & KEYS - 1 for column in range(COLUMNS)], np.intp)


def _neighbours(cell: int) -> list[int]:
    column, row = divmod(cell, ROWS)
    return [
        other * ROWS + height
        for other in range(max(column - 1, 0), min(column + 2, COLUMNS))
        for height in range(max(row - 1, 0), min(row + 2, ROWS))
        if (other, height) != (column, row)
    ]


@cache
def _digits(rows: tuple[int, ...]) -> tuple[NDArray[np.int32], int]:
    """Number what some rows of a column can show, `[KEYS]`, and give how many such contents there are."""
    seen: dict[tuple[int, ...], int] = {}
    digits = np.zeros(KEYS, np.int32)
    for key in range(1, KEYS):
        height = key.bit_length() - 1
        shown = tuple(
            key >> row & 1 if row < height else _PLAYABLE if row == height else _HANGING for row in rows
        )
        digits[key] = seen.setdefault(shown, len(seen))
    return digits, len(seen)
