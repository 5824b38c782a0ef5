"""The leaderboards of all pools of a store; each is fitted at most once, at its first use."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from arena.rating.pairs import expected_score
from arena.results.encounter import pool_meetings
from arena.results.names import long_names
from arena.results.rated_matches import RatedMatches
from arena.results.rating_tables import Leaderboard, pools
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.results.counts import HeadToHead
    from arena.results.tables import Table
    from arena_db.store import Store


class Boards:
    """Cached leaderboards of a store, which must stay open while they are used."""

    def __init__(self, store: Store) -> None:
        """Read the stored counts and sums at one moment; no table is fitted yet."""
        self._store = store
        # Tables are fitted later, from what is read here: a run may have stored more matches by then, and
        # sums with more matches than the counts have shown a negative number of matches without a pair.
        self._book = RatedMatches(MatchFilter())
        with store.at_one_moment():
            self.tallies = [tally for tally in store.tallies(MatchFilter()) if tally.first != tally.second]
            """Tallies of rated matches of all tournaments, except matches of a bot against itself."""
            self.bots = store.bots()
            """Bots by identity."""
            self.labels = store.labels()
            """The most recent label of each bot, by identity."""
            self._book.update(store)
        self.pools = pools(self.tallies)
        """Game, pool and number of matches, the largest pool first."""
        self._tables: dict[tuple[str, str], list[Table]] = {}
        self._elo: dict[tuple[str, str], dict[str, tuple[int, float]]] = {}
        self._met: dict[tuple[str, str], dict[tuple[str, str], HeadToHead]] = {}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Names of all bots, unique in the store, by identity."""
        return dict(zip(self.bots, long_names(list(self.bots.values()), self.labels), strict=True))

    def tables(self, game: str, pool: str) -> list[Table]:
        """Return the tables of a pool as the leaderboard shows them."""
        if (game, pool) not in self._tables:
            board = Leaderboard(self.tallies, self.bots, game, pool, self._book, self.labels)
            self._tables[game, pool] = board.tables()
        return self._tables[game, pool]

    def meetings(self, game: str, pool: str) -> Mapping[tuple[str, str], HeadToHead]:
        """Return the encounters of all pairs of bots of a pool; see `encounter.pool_meetings`."""
        if (game, pool) not in self._met:
            self._met[game, pool] = pool_meetings(self._store, game, pool)
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
        tables = self.tables(game, pool)
        if (game, pool) not in self._elo:
            self._elo[game, pool] = {
                row.identity: (number, row.elo) for number, table in enumerate(tables) for row in table.rows
            }
        elo = self._elo[game, pool]
        if first not in elo or second not in elo or elo[first][0] != elo[second][0]:
            return None
        return expected_score(elo[first][1] - elo[second][1] + tables[0].first_advantage)
