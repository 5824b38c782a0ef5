"""Tables: ratings and counts of a field of bots, computed from tallies."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import msgspec

from arena.errors import ConfigError
from arena.rating.diagnostics import Residual, bootstrap, cycles, residuals
from arena.rating.replayed import ReplayedRatings
from arena.results.sides import Sides
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from arena.rating.ratings import Gap, Ratings
    from arena.rating.sums import MatchArrays
    from arena.results.sides import BotTable

_MISFIT = 3.0
"""Number of standard deviations beyond which an encounter does not fit its ratings."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One bot in a table; the fields are the columns, and the keys of the JSON form."""

    rank: int
    name: str
    identity: str
    """Identity, a SHA-256 over name, options and files, so two versions of a bot are two competitors."""
    elo: float
    error: float | None
    """Half of the 95 % interval, Elo; None without matches."""
    elo_low: float | None
    """Lower end of the interval; None if no result bounds the rating from below."""
    elo_high: float | None
    """Upper end of the interval; None for an unbeaten bot."""
    bootstrap_low: float | None
    """Lower end of the 95 % interval from resampled openings, Elo; None unless requested."""
    bootstrap_high: float | None
    rests_on_prior: bool
    """Whether no chain of results bounds this rating on both sides; shown as `?`."""
    games: int
    wins: int
    draws: int
    losses: int
    points: float
    score: float | None
    """Points per match, 0 to 1; None without matches."""
    score_first: float | None
    """Points per match when moving first."""
    score_second: float | None
    draw_ratio: float | None
    time: int
    """Number of matches forfeited on time."""
    illegal: int
    crash: int
    other: int
    """Number of matches forfeited for any other reason."""
    unique: int
    """Number of matches that differ in moves, side or opening."""
    pairs: int
    """Number of complete pairs."""
    different_pairs: int
    """Number of pairs that count: all, or one per opening if most matches repeat earlier ones."""
    los: float | None
    """Likelihood of superiority over the next bot in rank; None for the last one, or without comparisons."""
    expected_score: float | None
    """Expected points per match against the next bot in rank."""
    expected_score_low: float | None
    """Lower end of the 95 % interval of `expected_score`."""
    expected_score_high: float | None
    tc: str
    """The pool: the limit as written, and how bots were run."""
    tested: int = 0
    """Number of matches of sequential tests among its matches, shown as `*`: such tests stop when a bot is
    ahead."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Bots that are connected by matches, best first."""

    game: str
    pool: str
    anchor: str
    """Reference of the ratings, such as `random = 1000`; empty if it is the table's mean, 1500."""
    rows: tuple[Row, ...]
    """The rows that are shown; ranks and ratings are among all bots of the table."""
    num_bots: int
    """Number of bots in the table, shown or not."""
    num_repeated: int
    """Number of pairs in the table that repeat earlier ones."""
    num_unrated: int = 0
    """Number of unrated matches of sequential tests between the table's bots."""
    replayed: bool | None = None
    """Whether ratings and errors of a tournament that was paired by its own results come from its replays.

    Replays are made when the tournament ends. None for other tournaments, and for tables of several
    tournaments.
    """
    first_advantage: float
    """Advantage of moving first, Elo."""
    first_advantage_error: float
    """Half of the 95 % interval of `first_advantage`, Elo."""
    misfits: tuple[str, ...]
    """Cycles and encounters of the field that the model does not explain, in words, worst first."""


def make_tables(
    field: BotTable,
    rate: Callable[[Sequence[tuple[int, float]]], Ratings],
    *,
    anchors: Sequence[tuple[str, float]] = (),
    resampled: tuple[MatchArrays, int] | None = None,
    has_gaps: bool = True,
) -> list[Table]:
    """Rate a field and count its results; return a table for each connected component.

    Args:
        field: the bots, and counts of their results.
        rate: computes the ratings, given the anchors by index in the field.
        anchors: bots and their fixed Elo; each table uses its first one.
        resampled: the matches and the number of bootstrap samples; None for no bootstrap intervals.
        has_gaps: whether each row is compared with the next one, which takes longer than the ratings.

    Raises:
        ConfigError: an anchor is not among the bots.
    """
    fixed = [_anchor_index(field.names, anchor) for anchor in anchors]
    ratings = rate(fixed)
    drawn = None
    if resampled is not None:
        matches, num_samples = resampled
        first = fixed[0] if fixed else None
        low, high = bootstrap(matches, len(field.names), num_samples=num_samples, anchor=first).interval()
        drawn = low.tolist(), high.tolist()
    make_rows = _RowMaker(field, ratings, drawn)
    misfits = tuple(_misfits(field.names, ratings))
    return [
        Table(
            game=field.of.game,
            pool=field.of.pool,
            anchor=next((f"{field.names[bot]} = {elo:g}" for bot, elo in fixed if bot in bots), ""),
            rows=tuple(make_rows(bots, has_gaps=has_gaps)),
            num_bots=len(bots),
            num_repeated=sum(ratings.num_pairs[bot] - ratings.num_counted[bot] for bot in bots) // 2,
            first_advantage=ratings.advantage,
            first_advantage_error=ratings.advantage_error,
            misfits=misfits,
            replayed=isinstance(ratings, ReplayedRatings) or None,
        )
        for bots in ratings.ranking()
    ]


def show_only(tables: Sequence[Table], is_shown: Callable[[Row], bool]) -> list[Table]:
    """Return the tables with some of their rows; tables without rows stay, to keep the numbers of tables."""
    return [
        msgspec.structs.replace(table, rows=tuple(row for row in table.rows if is_shown(row)))
        for table in tables
    ]


def widest_error(tables: Sequence[Table]) -> float:
    """Return the largest half interval of all rows, in Elo; infinite if there are none."""
    errors = [inf if row.error is None else row.error for table in tables for row in table.rows]
    return max(errors, default=inf)


class _RowMaker:
    """Builds the row of a bot from its rating and its counts."""

    def __init__(
        self, field: BotTable, ratings: Ratings, intervals: tuple[list[float], list[float]] | None
    ) -> None:
        self._field = field
        self._ratings = ratings
        self._intervals = intervals
        self._sides = Sides(field.results)

    def __call__(self, bots: Sequence[int], *, has_gaps: bool) -> list[Row]:
        """Return the rows of the table that holds `bots`, best first."""
        nexts = self._ratings.next_gaps(tuple(bots)) if has_gaps else ()
        return [
            self._row(bot, place + 1, nexts[place] if place < len(nexts) else None)
            for place, bot in enumerate(bots)
        ]

    def _row(self, bot: int, rank: int, gap: Gap | None) -> Row:
        sides, ratings = self._sides, self._ratings
        results = sides.results[bot, 0] + sides.results[bot, 1]
        games = results.total()
        points = sum(points * number for points, number in results.items())
        low, high = (None, None) if self._intervals is None else (end[bot] for end in self._intervals)
        error = ratings.error[bot] if ratings.num_matches[bot] else None
        is_low_open, is_high_open = ratings.open_sides[bot]
        score = (None, None, None) if gap is None else gap.score
        return Row(
            rank=rank,
            name=self._field.names[bot],
            identity=self._field.identities[bot],
            elo=ratings.elo[bot],
            error=error,
            elo_low=None if error is None or is_low_open else ratings.elo[bot] - error,
            elo_high=None if error is None or is_high_open else ratings.elo[bot] + error,
            bootstrap_low=low,
            bootstrap_high=high,
            rests_on_prior=ratings.rests_on_prior[bot],
            games=games,
            wins=results[1.0],
            draws=results[0.5],
            losses=results[0.0],
            points=points,
            score=points / games if games else None,
            score_first=sides.score(bot, 0),
            score_second=sides.score(bot, 1),
            draw_ratio=results[0.5] / games if games else None,
            time=sides.faults[bot, "time"],
            illegal=sides.faults[bot, "illegal"],
            crash=sides.faults[bot, "crash"],
            other=sides.faults[bot, "other"],
            unique=ratings.num_different[bot],
            pairs=ratings.num_pairs[bot],
            different_pairs=ratings.num_counted[bot],
            los=None if gap is None else gap.los,
            expected_score=score[0],
            expected_score_low=score[1],
            expected_score_high=score[2],
            tc=self._field.of.pool,
        )


def _anchor_index(names: Sequence[str], anchor: tuple[str, float]) -> tuple[int, float]:
    if anchor[0] not in names:
        raise ConfigError(
            f"--anchor {anchor[0]} is not one of the bots{nearest(anchor[0], names)} ({', '.join(names)})"
        )
    return names.index(anchor[0]), anchor[1]


def _misfits(names: Sequence[str], ratings: Ratings) -> Iterable[str]:
    for cycle in cycles(ratings):
        yield " > ".join(names[bot] for bot in (*cycle, cycle[0]))
    for residual in residuals(ratings):
        if abs(residual.standardised) > _MISFIT:
            yield _say_residual(names, residual)


def _say_residual(names: Sequence[str], residual: Residual) -> str:
    took = f"took {residual.score:g} of {residual.num_matches:g} points from {names[residual.j]}"
    return f"{names[residual.i]} {took}, where its rating expects {residual.expected:.1f}"
