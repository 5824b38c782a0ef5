"""Tables of the leaderboard room as view-models: standings, leaderboards, crosstable, ratings over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.live.labels import short_labels, show_name
from arena.live.tables import Point, Series, StandingRow, StandingsView
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.results.tables import Row, Table
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_MAX_POOLS = 12
"""Leaderboards that are made; those with most matches."""


class Facts:
    """Makes the tables of one tournament anew."""

    def __init__(self, store: Store, tournament: TournamentRecord) -> None:
        """Take the tournament that is watched."""
        # Ratings need numpy, which takes long to load: not before the first paint.
        from arena.results.book import RatedMatches
        from arena.results.history import History

        self._history = History(store, tournament)
        self._book = RatedMatches(MatchFilter(tournament=tournament.name))
        self._all = RatedMatches(MatchFilter())
        self._boards: dict[tuple[str, str, int], StandingsView] = {}
        self._called: Mapping[str, str] = {}
        self._names = [entrant.label for entrant in store.entrants(tournament.id)]
        self._labels = dict(zip(self._names, short_labels(self._names), strict=True))

    def make(self, store: Store, tournament: TournamentRecord) -> dict[str, object]:
        """Give all tables as they are now."""
        from arena.results.crosstable import crosstable, matrix_view
        from arena.results.views import standings

        self._history.update(store)
        trend = self._history.points
        tables = standings(store, tournament, book=self._book)
        trends = {name: tuple(elo[name] for _, elo in trend if name in elo) for name in self._names}
        rows = standing_rows(tables, self._labels, trends)
        boards = self._leaderboards(store, tournament)
        return {
            "standings": StandingsView(title=show_name(tournament.name), rows=rows),
            "leaderboard": boards[0] if boards else StandingsView(title="no results yet"),
            "leaderboards": boards,
            "matrix": matrix_view(
                crosstable(store, tournament, [row.name for row in rows], self._book),
                self._labels,
                show_name(tournament.name),
            ),
            "trend": [
                Series(
                    self._labels[row.name],
                    tuple(Point(float(num), elo[row.name]) for num, elo in trend if row.name in elo),
                )
                for row in rows
            ],
        }

    def _leaderboards(self, store: Store, tournament: TournamentRecord) -> tuple[StandingsView, ...]:
        """Return a leaderboard for each game and pool, that of the tournament first."""
        from arena.results.views import Leaderboard, pools

        tallies = store.tallies(MatchFilter())
        bots, called = store.bots(), store.labels()
        if called != self._called:
            self._boards, self._called = {}, called
        self._all.update(store)
        own = (tournament.game, tournament.pool.name)
        found = sorted(pools(tallies), key=lambda pool: pool[:2] != own)[:_MAX_POOLS]
        views: dict[tuple[str, str, int], StandingsView] = {}
        for game, pool, num in found:
            # Most pools do not change while a tournament runs.
            view = self._boards.get((game, pool, num))
            if view is None:
                tables = Leaderboard(tallies, bots, game, pool, self._all, called).tables()
                names = [row.name for table in tables for row in table.rows]
                labels = dict(zip(names, short_labels(names), strict=True))
                view = StandingsView(title=f"{game} {pool}", rows=standing_rows(tables, labels, {}))
            views[game, pool, num] = view
        self._boards = views
        return tuple(views.values())


def standing_rows(
    tables: Sequence[Table], labels: Mapping[str, str], trends: Mapping[str, tuple[float, ...]]
) -> tuple[StandingRow, ...]:
    """Give the rows of all tables one below the other; ranks go on from table to table."""
    rows = [row for table in tables for row in table.rows]
    return tuple(
        _standing_row(row, rank, labels[row.name], trends.get(row.name, ()))
        for rank, row in enumerate(rows, start=1)
    )


def _standing_row(row: Row, rank: int, label: str, trend: tuple[float, ...]) -> StandingRow:
    return StandingRow(
        rank=rank,
        name=row.name,
        label=label,
        elo=row.elo,
        error=row.error,
        elo_low=row.elo_low,
        elo_high=row.elo_high,
        rests_on_prior=row.rests_on_prior,
        games=row.games,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        points=row.points,
        score_first=row.score_first,
        score_second=row.score_second,
        faults=row.time + row.illegal + row.crash + row.other,
        los=row.los,
        trend=trend,
    )
