"""Opening book of Connect Four: scores of all positions of the first plies, one byte each, without keys.

The positions are enumerated again whenever a book is read, in the order of `arena.games.solver._layers`.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arena.errors import ArenaError
from arena.games.kernels.compiling import kernel
from arena.games.solver._four import best, worst
from arena.games.solver._layers import PlyPositions, canonical_key, make_layers
from arena.games.solver._memory import COLUMN_BITS
from arena.games.solver._stones import NUM_ACTIONS, STRIDE, has_four, landings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SMALLEST = 9
"""Level of deflate: a book is written once, and shipped with each package."""
SHIPPED = Path(__file__).parent / "data" / "connect-four.book"
"""Created by `make book`; its provenance file is beside it."""


class Book:
    """The scores of all positions up to a ply."""

    plies: int
    """The last ply."""
    sizes: list[int]
    """Number of positions by ply, without mirror images."""

    def __init__(self, layers: Sequence[PlyPositions], scores: Sequence[NDArray[np.int8]]) -> None:
        self.plies = len(layers) - 1
        self.sizes = [len(layer.keys) for layer in layers]
        self._layers = layers
        self._scores = scores

    @classmethod
    def from_last(cls, layers: Sequence[PlyPositions], last: NDArray[np.int8]) -> Book:
        """Return the book whose last layer has these scores; all earlier layers are computed from it."""
        scores = [last]
        # From the last layer back, as each needs the scores of the one after it.
        for ply in range(len(layers) - 2, -1, -1):
            layer, below = layers[ply], layers[ply + 1]
            found = np.empty(len(layer.keys), np.int8)
            _back_up(layer.own, layer.mask, ply, below.keys, scores[0], found)
            scores.insert(0, found)
        return cls(layers, scores)

    @classmethod
    def read(cls, path: Path) -> Book:
        """Read a book.

        Raises:
            ArenaError: the file is damaged or missing.
        """
        try:
            scores = np.frombuffer(zlib.decompress(path.read_bytes()), np.int8)
        except (OSError, zlib.error) as error:
            raise ArenaError(
                f"{path} is not a book of Connect Four: {error}; install the package again"
            ) from error
        # The number of layers is not stored; it follows from the number of scores.
        layers, ends = [make_layers(0)[0]], [1]
        while ends[-1] < len(scores):
            layers = make_layers(len(layers))
            ends.append(ends[-1] + len(layers[-1].keys))
        if ends[-1] != len(scores):
            raise ArenaError(
                f"{path} is not a book of Connect Four: {len(scores)} scores; install the package again"
            )
        return cls(layers, np.split(scores, ends[:-1]))

    def write(self, path: Path) -> None:
        """Write the book to a file, replacing it."""
        path.write_bytes(zlib.compress(np.concatenate(self._scores).tobytes(), _SMALLEST))

    def score(self, own: int, mask: int, ply: int) -> int | None:
        """Return the score of a position that is not over, for the side to move; None beyond the book."""
        if ply > self.plies:
            return None
        return self._look_up(own, mask, ply)

    def least(self, own: int, mask: int) -> int:
        """Return a lower bound of the score of a position one ply beyond the book, for the side to move.

        The side that has just moved could achieve at most the score of the position before. That may have
        been one of several, one for each of its stones on top of a column.
        """
        opp, found = own ^ mask, worst(self.plies + 1)
        for column in range(NUM_ACTIONS):
            stones = mask & COLUMN_BITS << STRIDE * column
            top = 1 << stones.bit_length() - 1 if stones else 0
            # Only the side that has just moved can own the last stone.
            before = self._look_up(opp ^ top, mask ^ top, self.plies) if opp & top else None
            if before is not None:
                found = max(found, -before)
        return found

    def _look_up(self, own: int, mask: int, ply: int) -> int | None:
        """Return the score of a position from the layer of its ply; None if it is unreachable."""
        keys, key = self._layers[ply].keys, canonical_key(own, mask)
        # Keys are ascending, so bisection finds the key; the score is at the same place in its layer.
        place = int(np.searchsorted(keys, key))
        return int(self._scores[ply][place]) if place < len(keys) and keys[place] == key else None


@cache
def shipped_book() -> Book:
    """Return the book that is shipped with the package; takes a tenth of a second.

    Raises:
        ArenaError: it is damaged.
    """
    return Book.read(SHIPPED)


@kernel
def _back_up(
    own: NDArray[np.int64],
    mask: NDArray[np.int64],
    ply: int,
    child_keys: NDArray[np.int64],
    child_scores: NDArray[np.int8],
    scores: NDArray[np.int8],
) -> None:
    """Compute `scores` from those of the next ply."""
    for position in range(len(own)):
        found = worst(ply)
        moves = landings(mask[position])
        while moves:
            stone = moves & -moves
            moves ^= stone
            if has_four(own[position] | stone):
                found = best(ply)
            else:
                key = canonical_key(own[position] ^ mask[position], mask[position] | stone)
                # The child is in the next layer for certain: that contains every position of its ply that is
                # not over.
                found = max(found, -child_scores[np.searchsorted(child_keys, key)])
        scores[position] = found
