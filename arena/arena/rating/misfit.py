"""Where the model does not describe the results: residuals of encounters, and cycles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arena.rating.model import LOGITS_PER_ELO, Counts, FloatArray, PairResult, count, moments, probabilities

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    counts = count(results, len(ratings.names))
    gaps = ratings.strength[counts.first] - ratings.strength[counts.second]
    found = _encounters(counts, (gaps + ratings.advantage) * LOGITS_PER_ELO, ratings.log_draw)
    return tuple(sorted(found, key=lambda residual: -abs(residual.standardised)))


def cycles(
    results: Iterable[PairResult], ratings: Ratings, *, beats: float = BEATS
) -> tuple[tuple[int, int, int], ...]:
    """Bots a, b, c with a > b > c > a, lowest index first.

    `x > y` says that x took more points from y than equals would, given who moved first, by `beats` standard
    errors, so that cycles made by luck alone stay rare.
    """
    counts = count(results, len(ratings.names))
    gaps = np.full(len(counts.first), ratings.advantage * LOGITS_PER_ELO)
    beaten: list[set[int]] = [set() for _ in ratings.names]
    for encounter in _encounters(counts, gaps, ratings.log_draw):
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


def _encounters(counts: Counts, gaps: FloatArray, log_draw: float) -> list[Residual]:
    """Adds up both sides of each encounter; `gaps` are log-odds of the first player, `[rows]`."""
    mean, variance = moments(probabilities(gaps, log_draw))
    scores = counts.outcomes[:, 0] + counts.outcomes[:, 1] / 2
    sums: dict[tuple[int, int], FloatArray] = {}
    for row, (first, second) in enumerate(zip(counts.first.tolist(), counts.second.tolist(), strict=True)):
        weight = counts.weight[row]
        points = np.array([scores[row], weight * mean[row]])
        seen = points if first < second else weight - points
        add = np.array([weight, *seen, weight * variance[row]])
        key = (min(first, second), max(first, second))
        sums[key] = sums.get(key, np.zeros(4)) + add
    return [
        Residual(i, j, weight, score, expected, (score - expected) / math.sqrt(spread))
        for (i, j), (weight, score, expected, spread) in (
            (key, total.tolist()) for key, total in sums.items()
        )
    ]
