"""Tables of the dashboard as view-models: standings, leaderboards, crosstable, ratings over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.live.labels import show_name
from arena.live.table_views import Point, Series, StandingRow, StandingsView
from arena.results.names import Naming, largest_pools, naming_of
from arena.results.sides import GamePool
from arena.watching.standing import by_place, standings_in, with_standing
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from arena.results.tables import Row, Table
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


class DashboardTables:
    """Computes the tables of one tournament."""

    def __init__(self, store: Store, tournament: TournamentRecord) -> None:
        """Prepare for a tournament; nothing is computed yet."""
        # Imported late: NumPy takes long to load, and the first screen must not wait for it.
        from arena.results.history import History
        from arena.results.rated_matches import RatedMatches

        self._history = History(store, tournament)
        self._book = RatedMatches(MatchFilter(tournament=tournament.name))
        self._all = RatedMatches(MatchFilter())
        self._boards: dict[tuple[object, ...], StandingsView] = {}
        self._called: Mapping[str, str] = {}
        self.naming = Naming({}, {})
        """Labels of the bots in the tables made last."""
        self.goal = ""
        """Progress towards the tournament's goal according to the tables made last; empty if it has none."""

    def make(self, store: Store, tournament: TournamentRecord) -> dict[str, object]:
        """Return all current tables, with the labels of `naming`.

        If ratings over time are not stored for the beginning of a tournament, the tables lack them; see
        `rate_beginning`.
        """
        from arena.coordinator.event_tables import event_tables
        from arena.coordinator.goals import goal_line
        from arena.results.crosstable import crosstable, matrix_view
        from arena.results.rating_tables import standings
        from arena.results.table_notes import notes_on

        self._history.update(store)
        tables = standings(store, tournament, book=self._book)
        event = event_tables(store, tournament)
        self.goal = goal_line(store, tournament, tables=tables, event=event)
        # Bots may join meanwhile, so entrants are read last: no table then has a bot without a name.
        entrants = store.tournaments.entrants(tournament.id)
        names = [entrant.label for entrant in entrants]
        naming = naming_of(store, tournament)
        trend = [
            (point.num_matches, {names[rating.seat]: rating.elo for rating in point.ratings})
            for point in self._history.points
        ]
        trends = {name: tuple(elo[name] for _, elo in trend if name in elo) for name in names}
        if naming != self.naming:
            self._boards, self.naming = {}, naming
        found = standing_rows(tables, naming.seats, trends)
        rows = with_standing(found, standings_in(store, tournament, entrants, tables))
        with store.at_one_moment():
            boards = self._leaderboards(store, tournament, naming)
        return {
            "standings": StandingsView(
                title=show_name(tournament.name), rows=rows, notes=tuple(notes_on(tables))
            ),
            "identities": {entrant.label: entrant.bot.identity for entrant in entrants},
            "event": event,
            "by_place": None
            if event is None
            else StandingsView(title=show_name(tournament.name), rows=by_place(rows, event)),
            "leaderboard": boards[0] if boards else StandingsView(title="no results yet"),
            "leaderboards": boards,
            "matrix": matrix_view(
                crosstable(store, tournament, [row.name for row in rows], self._book),
                naming.seats,
                show_name(tournament.name),
                [row.place for row in rows],
            ),
            "trend": [
                Series(
                    row.label,
                    tuple(Point(float(num), elo[row.name]) for num, elo in trend if row.name in elo),
                )
                for row in rows
            ],
        }

    def lacks_beginning(self, tournament: TournamentRecord) -> bool:
        """Return whether `rate_beginning` would add ratings over time that the tables lack."""
        return self._history.needs_scan(tournament)

    def rate_beginning(
        self, store: Store, tournament: TournamentRecord, is_wanted: Callable[[], bool]
    ) -> None:
        """Rate matches that were played before ratings were stored; takes seconds for a million of them.

        Args:
            store: the store with the matches.
            tournament: the current record of the tournament.
            is_wanted: polled repeatedly; if it returns False, nothing changes.
        """
        self._history.scan(store, tournament, is_wanted)

    def _leaderboards(
        self, store: Store, tournament: TournamentRecord, naming: Naming
    ) -> tuple[StandingsView, ...]:
        """Return a leaderboard for each game and pool, the tournament's own first."""
        from arena.results.rating_tables import Leaderboard, pools
        from arena.results.table_notes import notes_on
        from arena.results.tested import count_tested, mark_tested

        counts = store.sums.pool_counts(MatchFilter())
        bots, called = store.names.bots(), store.names.labels()
        if called != self._called:
            self._boards, self._called = {}, called
        self._all.update(store)
        sizes = {(game, pool): num for game, pool, num in pools(counts.tallies)}
        marks = tuple(sorted(store.ratings.replay_marks().items()))
        views: dict[tuple[object, ...], StandingsView] = {}
        for game, pool in largest_pools(sizes, tournament):
            num = sizes[game, pool]
            # Most pools do not change during a tournament, so their views are cached.
            view = self._boards.get((game, pool, num, marks))
            if view is None:
                fitted = Leaderboard(counts, bots, GamePool(game, pool), self._all, called).tables()
                tables = mark_tested(fitted, count_tested(store, MatchFilter(game=game, pool=pool)))
                rows = (row for table in tables for row in table.rows)
                labels = {row.name: naming.label_of(row.identity) for row in rows}
                view = StandingsView(
                    title=f"{game} {pool}",
                    game=game,
                    pool=pool,
                    rows=standing_rows(tables, labels, {}),
                    notes=tuple(notes_on(tables)),
                )
            views[game, pool, num, marks] = view
        self._boards = views
        return tuple(views.values())


def standing_rows(
    tables: Sequence[Table], labels: Mapping[str, str], trends: Mapping[str, tuple[float, ...]]
) -> tuple[StandingRow, ...]:
    """Return the rows of all tables, one table below the other."""
    return tuple(
        _standing_row(row, number if len(tables) > 1 else 0, labels[row.name], trends.get(row.name, ()))
        for number, table in enumerate(tables, 1)
        for row in table.rows
    )


def _standing_row(row: Row, table: int, label: str, trend: tuple[float, ...]) -> StandingRow:
    return StandingRow(
        rank=row.rank,
        table=table,
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
        tested=row.tested,
        trend=trend,
    )
