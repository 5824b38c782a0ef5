"""Reads the rated matches of a store once, and sums them up for any field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.rating.sums import MatchArrays, RatedMatch, encounters
from arena.results.sides import POINTS
from arena_plugins import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.rating.sums import Encounters
    from arena_db.records import MatchFilter
    from arena_db.store import Store

    Seat = tuple[int, int]
    """Tournament and seat in it."""


class RatedMatches:
    """The rated matches that fit a filter; `update` reads only what is new."""

    def __init__(self, where: MatchFilter) -> None:
        """Begin without matches, for those that fit a filter."""
        self._where = where
        self._newest = 0
        self._seats: dict[Seat, int] = {}
        self._matches = MatchArrays()

    def update(self, store: Store) -> None:
        """Read the matches that were stored since."""
        found = store.played(self._where, after=self._newest)
        if not found:
            return
        self._newest = found[-1].id
        seats = self._seats
        self._matches.add(
            RatedMatch(
                seats.setdefault((match.tournament, match.first_seat), len(seats)),
                seats.setdefault((match.tournament, match.second_seat), len(seats)),
                POINTS[Outcome(match.outcome)],
                (match.tournament, match.encounter, match.match_no // 2),
                match.opening,
                match.match_hash,
            )
            for match in found
        )

    def matches(self, index: Mapping[Seat, int]) -> MatchArrays:
        """Return the matches of a field.

        Args:
            index: of the bot in the field, by tournament and seat; matches of other seats are left out.
        """
        numbers = np.full(max(len(self._seats), 1), -1, dtype=np.int64)
        for seat, code in self._seats.items():
            numbers[code] = index.get(seat, -1)
        return self._matches.renumbered(numbers)

    def encounters(self, index: Mapping[Seat, int]) -> Encounters:
        """Sum up the matches of a field, which `index` gives as for `matches`."""
        return encounters(self.matches(index))
