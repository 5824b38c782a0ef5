"""Stored answers for positions of Connect Four beyond the opening book whose search takes long.

The table is sparse: it contains the positions that a search from empty tables needs many nodes for, and only
one of two mirror images. `make book-answers` creates it.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.errors import ArenaError
from arena.games.solver._layers import canonical_key
from arena.games.solver._stones import NUM_ACTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SHIPPED = Path(__file__).parent / "data" / "connect-four.answers"
"""Created by `make book-answers`; its progress is recorded in the provenance file beside it."""
_SMALLEST = 9
"""Level of deflate: the table is shipped with each package."""
_KEY_BYTES = 8
_BYTES_PER_ANSWER = _KEY_BYTES + 2
"""A key, and one byte each for a score and an action."""


class KnownMove(NamedTuple):
    """The score of a position, and one action that achieves it."""

    score: int
    """Score for the side to move."""
    action: int


class Answers:
    """A table of answers by position."""

    def __init__(self, keys: NDArray[np.int64], scores: NDArray[np.int8], actions: NDArray[np.int8]) -> None:
        """Store arrays of equal length: ascending canonical keys, scores, and actions for these keys."""
        self.keys = keys
        self._scores = scores
        self._actions = actions

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(cls, found: Sequence[tuple[int, int, int]]) -> Answers:
        """Return a table built from triples of canonical key, score and action, with distinct keys."""
        rows = np.array(sorted(found), np.int64).reshape(-1, 3)
        return cls(rows[:, 0].copy(), rows[:, 1].astype(np.int8), rows[:, 2].astype(np.int8))

    @classmethod
    def read(cls, path: Path) -> Answers:
        """Read a table.

        Raises:
            ArenaError: the file is damaged or missing.
        """
        try:
            content = zlib.decompress(path.read_bytes())
        except (OSError, zlib.error) as error:
            raise ArenaError(
                f"{path} is not a table of answers: {error}; install the package again"
            ) from error
        number, rest = divmod(len(content), _BYTES_PER_ANSWER)
        if rest:
            raise ArenaError(f"{path} is not a table of answers: it is cut short; install the package again")
        # The file stores differences of ascending keys, byte plane by byte plane: they are small, so deflate
        # works well.
        planes = np.frombuffer(content, np.uint8, _KEY_BYTES * number).reshape(_KEY_BYTES, number)
        steps = planes.T.copy().view("<i8")
        scores, actions = np.frombuffer(content, np.int8, 2 * number, _KEY_BYTES * number).reshape(2, number)
        return cls(np.cumsum(steps.reshape(-1)), scores, actions)

    def to_dict(self) -> dict[int, tuple[int, int]]:
        """Return score and action, on the board of the key, by canonical key."""
        rows = zip(self._scores.tolist(), self._actions.tolist(), strict=True)
        return dict(zip(self.keys.tolist(), rows, strict=True))

    def write(self, path: Path) -> None:
        """Write the table to a file, replacing it."""
        # Ascending keys have small differences, whose high bytes are mostly 0.
        steps = np.diff(self.keys, prepend=0).astype("<i8").view(np.uint8).reshape(-1, _KEY_BYTES).T
        content = steps.tobytes() + self._scores.tobytes() + self._actions.tobytes()
        path.write_bytes(zlib.compress(content, _SMALLEST))

    def find(self, own: int, mask: int) -> KnownMove | None:
        """Return the answer for a position; None if the table does not contain it.

        Args:
            own: stones of the side to move.
            mask: all stones.
        """
        key = canonical_key(own, mask)
        place = int(np.searchsorted(self.keys, key))
        if place == len(self.keys) or self.keys[place] != key:
            return None
        action = int(self._actions[place])
        # The table is about the canonical image. If that is the mirror image, so is the action.
        is_mirrored = key != own + mask
        return KnownMove(int(self._scores[place]), NUM_ACTIONS - 1 - action if is_mirrored else action)


@cache
def shipped_answers() -> Answers:
    """Return the table that is shipped with the package.

    Raises:
        ArenaError: it is damaged.
    """
    return Answers.read(SHIPPED)
