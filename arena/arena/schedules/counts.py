"""What a ladder needs to know of its matches: sums by pair of seats, brought up to date match by match.

A ladder has no end, so whoever holds its event adds each match to these sums once, in place of a whole plan
that is read again for every batch.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from arena_db.records import PlannedMatch

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]

_FIRST_ROOM = 64


class FoldSums(NamedTuple):
    """Results of one fold by pair of seats, all `[encounters]`."""

    low: IntArray
    """The lower seat."""
    high: IntArray
    matches: FloatArray
    """Final matches that are not void, at least one."""
    points: FloatArray
    """Points of the lower seat in them."""


class SeatCounts:
    """Sums of a plan of whole pairs and of its results.

    The pairs belong to fold 0 and 1 in turn, by their place in the plan.
    """

    def __init__(self) -> None:
        """Begin with an empty plan."""
        self.num_planned = 0
        """Matches planned."""
        self.num_pairs: Counter[int] = Counter()
        """Planned pairs by seat."""
        self.last_pair: dict[int, int] = {}
        """Place of each seat's last pair in the plan, from 0; a seat that was never paired is missing."""
        self.next_match_no: Counter[int] = Counter()
        """What the next match of an encounter is numbered, by encounter."""
        self._open: dict[tuple[int, int], PlannedMatch] = {}
        self._slots: dict[tuple[int, int], int] = {}
        self._seats = np.zeros((_FIRST_ROOM, 2), dtype=np.int64)
        self._sums = np.zeros((_FIRST_ROOM, 2, 2))

    @classmethod
    def of(cls, plan: Iterable[PlannedMatch], results: Mapping[tuple[int, int], float | None]) -> SeatCounts:
        """Return the sums of a plan and its results, as `View` has them."""
        counts = cls()
        counts.add(plan, results)
        return counts

    def add(self, planned: Iterable[PlannedMatch], results: Mapping[tuple[int, int], float | None]) -> None:
        """Add what is new.

        Args:
            planned: the matches that were planned since.
            results: as `View` has them, those of before included and unchanged.
        """
        for match in planned:
            self._add_planned(match)
        found: list[tuple[int, int, float]] = []
        for key in [key for key in self._open if key in results]:
            match, points = self._open.pop(key), results[key]
            if points is not None:
                found.append((self._slot_of(match), fold_of((match.number - 1) // 2), points))
        if found:
            # One call for all of them: one for each takes most of the time of a long ladder.
            slots, folds, points_of = zip(*found, strict=True)
            np.add.at(self._sums[:, :, 0], (slots, folds), 1.0)
            np.add.at(self._sums[:, :, 1], (slots, folds), points_of)

    def _add_planned(self, match: PlannedMatch) -> None:
        if self.num_planned % 2 == 0:
            self.num_pairs.update((match.first, match.second))
            self.last_pair[match.first] = self.last_pair[match.second] = self.num_planned // 2
        self.num_planned += 1
        self.next_match_no[match.encounter] = match.match_no + 1
        self._open[match.encounter, match.match_no] = match

    def _slot_of(self, match: PlannedMatch) -> int:
        """Return where the sums of the two seats of a match are, with room for them."""
        seats = min(match.first, match.second), max(match.first, match.second)
        slot = self._slots.setdefault(seats, len(self._slots))
        if slot == len(self._seats):
            self._seats = np.concatenate([self._seats, np.zeros_like(self._seats)])
            self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)])
        self._seats[slot] = seats
        return slot

    def fold(self, fold: int) -> FoldSums:
        """Return the results of fold 0 or 1."""
        sums = self._sums[: len(self._slots), fold]
        played = np.flatnonzero(sums[:, 0])
        return FoldSums(self._seats[played, 0], self._seats[played, 1], sums[played, 0], sums[played, 1])


def fold_of(pair: int) -> int:
    """Return the fold of the pair with this place in the plan, from 0."""
    return pair % 2
