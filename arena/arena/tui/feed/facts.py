"""Tables of the leaderboard room as view-models: standings, leaderboards, crosstable, ratings over time."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from arena.leaderboard.sides import POINTS
from arena.live.labels import short_labels, show_name
from arena.live.tables import MatrixCell, MatrixView, Point, Series, StandingRow, StandingsView
from arena_db.records import MatchFilter
from arena_plugins import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.leaderboard.tables import Row, Table
    from arena_db.records import Tally, TournamentRecord
    from arena_db.store import Store

_MAX_POOLS = 12
"""Leaderboards that are made; those with most matches."""


class Facts:
    """Makes the tables of one tournament anew."""

    def __init__(self, store: Store, tournament: TournamentRecord) -> None:
        """Take the tournament that is watched."""
        # Ratings need numpy, which takes long to load: not before the first paint.
        from arena.leaderboard.history import History

        self._history = History(store, tournament)
        self._names = [entrant.label for entrant in store.entrants(tournament.id)]
        self._labels = dict(zip(self._names, short_labels(self._names), strict=True))

    def make(self, store: Store, tournament: TournamentRecord) -> dict[str, object]:
        """Give all tables as they are now."""
        from arena.leaderboard.views import standings

        self._history.update(store)
        trend = self._history.points
        tables = standings(store, tournament)
        trends = {name: tuple(elo[name] for _, elo in trend if name in elo) for name in self._names}
        rows = standing_rows(tables, self._labels, trends)
        boards = _leaderboards(store, tournament)
        return {
            "standings": StandingsView(title=show_name(tournament.name), rows=rows),
            "leaderboard": boards[0] if boards else StandingsView(title="no results yet"),
            "leaderboards": boards,
            "matrix": self._matrix(store, tournament, [row.name for row in rows]),
            "trend": [
                Series(
                    self._labels[row.name],
                    tuple(Point(float(num), elo[row.name]) for num, elo in trend if row.name in elo),
                )
                for row in rows
            ],
        }

    def _matrix(self, store: Store, tournament: TournamentRecord, order: Sequence[str]) -> MatrixView:
        counts = _points_by_first(store.tallies(MatchFilter(tournament=tournament.name)), self._names)
        return MatrixView(
            names=tuple(order),
            labels=tuple(self._labels[name] for name in order),
            cells=tuple(
                tuple(None if row == column else _cell(counts, row, column) for column in order)
                for row in order
            ),
            title=show_name(tournament.name),
        )


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


def _leaderboards(store: Store, tournament: TournamentRecord) -> tuple[StandingsView, ...]:
    """Give a leaderboard for each game and pool, that of the tournament first."""
    from arena.leaderboard.views import Leaderboard, pools

    tallies = store.tallies(MatchFilter())
    bots, called = store.bots(), store.labels()
    own = (tournament.game, tournament.pool)
    found = sorted(pools(tallies), key=lambda pool: pool[:2] != own)[:_MAX_POOLS]
    views: list[StandingsView] = []
    for game, pool, _ in found:
        tables = Leaderboard(tallies, bots, game, pool, called).tables()
        names = [row.name for table in tables for row in table.rows]
        labels = dict(zip(names, short_labels(names), strict=True))
        views.append(StandingsView(title=f"{game} {pool}", rows=standing_rows(tables, labels, {})))
    return tuple(views)


def _points_by_first(
    tallies: Sequence[Tally], names: Sequence[str]
) -> Mapping[tuple[str, str], Counter[float]]:
    """Count the points of who moved first, by that bot and the other one."""
    counts: defaultdict[tuple[str, str], Counter[float]] = defaultdict(Counter)
    for tally in tallies:
        key = (names[tally.first_seat], names[tally.second_seat])
        counts[key][POINTS[Outcome(tally.outcome)]] += tally.num_matches
    return counts


def _cell(counts: Mapping[tuple[str, str], Counter[float]], row: str, column: str) -> MatrixCell:
    from arena.rating.encounter import EncounterCounts

    first, second = counts.get((row, column), Counter()), counts.get((column, row), Counter())
    wins, draws, losses = first[1.0] + second[0.0], first[0.5] + second[0.5], first[0.0] + second[1.0]
    games = wins + draws + losses
    counted = EncounterCounts(wins=wins, draws=draws, losses=losses, num_unique=games).statistics
    return MatrixCell(
        games=games,
        wins=wins,
        draws=draws,
        losses=losses,
        first_score=_share(first),
        second_score=None if not second else 1 - (_share(second) or 0.0),
        elo=counted.elo if games else None,
        error=counted.elo_error if games else None,
    )


def _share(points: Counter[float]) -> float | None:
    games = points.total()
    return sum(score * number for score, number in points.items()) / games if games else None
