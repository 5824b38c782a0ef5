"""N-tuples for Connect Four: the cells of each tuple, and each column's contribution to its table entry.

Sources: Thill, Koch and Konen, Reinforcement learning with n-tuples on the game Connect-4 (2012); Bagheri,
Thill, Koch and Konen, Online adaptable learning rates for the game Connect-4 (2016).

A cell of a tuple has one of four states: first player's stone, second player's stone, empty and playable now,
empty and not yet playable. Most of the 4^8 patterns of eight cells cannot occur, because stones fall.
Therefore each tuple is divided into its columns, the possible contents of a column are numbered, and the
entry of a pattern is the number with these digits. Tables then contain only possible patterns, and a stone
changes one digit.
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
"""Number of column keys. A key is 2^height plus a bit for each stone of the first player, so 1 to 127."""
_PLAYABLE = 2
_HANGING = 3


class Parts(NamedTuple):
    """The contribution of each column to the table entries of all tuples."""

    parts: NDArray[np.int32]
    """Each column's part of a tuple's entry; `[COLUMNS, KEYS, 2 * num_tuples]`, mirrored tuples last."""
    starts: NDArray[np.int64]
    """The first entry of each tuple's table, then the total number of entries; `[num_tuples + 1]`."""


def draw_tuples(count: int, length: int, seed: int) -> NDArray[np.uint8]:
    """Draw `count` tuples as random walks of a king without repeated cells; `[count, length]`, ascending.

    Cells are numbered column by column from the bottom: `column * ROWS + height`. No two tuples are equal or
    mirror images of each other.
    """
    rng = Random(seed)  # noqa: S311 - not used for secrets
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
            # Every tuple is also looked up mirrored, so its mirror image would be the same tuple twice.
            found.setdefault(min(cells, mirrored(cells)))
    return np.array(list(found), np.uint8)


def mirrored(cells: tuple[int, ...]) -> tuple[int, ...]:
    """Return the cells of the mirror image, ascending."""
    return tuple(sorted((COLUMNS - 1 - cell // ROWS) * ROWS + cell % ROWS for cell in cells))


def parts_of(tuples: NDArray[np.uint8]) -> Parts:
    """Tabulate the contribution of each column, for tuples of cells `[num_tuples, length]`."""
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
        # The offset of the table is added only once, with the first column.
        parts[0, :, number] += starts[number]
        starts[number + 1] = starts[number] + weight
    # A mirrored tuple reads the same table, with the columns in reverse order.
    parts[:, :, count:] = parts[::-1, :, :count]
    return Parts(parts, starts)


def keys_of(first: int, second: int) -> NDArray[np.intp]:
    """Return the key of each column, `[COLUMNS]`, for stones laid out as `column * 7 + height`."""
    bottom = sum(1 << (ROWS + 1) * column for column in range(COLUMNS))
    # In each column, the occupied bits plus one make 2^height, and the first player's bits are below that.
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
    """Number what some rows of a column may contain; return the numbers by key, and how many there are."""
    seen: dict[tuple[int, ...], int] = {}
    digits = np.zeros(KEYS, np.int32)
    for key in range(1, KEYS):
        height = key.bit_length() - 1
        shown = tuple(
            key >> row & 1 if row < height else _PLAYABLE if row == height else _HANGING for row in rows
        )
        digits[key] = seen.setdefault(shown, len(seen))
    return digits, len(seen)
