"""Ratings of a tournament as they went: refitted after every few matches, each time only once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from arena.leaderboard.sides import Field, Result
from arena.leaderboard.tables import make_tables
from arena_db.records import MatchFilter, Tally

if TYPE_CHECKING:
    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store

MAX_MATCHES = 5000
"""Of a longer tournament there is no history: to read all of it would take seconds."""
_NUM_POINTS = 20
_PAGE = 1000


class History:
    """Elo by bot after so many matches; `update` reads only what is new."""

    def __init__(self, store: Store, tournament: TournamentRecord) -> None:
        """Take a tournament with its plan."""
        self._tournament = tournament
        self._entrants = store.entrants(tournament.id)
        self._step = max(len(self._entrants), -(-tournament.num_planned // _NUM_POINTS))
        self._newest = 0
        self._num = 0
        self._counts: Counter[tuple[int, int, str, str]] = Counter()
        self._unique: Counter[tuple[int, int, str, str]] = Counter()
        self._seen: set[tuple[int, int, str, str]] = set()
        self.points: list[tuple[int, dict[str, float]]] = []
        """Number of rated matches, and Elo by label after them; oldest first."""

    def update(self, store: Store) -> None:
        """Read the matches that came since, in the order of storing."""
        if self._tournament.num_planned > MAX_MATCHES:
            return
        for match in self._newer(store):
            self._newest = match.id
            if match.rated:
                self._add(match)

    def _newer(self, store: Store) -> list[StoredMatch]:
        where = MatchFilter(tournament=self._tournament.name)
        found: list[StoredMatch] = []
        before = None
        while page := store.matches(where, before=before, limit=_PAGE):
            found += [match for match in page if match.id > self._newest]
            before = page[-1].id
            if before <= self._newest:
                break
        return found[::-1]

    def _add(self, match: StoredMatch) -> None:
        kind = (match.first_seat, match.second_seat, match.outcome, match.termination)
        play = (match.first_seat, match.second_seat, match.outcome, match.match_hash)
        self._counts[kind] += 1
        self._unique[kind] += play not in self._seen
        self._seen.add(play)
        self._num += 1
        if self._num % self._step == 0:
            self.points.append((self._num, self._fitted()))

    def _fitted(self) -> dict[str, float]:
        identities = tuple(entrant.bot.identity for entrant in self._entrants)
        results = tuple(
            Result(kind[0], kind[1], self._tally(kind, number)) for kind, number in self._counts.items()
        )
        field = Field(tuple(entrant.label for entrant in self._entrants), identities, results)
        tables = make_tables(field, self._tournament.game, self._tournament.pool)
        return {row.name: row.elo for table in tables for row in table.rows if row.games}

    def _tally(self, kind: tuple[int, int, str, str], number: int) -> Tally:
        first, second, outcome, termination = kind
        return Tally(
            tournament=self._tournament.id,
            game=self._tournament.game,
            pool=self._tournament.pool,
            first=self._entrants[first].bot.identity,
            second=self._entrants[second].bot.identity,
            first_seat=first,
            second_seat=second,
            outcome=outcome,
            termination=termination,
            rated=True,
            num_matches=number,
            num_unique=self._unique[kind],
        )
