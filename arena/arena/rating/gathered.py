"""Sums up very many matches as they arrive, with little memory besides the matches themselves."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from arena.rating.sums import ClusterSums, Encounters, MatchArrays, encounters, join

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from arena.rating.sums import IntArray, RatedMatch

_NUM_PARTS: Final = 32
_FACTOR: Final = 31
"""Coprime to the number of parts, so that the opponents of one bot fall into different parts."""
_PACKED: Final = np.dtype([("bots", "<i4", 2), ("half", "i1"), ("hashes", "<i8", 3)])
"""33 bytes per match, instead of the 48 of `MatchArrays`."""


class GatheredMatches:
    """Rated matches by encounter: `encounters` sums up one part of them at a time.

    `sums.encounters` takes ten times the memory of its matches while it works, and a viewer that calls it for
    200,000 of them would keep 20 MB more from then on. All matches of two bots are in one part, so the sums
    are the same.
    """

    def __init__(self) -> None:
        """Initialise without matches."""
        self._parts = [np.zeros(0, _PACKED) for _ in range(_NUM_PARTS)]
        self._num = 0

    def __len__(self) -> int:
        """Return the number of matches."""
        return self._num

    def add(self, played: Iterable[RatedMatch]) -> None:
        """Add matches.

        Raises:
            ConfigError: points that are not 0, 0.5 or 1.
        """
        sorted_out: list[list[RatedMatch]] = [[] for _ in self._parts]
        for match in played:
            low, high = sorted(match[:2])
            sorted_out[(_FACTOR * low + high) % _NUM_PARTS].append(match)
        for place, own in enumerate(sorted_out):
            rows = MatchArrays(own).rows
            packed = np.zeros(len(rows), _PACKED)
            packed["bots"], packed["half"], packed["hashes"] = rows[:, :2], rows[:, 2], rows[:, 3:]
            self._parts[place] = np.concatenate([self._parts[place], packed])
            self._num += len(own)

    def encounters(self) -> Encounters:
        """Return the sums of all matches, as `sums.encounters` does."""
        found = [encounters(MatchArrays.of(_unpacked(part))) for part in self._parts]
        order = np.lexsort(
            [np.concatenate([getattr(one, name) for one in found]) for name in ("high", "low")]
        )

        def joined(values: Sequence[Any]) -> Any:  # noqa: ANN401 # of each of three kinds of fields
            if isinstance(values[0], ClusterSums):
                return join(values).take(order)
            if isinstance(values[0], tuple):
                return tuple(joined(each) for each in zip(*values, strict=True))
            return np.concatenate(values)[order]

        return Encounters(
            **{each.name: joined([getattr(one, each.name) for one in found]) for each in fields(Encounters)}
        )


def _unpacked(part: NDArray[np.void]) -> IntArray:
    """Return packed matches in the format of `MatchArrays.rows`, `[matches, 6]`."""
    return np.column_stack([part["bots"], part["half"], part["hashes"]]).astype(np.int64, copy=False)
