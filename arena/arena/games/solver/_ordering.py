"""Learned move order of Connect Four for the plies far from the leaves, as a kernel.

A wrong first move near the root costs a whole search, so there the order is worth more work than the few
threats of `promise`. `make move-order` fits the weights to the nodes that each move of a search would take.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arena.errors import ArenaError
from arena.games.kernels.bits import bit_number
from arena.games.kernels.compiling import inline_kernel, kernel
from arena.games.solver._memory import ORDER
from arena.games.solver._stones import BOTTOM, COLUMN, STRIDE, count, features

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHIPPED = Path(__file__).parent / "data" / "connect-four.order"
"""Created by `make move-order`; its provenance file is beside it."""
NUM_FEATURES = 6
"""Number of features of a stone: five about the threats after it, and how central its column is."""
NUM_LINES = 69
NUM_CODES = 81
"""Number of contents of a line: each of its four cells is empty, or has a stone of one of the two players."""
NUM_WEIGHTS = NUM_FEATURES + NUM_LINES * NUM_CODES
"""Number of weights for one side to move."""
_CENTRALITY = 5
"""Index of the weight of the column, after those of the features of threats."""
_MIDDLE = 3
"""The central column."""
STEPS = (1, STRIDE, STRIDE + 1, STRIDE - 1)
"""Distance in bits of neighbouring cells in a line, by direction: up, right, right up, right down."""
# A line to the right starts in the first four of seven columns, one upwards in the three lowest of six rows.
_LEFT = COLUMN | COLUMN << STRIDE | COLUMN << 2 * STRIDE | COLUMN << 3 * STRIDE
_LOW = 7 * BOTTOM
STARTS = (_LOW, _LEFT, _LEFT & _LOW, _LEFT & _LOW << 3)
"""First cells of the lines, by direction."""
_BEFORE = (0, 21, 45, 57)
"""Number of lines in earlier directions."""
_PLACES = (1, 3, 9, 27)
"""Place value of each cell of a line in its code, which has base 3."""
_LIMIT = 1000
"""Largest magnitude of a merit, so that it fits the items of a move list."""


@cache
def shipped_order() -> NDArray[np.int64]:
    """Return the weights that are shipped with the package; `[2 * NUM_WEIGHTS]`, those of player 0 first.

    Raises:
        ArenaError: the file is damaged or missing.
    """
    try:
        content = zlib.decompress(SHIPPED.read_bytes())
    except (OSError, zlib.error) as error:
        raise ArenaError(
            f"{SHIPPED} is not a move order of Connect Four: {error}; install the package again"
        ) from error
    if len(content) != 2 * NUM_WEIGHTS:
        raise ArenaError(
            f"{SHIPPED} is not a move order of Connect Four: {len(content)} weights;"
            " install the package again"
        )
    return np.frombuffer(content, np.int8).astype(np.int64)


@kernel
def merit(memory: NDArray[np.int64], own: int, mask: int, ply: int, stone: int, dangers: int) -> int:
    """Return how much of a search a stone is expected to save if it is tried first; larger is better.

    It is linear in the features of the threats, and in the contents of the lines of four through the stone:
    each line has a weight for each of its contents, and what counts is how the stone changes them.

    Args:
        memory: memory of the search, which contains the weights.
        own: stones of the side to move.
        mask: all stones.
        ply: number of stones.
        stone: the stone.
        dangers: the opponent's threats.
    """
    side = ply & 1
    first = own ^ mask if side else own
    place = ORDER + NUM_WEIGHTS * side
    cell = int(bit_number(np.uint64(stone)))
    found = memory[place + _CENTRALITY] * (_MIDDLE - abs(cell // STRIDE - _MIDDLE))
    for number, feature in enumerate(features(own, mask, stone, dangers)):
        found += memory[place + number] * feature
    place += NUM_FEATURES
    for direction in range(4):
        # The stone may be any of a line's four cells.
        for offset in range(4):
            start = cell - offset * STEPS[direction]
            if start >= 0 and STARTS[direction] >> start & 1:
                # Lines are numbered by direction, then by their first cell.
                line = _BEFORE[direction] + count(STARTS[direction] & ((1 << start) - 1))
                at = place + NUM_CODES * line + _code(first, mask, start, STEPS[direction])
                # The stone changes one digit of the code, from 0 (empty) to 1 or 2, its owner.
                found += memory[at + (1 + side) * _PLACES[offset]] - memory[at]
    return min(max(found, -_LIMIT), _LIMIT)


@inline_kernel
def _code(first: int, mask: int, start: int, step: int) -> int:
    """Return the content of a line: a digit for each cell, the first one lowest; see `NUM_CODES`."""
    code = 0
    for cell in range(start + 3 * step, start - step, -step):
        is_first = first >> cell & 1
        # 0 for an empty cell, 1 for a stone of the first player, 2 for one of the second.
        code = 3 * code + 2 * (mask >> cell & 1) - is_first
    return code
