"""Finds results that the model does not describe: residuals of encounters, and cycles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arena.rating.newton import sigmoid
from arena.rating.sums import sum_by

if TYPE_CHECKING:
    from arena.rating.newton import Solution
    from arena.rating.ratings import Ratings
    from arena.rating.sums import FloatArray

BEATS = 1.645
"""Standard errors above an even score from which one bot beats another: 95 %, one-sided."""
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Residual:
    """The result of an encounter compared with the expectation from the ratings."""

    i: int
    """The bot with the lower index; `score` and `expected` are its points."""
    j: int
    num_matches: float
    """Number of matches that count."""
    score: float
    """Points it took in them."""
    expected: float
    """Points expected from the ratings, with sides as played."""
    standardised: float
    """(score - expected) / standard deviation under the model; above 3 in size, the encounter does not
    fit."""


def residuals(ratings: Ratings) -> tuple[Residual, ...]:
    """Return one residual per encounter, the worst fit first (Pearson residuals)."""
    found = _encounters(ratings, ratings.solution.mean)
    return tuple(sorted(found, key=lambda residual: -abs(residual.standardised)))


def cycles(ratings: Ratings, *, beats: float = BEATS) -> tuple[tuple[int, int, int], ...]:
    """Return bots a, b, c with a > b > c > a, lowest index first.

    `x > y` means that x took more points from y than an equal bot would, given who moved first, by `beats`
    standard errors, so that cycles by chance alone stay rare.
    """
    solution: Solution = ratings.solution
    even = sigmoid(solution.rows.side * solution.advantage[0])
    beaten: list[set[int]] = [set() for _ in ratings.names]
    for encounter in _encounters(ratings, even):
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


def _encounters(ratings: Ratings, mean: FloatArray) -> list[Residual]:
    """Return the residuals of encounters over pairs and singles; `mean` is the expected score, `[rows]`."""
    encounters, solution = ratings.encounters, ratings.solution
    rows, num = solution.rows, len(encounters)

    def total(values: FloatArray) -> FloatArray:
        return sum_by(rows.encounter, values, num)

    matches, score = total(rows.matches), total(rows.points)
    expected = total(rows.matches * mean)
    spread = np.sqrt(np.maximum(solution.phi * total(rows.matches * mean * (1 - mean)), _TINY))
    columns = (encounters.low, encounters.high, matches, score, expected, (score - expected) / spread)
    return [
        Residual(i, j, *values)
        for i, j, *values in zip(*(column.tolist() for column in columns), strict=True)
    ]
