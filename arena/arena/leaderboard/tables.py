"""Tables: ratings and counts of a field of bots, made of tallies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.errors import ConfigError
from arena.leaderboard.sides import Sides
from arena.rating.fit import fit
from arena.rating.misfit import Residual, cycles, residuals
from arena.rating.weights import OutcomeCount, weigh
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.leaderboard.sides import Field
    from arena.rating.model import PairResult
    from arena.rating.outcomes import PairOutcome
    from arena.rating.ratings import Ratings

_MISFIT = 3.0
"""Standard deviations from which an encounter does not fit its ratings."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One bot in a table; the fields are the columns, and the keys of the JSON form."""

    rank: int
    name: str
    identity: str
    """SHA-256 of what the bot is: two versions of one bot are two competitors."""
    elo: float
    error: float
    """Half of the 95 % interval, Elo."""
    bootstrap_low: float | None
    """Lower end of the 95 % interval from resampled pairs, Elo; None where nobody asked for it."""
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
    """Matches that differ in play, side or outcome."""
    los: float | None
    """Likelihood of being stronger than the next in rank."""
    tc: str
    """The pool: limit as written, and how bots were run."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Bots that are connected by matches, best first."""

    game: str
    pool: str
    anchor: str
    """What the ratings are relative to, as in `random = 1000`; empty for the mean of the table, 1500."""
    rows: tuple[Row, ...]
    first_advantage: float
    """What moving first is worth, Elo."""
    first_advantage_error: float
    """Half of its 95 % interval, Elo."""
    misfits: tuple[str, ...]
    """Cycles and encounters of the whole field that the model does not describe, in words, worst first."""


class Resampling(NamedTuple):
    """What a bootstrap draws from."""

    outcomes: Sequence[PairOutcome]
    num_samples: int


def make_tables(
    field: Field,
    game: str,
    pool: str,
    *,
    anchor: tuple[str, float] | None = None,
    resampling: Resampling | None = None,
) -> list[Table]:
    """Rate a field and count its results; a table for each part that matches connect.

    Raises:
        ConfigError: the anchor is none of the bots.
    """
    results = weigh(
        OutcomeCount(
            first=first,
            second=second,
            score=result.points,
            num_matches=result.tally.num_matches,
            num_unique=result.tally.num_unique,
            tournament=result.tally.tournament,
        )
        for result in field.results
        for first, second in [result[:2]]
        if first != second
    )
    index = _anchor_index(field.names, anchor)
    ratings = fit(results, field.names, anchor=index)
    make_row = _RowMaker(field, ratings, pool, _intervals(len(field.names), index, resampling))
    misfits = tuple(_misfits(field.names, results, ratings))
    return [
        Table(
            game=game,
            pool=pool,
            anchor=f"{anchor[0]} = {anchor[1]:g}" if anchor and index and index[0] in bots else "",
            rows=tuple(make_row(bots, place) for place in range(len(bots))),
            first_advantage=ratings.advantage,
            first_advantage_error=ratings.advantage_error,
            misfits=misfits,
        )
        for bots in ratings.ranking()
    ]


def widest_error(tables: Sequence[Table]) -> float:
    """Give the largest half interval of all rows, Elo; infinite where there are none."""
    return max((row.error for table in tables for row in table.rows), default=float("inf"))


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

    def __call__(self, bots: Sequence[int], place: int) -> Row:
        """Make the row of `bots[place]` in the table that holds `bots`, best first."""
        bot, sides, ratings = bots[place], self._sides, self._ratings
        results = sides.results[bot, 0] + sides.results[bot, 1]
        games = results.total()
        points = sum(points * number for points, number in results.items())
        low, high = (None, None) if self._intervals is None else (end[bot] for end in self._intervals)
        return Row(
            rank=place + 1,
            name=self._field.names[bot],
            identity=self._field.identities[bot],
            elo=ratings.elo[bot],
            error=ratings.error[bot],
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
            unique=sides.unique[bot],
            los=ratings.gap(bot, bots[place + 1]).los if place + 1 < len(bots) else None,
            tc=self._pool,
        )


def _intervals(
    num_bots: int, anchor: tuple[int, float] | None, resampling: Resampling | None
) -> tuple[list[float], list[float]] | None:
    if resampling is None:
        return None
    # NumPy is slow to load and takes 12 MB: only who asks for samples has it.
    from arena.rating.bootstrap import bootstrap

    outcomes, num_samples = resampling
    low, high = bootstrap(outcomes, num_bots, num_samples=num_samples, anchor=anchor).interval()
    return low.tolist(), high.tolist()


def _anchor_index(names: Sequence[str], anchor: tuple[str, float] | None) -> tuple[int, float] | None:
    if anchor is None:
        return None
    if anchor[0] not in names:
        raise ConfigError(
            f"--anchor {anchor[0]} is none of the bots{nearest(anchor[0], names)} ({', '.join(names)})"
        )
    return names.index(anchor[0]), anchor[1]


def _misfits(names: Sequence[str], results: Sequence[PairResult], ratings: Ratings) -> Iterable[str]:
    for cycle in cycles(results, ratings):
        yield " > ".join(names[bot] for bot in (*cycle, cycle[0]))
    for residual in residuals(results, ratings):
        if abs(residual.standardised) > _MISFIT:
            yield _say_residual(names, residual)


def _say_residual(names: Sequence[str], residual: Residual) -> str:
    took = f"took {residual.score:g} of {residual.num_matches:g} points from {names[residual.j]}"
    return f"{names[residual.i]} {took}, where its rating expects {residual.expected:.1f}"
