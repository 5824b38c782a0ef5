"""Where the model does not describe the results: residuals of encounters, and cycles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.rating.model import LOGITS_PER_ELO, chances, count, moments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.rating.model import PairResult, Row
    from arena.rating.ratings import Ratings

BEATS = 1.645
"""Standard errors above an even score from which one bot beats another: 95 %, one-sided."""


@dataclass(frozen=True, slots=True)
class Residual:
    """How an encounter went against what the ratings expect."""

    i: int
    """The bot with the lower index; the score is its."""
    j: int
    num_matches: float
    """Weighted."""
    score: float
    """Points it took."""
    expected: float
    """Points the ratings give it, sides as played."""
    standardised: float
    """(score - expected) / its standard deviation under the model; beyond 3 the encounter does not fit."""


def residuals(results: Iterable[PairResult], ratings: Ratings) -> tuple[Residual, ...]:
    """One residual per encounter, the worst fit first (Pearson residuals)."""
    rows = count(results, len(ratings.names))
    gaps = [ratings.strength[row.first] - ratings.strength[row.second] + ratings.advantage for row in rows]
    found = _encounters(rows, gaps, ratings.log_draw)
    return tuple(sorted(found, key=lambda residual: -abs(residual.standardised)))


def cycles(
    results: Iterable[PairResult], ratings: Ratings, *, beats: float = BEATS
) -> tuple[tuple[int, int, int], ...]:
    """Bots a, b, c with a > b > c > a, lowest index first.

    `x > y` says that x took more points from y than equals would, given who moved first, by `beats` standard
    errors, so that cycles made by luck alone stay rare.
    """
    rows = count(results, len(ratings.names))
    beaten: list[set[int]] = [set() for _ in ratings.names]
    for encounter in _encounters(rows, [ratings.advantage] * len(rows), ratings.log_draw):
        if abs(encounter.standardised) >= beats:
            better, worse = (encounter.i, encounter.j)[:: 1 if encounter.standardised > 0 else -1]
            beaten[better].add(worse)
    return tuple(
        (a, b, c)
        for a in range(len(beaten))
        for b in sorted(beaten[a])
        if b > a
        for c in sorted(beaten[b])
        if c > a and a in beaten[c]
    )


def _encounters(rows: Sequence[Row], gaps: Sequence[float], log_draw: float) -> list[Residual]:
    """Adds up both sides of each encounter; `gaps` are Elo of the first player above the other, `[rows]`."""
    sums: dict[tuple[int, int], list[float]] = {}
    for row, gap in zip(rows, gaps, strict=True):
        mean, variance = moments(chances(gap * LOGITS_PER_ELO, log_draw))
        weight, (wins, draws, _) = row.weight, row.outcomes
        score, expected = wins + draws / 2, weight * mean
        if row.first > row.second:
            score, expected = weight - score, weight - expected
        found = sums.setdefault((min(row.first, row.second), max(row.first, row.second)), [0.0] * 4)
        for place, add in enumerate((weight, score, expected, weight * variance)):
            found[place] += add
    return [
        Residual(i, j, weight, score, expected, (score - expected) / math.sqrt(spread))
        for (i, j), (weight, score, expected, spread) in sums.items()
    ]
