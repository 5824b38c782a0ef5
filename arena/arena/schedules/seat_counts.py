"""Sums of a ladder's matches by pair of seats, updated match by match.

A ladder has no end, so its coordinator adds each match to these sums once, instead of reading the whole plan
again for every batch.
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
"""Pairs of seats for which there is room at first; the arrays double when they are full."""


class FoldSums(NamedTuple):
    """Results of one fold by pair of seats, all `[encounters]`."""

    low: IntArray
    """The lower seat."""
    high: IntArray
    matches: FloatArray
    """Number of final matches that are not void, at least one."""
    points: FloatArray
    """Points of the lower seat in `matches`."""


class SeatCounts:
    """Sums of a plan of whole pairs and of its results.

    The pairs belong alternately to fold 0 and fold 1, by their place in the plan.
    """

    def __init__(self) -> None:
        """Initialise an empty plan."""
        self.num_planned = 0
        """Number of planned matches."""
        self.num_pairs: Counter[int] = Counter()
        """Number of planned pairs by seat."""
        self.last_pair: dict[int, int] = {}
        """Place of each seat's last pair in the plan, from 0; seats without a pair are absent."""
        self.next_match_no: Counter[int] = Counter()
        """Number of the next match of an encounter, by encounter."""
        self._open: dict[tuple[int, int], PlannedMatch] = {}
        self._slots: dict[tuple[int, int], int] = {}
        self._seats = np.zeros((_FIRST_ROOM, 2), dtype=np.int64)
        self._sums = np.zeros((_FIRST_ROOM, 2, 2))

    @classmethod
    def of(cls, plan: Iterable[PlannedMatch], results: Mapping[tuple[int, int], float | None]) -> SeatCounts:
        """Return the sums of a plan and its results, in the format of `View`."""
        counts = cls()
        counts.add(plan, results)
        return counts

    def add(self, planned: Iterable[PlannedMatch], results: Mapping[tuple[int, int], float | None]) -> None:
        """Add new matches and results.

        Args:
            planned: the matches planned since the last call.
            results: as in `View`; earlier results are included and unchanged.
        """
        for match in planned:
            self._add_planned(match)
        found: list[tuple[int, int, float]] = []
        # Only open matches are looked up: the results of all others have been added.
        for key in [key for key in self._open if key in results]:
            match, points = self._open.pop(key), results[key]
            # A void match leaves the list, too, but counts for neither bot.
            if points is not None:
                found.append((self._slot_of(match), fold_of((match.number - 1) // 2), points))
        if found:
            # One call for all of them: a call per match would be most of the time of a long ladder.
            slots, folds, points_of = zip(*found, strict=True)
            np.add.at(self._sums[:, :, 0], (slots, folds), 1.0)
            np.add.at(self._sums[:, :, 1], (slots, folds), points_of)

    def _add_planned(self, match: PlannedMatch) -> None:
        # A plan has whole pairs only, so every other match begins one.
        if self.num_planned % 2 == 0:
            self.num_pairs.update((match.first, match.second))
            self.last_pair[match.first] = self.last_pair[match.second] = self.num_planned // 2
        self.num_planned += 1
        self.next_match_no[match.encounter] = match.match_no + 1
        self._open[match.encounter, match.match_no] = match

    def _slot_of(self, match: PlannedMatch) -> int:
        """Return the index of the sums of a match's two seats; enlarge the arrays if needed."""
        seats = min(match.first, match.second), max(match.first, match.second)
        slot = self._slots.setdefault(seats, len(self._slots))
        if slot == len(self._seats):
            # Doubled, so that a match costs the same on average however many encounters there are.
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
    """Return the fold of the pair at this place in the plan, from 0."""
    return pair % 2
