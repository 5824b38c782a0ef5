"""Diagnostics of a fit: intervals by resampling openings, and results that the model does not describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arena.errors import ConfigError
from arena.rating.fit import fit
from arena.rating.newton import sigmoid
from arena.rating.sums import FEWEST_OPENINGS, MASK, MatchArrays, encounters, sum_by

if TYPE_CHECKING:
    from arena.rating.newton import Solution
    from arena.rating.ratings import Ratings
    from arena.rating.sums import FloatArray, IntArray

_STEP = 0x4F1BBCDCBFA53E0B
"""2^63 divided by the golden ratio (Fibonacci hashing; Knuth, TAOCP vol. 3, section 6.4). Odd, so that
multiplication maps no two keys to one; large, so that neighbouring keys stay farther apart than draws."""


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrap:
    """Ratings refitted to resampled openings."""

    elo: FloatArray
    """Shown ratings, `[num_samples, num_bots]`."""

    def interval(self, share: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper ends of the middle `share` of the samples, each `[num_bots]`."""
        low, high = np.quantile(self.elo, [(1 - share) / 2, (1 + share) / 2], axis=0)
        return low, high


def bootstrap(
    matches: MatchArrays,
    num_bots: int,
    *,
    num_samples: int = 1000,
    seed: int = 0,
    anchor: tuple[int, float] | None = None,
) -> Bootstrap:
    """Resample the openings of each encounter with replacement, and fit again.

    If few openings were played, pairs are resampled. If all of them ended alike (100-0), samples do not vary:
    then use the interval of `fit`.

    Raises:
        ConfigError: no samples.
    """
    if num_samples < 1:
        raise ConfigError(f"{num_samples} bootstrap samples yield no interval; use 200 or more")
    rng = np.random.default_rng(seed)
    clusters = _Clusters(matches)
    elo = np.empty((num_samples, num_bots))
    for row in range(num_samples):
        elo[row] = fit(
            encounters(clusters.draw(rng)), num_bots, anchors=() if anchor is None else (anchor,)
        ).elo
    return Bootstrap(elo)


class _Clusters:
    """Matches grouped by cluster."""

    def __init__(self, matches: MatchArrays) -> None:
        rows = matches.rows
        sums = encounters(matches)
        keys = np.stack([rows[:, :2].min(axis=1), rows[:, :2].max(axis=1)], axis=1)
        of = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        # As the fit counts evidence: by opening, or by pair if there are few openings and matches differ.
        # By opening, a resample of three openings would have only ten different outcomes.
        by_pair = ((sums.openings.num < FEWEST_OPENINGS) & ~sums.repeats)[of]
        key = np.where(by_pair, rows[:, 3], rows[:, 4])
        order = np.lexsort((key, of))
        is_new = np.ones(len(order), dtype=bool)
        # In sorted order a cluster begins wherever encounter or key changes.
        is_new[1:] = (of[order][1:] != of[order][:-1]) | (key[order][1:] != key[order][:-1])
        self._rows = rows[order]
        self._starts = np.flatnonzero(is_new)
        self._sizes = np.diff(np.append(self._starts, len(order)))
        owner = of[order][self._starts]
        # `owner` is sorted, so this is the index of the first cluster of the same encounter.
        self._first = np.searchsorted(owner, owner)
        self._num = np.bincount(owner)[owner] if len(owner) else owner

    def draw(self, rng: np.random.Generator) -> MatchArrays:
        """Draw clusters within each encounter; each draw counts as a new opening with new pairs."""
        # A uniformly drawn cluster of the same encounter, by its index.
        chosen = self._first + (rng.random(len(self._num)) * self._num).astype(np.int64)
        sizes = self._sizes[chosen]
        draw = np.repeat(np.arange(len(chosen)), sizes)
        place = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows: IntArray = self._rows[self._starts[chosen][draw] + place].copy()
        # A cluster drawn twice counts twice, so its pairs and opening get keys of the draw.
        rows[:, 3] = (rows[:, 3] * _STEP + draw) & MASK
        rows[:, 4] = (rows[:, 4] * _STEP + draw) & MASK
        return MatchArrays.of(rows)


BEATS = 1.645
"""Standard errors above an even score from which one bot beats another: 95 %, one-sided."""
_TINY = 1e-300
"""Replaces a variance of 0, so that a result which the model is certain of is not divided by 0."""


@dataclass(frozen=True, slots=True)
class Residual:
    """The result of an encounter compared with the expectation from the ratings."""

    i: int
    """The bot with the lower index; `score` and `expected` are its points."""
    j: int
    num_matches: float
    """Number of matches that count."""
    score: float
    """Points that bot `i` took in the encounter."""
    expected: float
    """Points of bot `i` that the ratings predict, with sides as played."""
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
    # Equal bots share a pair evenly (side 0); a single is expected to favour its first player.
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
        # With the lowest index first, each cycle is found once instead of three times.
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
