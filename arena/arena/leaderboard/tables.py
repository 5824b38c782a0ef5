"""Tables: ratings and counts of a field of bots, made of tallies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.errors import ConfigError
from arena.leaderboard.sides import POINTS, Field, Sides
from arena.rating.fit import fit
from arena.rating.misfit import Residual, cycles, residuals
from arena.rating.weights import OutcomeCount, weigh
from arena_plugins import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.ratings import Ratings


_MISFIT = 3.0
"""Standard deviations from which an encounter does not fit its ratings."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One bot in a table; the fields are the columns, and the keys of the JSON form."""

    rank: int
    name: str
    elo: float
    error: float
    """Half of the 95 % interval, Elo."""
    rests_on_prior: bool
    """No chain of results bounds this rating on both sides; shown as `?`."""
    games: int
    wins: int
    draws: int
    losses: int
    points: float
    score: float
    """Points per match, 0 to 1."""
    score_first: float | None
    """Points per match when moving first."""
    score_second: float | None
    draw_ratio: float
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
    rows: tuple[Row, ...]
    first_advantage: float
    """What moving first is worth, Elo."""
    first_advantage_error: float
    misfits: tuple[str, ...]
    """Encounters and cycles that the model does not describe, in words."""


def make_tables(
    field: Field, game: str, pool: str, *, anchor: tuple[str, float] | None = None
) -> list[Table]:
    """Rate a field and count its results."""
    counts = [
        OutcomeCount(
            first=first,
            second=second,
            score=POINTS[Outcome(tally.outcome)],
            num_matches=tally.num_matches,
            num_unique=tally.num_unique,
            tournament=tally.tournament,
        )
        for tally in field.tallies
        if tally.rated
        for first, second in [field.key_of(tally)]
        if first != second
    ]
    results = weigh(counts)
    ratings = fit(results, field.names, anchor=_anchor_index(field.names, anchor))
    sides = Sides(field)
    misfits = (
        *(
            _say_residual(field.names, residual)
            for residual in residuals(results, ratings)
            if abs(residual.standardised) > _MISFIT
        ),
        *(" > ".join(field.names[bot] for bot in (*cycle, cycle[0])) for cycle in cycles(results, ratings)),
    )
    tables = []
    for bots in ratings.ranking():
        rows = tuple(_row(rank, bots, ratings, sides, pool) for rank in range(len(bots)))
        tables.append(
            Table(
                game=game,
                pool=pool,
                rows=rows,
                first_advantage=ratings.advantage,
                first_advantage_error=ratings.advantage_error,
                misfits=misfits,
            )
        )
    return tables


def widest_error(tables: Sequence[Table]) -> float:
    """Give the largest half interval of all rows, Elo; infinite where there are none."""
    return max((row.error for table in tables for row in table.rows), default=float("inf"))


def _row(rank: int, bots: Sequence[int], ratings: Ratings, sides: Sides, pool: str) -> Row:
    bot = bots[rank]
    results = sides.results[bot, 0] + sides.results[bot, 1]
    games = results.total()
    points = sum(points * number for points, number in results.items())
    return Row(
        rank=rank + 1,
        name=sides.names[bot],
        elo=float(ratings.elo[bot]),
        error=float(ratings.error[bot]),
        rests_on_prior=bool(ratings.rests_on_prior[bot]),
        games=games,
        wins=results[1.0],
        draws=results[0.5],
        losses=results[0.0],
        points=points,
        score=points / games if games else 0.0,
        score_first=sides.score(bot, 0),
        score_second=sides.score(bot, 1),
        draw_ratio=results[0.5] / games if games else 0.0,
        time=sides.faults[bot, "time"],
        illegal=sides.faults[bot, "illegal"],
        crash=sides.faults[bot, "crash"],
        other=sides.faults[bot, "other"],
        unique=sides.unique[bot],
        los=ratings.gap(bot, bots[rank + 1]).los if rank + 1 < len(bots) else None,
        tc=pool,
    )


def _anchor_index(names: Sequence[str], anchor: tuple[str, float] | None) -> tuple[int, float] | None:
    if anchor is None:
        return None
    if anchor[0] not in names:
        raise ConfigError(f"--anchor {anchor[0]} is none of the bots: {', '.join(names)}")
    return names.index(anchor[0]), anchor[1]


def _say_residual(names: Sequence[str], residual: Residual) -> str:
    return (
        f"{names[residual.i]} took {residual.score:g} of {residual.num_matches:g} points from {names[residual.j]}, "
        f"where its rating expects {residual.expected:.1f}"
    )
