"""Ratings of a tournament as they went: refitted after every few matches, each time only once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.rating.fit import fit
from arena.rating.sums import MatchArrays, RatedMatch, encounters
from arena.results.sides import POINTS
from arena_db.records import MatchFilter
from arena_plugins import Outcome

if TYPE_CHECKING:
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

MAX_MATCHES = 5000
"""Of a longer tournament there is no history: to read all of it would take seconds."""
_NUM_POINTS = 20


class History:
    """Elo by bot after so many matches; `update` reads only what is new."""

    def __init__(self, store: Store, tournament: TournamentRecord) -> None:
        """Take a tournament with its plan."""
        self._tournament = tournament
        self._labels = [entrant.label for entrant in store.entrants(tournament.id)]
        self._step = max(len(self._labels), -(-tournament.num_planned // _NUM_POINTS))
        self._newest = 0
        self._matches = MatchArrays()
        self.points: list[tuple[int, dict[str, float]]] = []
        """Number of rated matches, and Elo by label after them; oldest first."""

    def update(self, store: Store) -> None:
        """Read the matches that came since, in the order of storing."""
        if self._tournament.num_planned > MAX_MATCHES:
            return
        where = MatchFilter(tournament=self._tournament.name)
        for match in store.played(where, after=self._newest):
            self._newest = match.id
            pair = match.encounter, match.match_no // 2
            points = POINTS[Outcome(match.outcome)]
            seats = match.first_seat, match.second_seat
            self._matches.add([RatedMatch(*seats, points, pair, match.opening_hash, match.match_hash)])
            if len(self._matches) % self._step == 0:
                self.points.append((len(self._matches), self._fitted()))

    def _fitted(self) -> dict[str, float]:
        ratings = fit(encounters(self._matches), self._labels)
        return {
            name: elo
            for name, elo, num in zip(ratings.names, ratings.elo, ratings.num_matches, strict=True)
            if num
        }
