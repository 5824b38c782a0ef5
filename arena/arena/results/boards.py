"""The leaderboards of all pools of a store; each is fitted at most once, at its first use."""

from __future__ import annotations

from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING

from arena.rating.pairs import expected_score
from arena.results.encounter import meetings_of
from arena.results.names import long_names
from arena.results.rated_matches import RatedMatches
from arena.results.rating_tables import Leaderboard, pools
from arena.results.shared import once_per_state
from arena.results.sides import GamePool
from arena_db.records import MatchFilter, PoolCounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.results.encounter import Meetings
    from arena.results.tables import Table
    from arena_db.store import Store


class Boards:
    """The leaderboards of one state of a store; callers use `boards_of`.

    Parts that are computed later read the store, so they must be used in a snapshot of the same state.
    """

    def __init__(self, store: Store) -> None:
        """Read the stored counts; no table is fitted yet."""
        self._store = store
        # Threads that need the same part wait for the first one, instead of computing it again.
        self._lock = RLock()
        self.tallies = [tally for tally in store.sums.tallies(MatchFilter()) if tally.first != tally.second]
        """Tallies of rated matches of all tournaments, except matches of a bot against itself."""
        self.bots = store.names.bots()
        """Bots by identity."""
        self.labels = store.names.labels()
        """The most recent label of each bot, by identity."""
        self._counts = PoolCounts.of(self.tallies)
        self.pools = pools(self._counts.tallies)
        """Game, pool and number of matches, the largest pool first."""
        self._books: dict[tuple[str, str], RatedMatches] = {}
        self._boards: dict[tuple[str, str], Leaderboard] = {}
        self._tables: dict[tuple[str, str, bool], list[Table]] = {}
        self._elo: dict[tuple[str, str], dict[str, tuple[int, float]]] = {}
        self._met: dict[tuple[str, str], Meetings[str]] = {}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Names of all bots, unique in the store, by identity."""
        return dict(zip(self.bots, long_names(list(self.bots.values()), self.labels), strict=True))

    def tables(self, game: str, pool: str) -> list[Table]:
        """Return the tables of a pool as the leaderboard shows them."""
        return self._read(game, pool, has_gaps=True)

    def ratings(self, game: str, pool: str) -> list[Table]:
        """Return the tables of a pool without comparisons of neighbours, which take most of the time."""
        return self._read(game, pool, has_gaps=False)

    def _read(self, game: str, pool: str, *, has_gaps: bool) -> list[Table]:
        key = game, pool, has_gaps
        with self._lock:
            if key not in self._tables:
                self._tables[key] = self._board(game, pool).tables(has_gaps=has_gaps)
            return self._tables[key]

    def _board(self, game: str, pool: str) -> Leaderboard:
        if (game, pool) not in self._boards:
            book = self._book(game, pool)
            self._boards[game, pool] = Leaderboard(
                self._counts, self.bots, GamePool(game, pool), book, self.labels
            )
        return self._boards[game, pool]

    def _book(self, game: str, pool: str) -> RatedMatches:
        if (game, pool) not in self._books:
            book = self._books[game, pool] = RatedMatches(MatchFilter(game=game, pool=pool))
            book.update(self._store)
        return self._books[game, pool]

    def meetings(self, game: str, pool: str) -> Meetings[str]:
        """Return the encounters of all pairs of bots of a pool; see `encounter.pool_meetings`."""
        with self._lock:
            if (game, pool) not in self._met:
                own = (tally for tally in self.tallies if (tally.game, tally.pool) == (game, pool))
                self._met[game, pool] = meetings_of(own, self._book(game, pool), game, pool)
            return self._met[game, pool]

    def expected(self, game: str, pool: str, first: str, second: str) -> float | None:
        """Return the points, 0 to 1, that the fitted ratings expect of the bot that moves first.

        Args:
            game: canonical spec.
            pool: name of the pool.
            first: identity of the bot that moves first.
            second: identity of the other bot.

        Returns:
            None if no chain of matches connects the two.
        """
        tables = self.ratings(game, pool)
        if (game, pool) not in self._elo:
            self._elo[game, pool] = {
                row.identity: (number, row.elo) for number, table in enumerate(tables) for row in table.rows
            }
        elo = self._elo[game, pool]
        if first not in elo or second not in elo or elo[first][0] != elo[second][0]:
            return None
        return expected_score(elo[first][1] - elo[second][1] + tables[0].first_advantage)


@once_per_state
def boards_of(store: Store) -> Boards:
    """Return the leaderboards of a store as it is in the snapshot of the caller."""
    return Boards(store)
