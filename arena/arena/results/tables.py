"""Tables: ratings and counts of a field of bots, made of tallies."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

import msgspec

from arena.errors import ConfigError
from arena.rating.bootstrap import bootstrap
from arena.rating.misfit import Residual, cycles, residuals
from arena.rating.replayed import ReplayedRatings
from arena.results.sides import Sides
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from arena.rating.ratings import Gap, Ratings
    from arena.rating.sums import MatchArrays
    from arena.results.sides import Field

_MISFIT = 3.0
"""Standard deviations from which an encounter does not fit its ratings."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One bot in a table; the fields are the columns, and the keys of the JSON form."""

    rank: int
    name: str
    identity: str
    """SHA-256 of what the bot is: two versions of one bot are two competitors."""
    elo: float
    error: float | None
    """Half of the 95 % interval, Elo; None without matches."""
    elo_low: float | None
    """Lower end of the interval; None where no result bounds the rating from below."""
    elo_high: float | None
    """Upper end; None for an unbeaten bot."""
    bootstrap_low: float | None
    """Lower end of the 95 % interval from resampled openings, Elo; None where nobody asked for it."""
    bootstrap_high: float | None
    rests_on_prior: bool
    """No chain of results bounds this rating on both sides; shown as `?`."""
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
    """Matches forfeited on time."""
    illegal: int
    crash: int
    other: int
    """Matches forfeited for any other reason."""
    unique: int
    """Matches that differ in play, side or opening."""
    pairs: int
    """Complete pairs."""
    different_pairs: int
    """Pairs that count: where most matches repeat earlier ones, one an opening."""
    los: float | None
    """Likelihood of being stronger than the next in rank."""
    expected_score: float | None
    """Points per match expected against the next in rank."""
    expected_score_low: float | None
    """Lower end of its 95 % interval."""
    expected_score_high: float | None
    tc: str
    """The pool: limit as written, and how bots were run."""
    tested: int = 0
    """Of its matches, those of sequential tests, which stop when a bot is ahead; shown as `*`."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Bots that are connected by matches, best first."""

    game: str
    pool: str
    anchor: str
    """What the ratings are relative to, as in `random = 1000`; empty for the mean of the table, 1500."""
    rows: tuple[Row, ...]
    """Those that are shown; ranks and ratings are those of all bots of the table."""
    num_bots: int
    """Bots in the table, shown or not."""
    num_repeated: int
    """Pairs of the table that repeat earlier ones."""
    num_unrated: int = 0
    """Matches of sequential tests in the field of the table, which no rating counts."""
    replayed: bool | None = None
    """Of an event that was paired by its own results: whether ratings and errors are those of its replays.

    They are made when it ends; None of other events, and of several.
    """
    first_advantage: float
    """What moving first is worth, Elo."""
    first_advantage_error: float
    """Half of its 95 % interval, Elo."""
    misfits: tuple[str, ...]
    """Cycles and encounters of the whole field that the model does not describe, in words, worst first."""


def make_tables(  # noqa: PLR0913 - the last two are keywords with defaults
    field: Field,
    rate: Callable[[Sequence[tuple[int, float]]], Ratings],
    game: str,
    pool: str,
    *,
    anchors: Sequence[tuple[str, float]] = (),
    resampled: tuple[MatchArrays, int] | None = None,
) -> list[Table]:
    """Rate a field and count its results; a table for each part that matches connect.

    Args:
        field: the bots, and counts of their results.
        rate: rates them, given the anchors by their index in the field.
        game: canonical spec.
        pool: name of the pool.
        anchors: bots and the Elo they are given; a table hangs on the first one it has.
        resampled: the matches, and how often to draw their openings again; None for no such intervals.

    Raises:
        ConfigError: an anchor is none of the bots.
    """
    fixed = [_anchor_index(field.names, anchor) for anchor in anchors]
    ratings = rate(fixed)
    drawn = None
    if resampled is not None:
        matches, num_samples = resampled
        first = fixed[0] if fixed else None
        low, high = bootstrap(matches, len(field.names), num_samples=num_samples, anchor=first).interval()
        drawn = low.tolist(), high.tolist()
    make_row = _RowMaker(field, ratings, pool, drawn)
    misfits = tuple(_misfits(field.names, ratings))
    return [
        Table(
            game=game,
            pool=pool,
            anchor=next((f"{field.names[bot]} = {elo:g}" for bot, elo in fixed if bot in bots), ""),
            rows=tuple(make_row(bots)),
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
    """Return the tables with some of their rows; a table without any stays, so that numbers of tables do."""
    return [
        msgspec.structs.replace(table, rows=tuple(row for row in table.rows if is_shown(row)))
        for table in tables
    ]


def widest_error(tables: Sequence[Table]) -> float:
    """Give the largest half interval of all rows, Elo; infinite where there are none."""
    errors = [inf if row.error is None else row.error for table in tables for row in table.rows]
    return max(errors, default=inf)


class _RowMaker:
    """Puts the row of a bot together from its rating and its counts."""

    def __init__(
        self, field: Field, ratings: Ratings, pool: str, intervals: tuple[list[float], list[float]] | None
    ) -> None:
        self._field = field
        self._ratings = ratings
        self._pool = pool
        self._intervals = intervals
        self._sides = Sides(field.results)

    def __call__(self, bots: Sequence[int]) -> list[Row]:
        """Make the rows of the table that holds `bots`, best first."""
        nexts = self._ratings.gaps(list(pairwise(bots)))
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
            tc=self._pool,
        )


def _anchor_index(names: Sequence[str], anchor: tuple[str, float]) -> tuple[int, float]:
    if anchor[0] not in names:
        raise ConfigError(
            f"--anchor {anchor[0]} is none of the bots{nearest(anchor[0], names)} ({', '.join(names)})"
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
