"""Solves the estimating equations of ratings, for one field or for many small ones at once.

The expected score of a pair is the logistic function of the gap. The prior is Jeffreys' prior (Firth's
correction), multiplied by the design effect phi: an encounter gets phi * h virtual matches, half of them won,
where h is its leverage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arena.errors import ArenaError
from arena.rating.model import LOGITS_PER_ELO
from arena.rating.sums import join, sum_by

if TYPE_CHECKING:
    from arena.rating.sums import ClusterSums, Encounters, FloatArray, IntArray

MAX_STEPS = 400
"""Maximum number of Newton steps; simulated fields take 6 to 15, a million wins without a loss about 20. A
ring of 200 bots in which every bot won once, moving first, takes 297."""
_EARLY = 50
"""Number of steps after which steps that still reverse direction are shortened more and more."""
_TOLERANCE = 1e-10
"""Relative to the widest rating, and to 1: iteration ends when a step changes nothing by more."""
_DAMPED = 0.6
"""Factor applied to steps once they reverse direction: with few matches phi and ratings oscillate."""
_SHRINK, _LEAST = 0.8, 0.2
"""Factor by which each reversal after `_EARLY` steps shortens the steps further, and its lower bound:
advantage and phi of a ring move in a spiral, which longer steps do not leave."""
_LONGEST = 5.0
"""Natural log-odds that a rating moves in one step at most: where the logistic function is flat, Newton's
step is many times too long."""
_TO_POOL, _TO_PAIRS, _TO_ONE = 8.0, 4.0, 4.0
"""Prior weights, in informative clusters, of the next coarser design effect."""
_TINY = 1e-300
"""Smallest divisor, so that dividing by an empty sum causes no warning; the quotient is 0 or not used."""
_DRAWS = 4.0
"""Drawn matches added to the pairs before the first player's advantage is estimated from them."""
_MOST = 400 * LOGITS_PER_ELO
"""Bound of a fitted advantage, natural log-odds (400 Elo)."""


@dataclass(frozen=True, slots=True, eq=False)
class FieldRows:
    """Results with one expected score: pairs of an encounter, or its singles from one side; all `[rows]`."""

    encounter: IntArray
    group: IntArray
    """The field it belongs to."""
    low: IntArray
    high: IntArray
    side: FloatArray
    """Coefficient of the first player's advantage: 0, 1 or -1."""
    clusters: ClusterSums
    pairs: ClusterSums

    @property
    def matches(self) -> FloatArray:
        """Number of matches that count."""
        return self.clusters.m

    @property
    def points(self) -> FloatArray:
        """Points of the lower bot in these matches."""
        return self.clusters.s


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Ratings of one or many fields, in natural log-odds."""

    rows: FieldRows
    strength: FloatArray
    """`[groups, bots]`; the mean of each connected component is 0."""
    advantage: FloatArray
    """Advantage of the first player, `[groups]`."""
    advantage_variance: FloatArray
    """Variance of the advantage, `[groups]`."""
    slope: FloatArray
    """Factor of gaps, `[rows]`: 1 except for singles in fields with a fitted advantage."""
    mean: FloatArray
    """Expected score, `[rows]`."""
    phi: FloatArray
    """Design effect, `[encounters]`."""
    virtual: FloatArray
    """Virtual matches of the prior, half of them won, `[rows]`."""
    inverse: FloatArray
    """Inverse of the information, with the advantage last, `[groups, bots + 1, bots + 1]`."""
    covariance: FloatArray
    """Sandwich covariance of the strengths, `[groups, bots, bots]`."""
    informative: FloatArray
    """Number of informative clusters, `[encounters]`."""
    parts: FloatArray
    """1 / size if two bots are in one connected component, otherwise 0, `[bots, bots]`."""
    is_fitted: bool
    """Whether a first player's advantage was fitted in any field."""

    @property
    def matches(self) -> FloatArray:
        """Number of matches that count plus virtual ones, `[rows]`."""
        return self.rows.matches + self.virtual

    @property
    def points(self) -> FloatArray:
        """Points of the lower bot in them, `[rows]`."""
        return self.rows.points + self.virtual / 2


def solve(encounters: Encounters, group: IntArray, shape: tuple[int, int], parts: FloatArray) -> Solution:
    """Solve all fields.

    Args:
        encounters: encounters of all fields.
        group: the field of each encounter, `[encounters]`.
        shape: number of fields, and of bots in each.
        parts: 1 / size if two bots are in one connected component, otherwise 0, `[bots, bots]`.

    Raises:
        ArenaError: a field does not converge.
    """
    solver = _Solver(encounters, group, shape, parts)
    for _ in range(MAX_STEPS):
        if solver.step():
            return solver.solution()
    raise ArenaError(solver.complaint())


def sigmoid(logits: FloatArray) -> FloatArray:
    """Return the logistic function, without overflow."""
    return np.exp(-np.logaddexp(0.0, -logits))


def design(
    rows: FieldRows, mean: FloatArray, unpulled: FloatArray, leverage: FloatArray, size: tuple[int, int]
) -> FloatArray:
    """Return the design effect of each encounter at these expected scores, `[encounters]`.

    The estimate from an encounter's clusters is shrunk towards that of the field, which is shrunk towards
    that of the field's pairs, which is shrunk towards 1. All are weighted by information, so that a sweep,
    which varies little by chance, has little weight.

    Args:
        rows: the results.
        mean: expected scores, `[rows]`.
        unpulled: expected scores without the prior, from which the variation of results is measured,
            `[rows]`. With the prior, encounters that fit exactly (a chain) would seem to vary by as much as
            the prior moves them, which makes phi larger, which makes the prior stronger.
        leverage: leverage of each row, `[rows]`.
        size: number of encounters, and of fields.
    """
    num, num_groups = size
    spread = mean * (1 - mean)
    decisive = sum_by(rows.encounter, rows.matches * spread, num)
    used = sum_by(rows.encounter, leverage, num)
    group = np.zeros(num, dtype=np.int64)
    group[rows.encounter] = rows.group
    found: list[tuple[FloatArray, FloatArray]] = []
    for sums in (rows.pairs, rows.clusters):
        # squares / decisive estimates an encounter's design effect: squared residuals over their binomial
        # expectation. It is weighted by the informative clusters, of which a sweep with its small spread has
        # few.
        squares = sum_by(rows.encounter, sums.squares(unpulled), num)
        clusters = sum_by(rows.encounter, sums.num, num)
        informative = sum_by(rows.encounter, 4 * spread * sums.num, num)
        # The correction clusters / (clusters - leverage) is applied as a lower weight, because the
        # denominator may be 0.
        weight = informative * np.maximum(1 - used / np.maximum(clusters, _TINY), 0)
        found.append((informative * squares / np.maximum(decisive, _TINY), weight))
    (pair_sum, pair_weight), (sum_, weight) = found
    of_pairs = (sum_by(group, pair_sum, num_groups) + _TO_ONE) / (
        sum_by(group, pair_weight, num_groups) + _TO_ONE
    )
    of_field = (sum_by(group, sum_, num_groups) + _TO_PAIRS * of_pairs) / (
        sum_by(group, weight, num_groups) + _TO_PAIRS
    )
    return (sum_ + _TO_POOL * of_field[group]) / (weight + _TO_POOL)


def make_rows(encounters: Encounters, group: IntArray, low: IntArray, high: IntArray) -> FieldRows:
    """Stack pairs and singles; encounters without one of these have no row for it."""
    alone = [encounters.single_sums(side) for side in (0, 1)]
    clusters = [encounters.cluster_sums(), *alone]
    in_pairs = [encounters.pair_sums(), *alone]
    there = [np.flatnonzero(sums.num) for sums in clusters]
    each = np.concatenate(there)
    return FieldRows(
        encounter=each,
        group=group[each],
        low=low[each],
        high=high[each],
        side=np.repeat([0.0, 1.0, -1.0], [len(found) for found in there]),
        clusters=join([sums.take(found) for sums, found in zip(clusters, there, strict=True)]),
        pairs=join([sums.take(found) for sums, found in zip(in_pairs, there, strict=True)]),
    )


class _Solver:
    """Newton's method; leverage and design effect are evaluated at the current point."""

    def __init__(
        self, encounters: Encounters, group: IntArray, shape: tuple[int, int], parts: FloatArray
    ) -> None:
        groups, bots = shape
        self._rows = rows = make_rows(encounters, group, encounters.low, encounters.high)
        self._num_groups, self._num_bots, self._num = groups, bots, len(encounters)
        self._parts = np.zeros((bots + 1, bots + 1))
        self._parts[:bots, :bots] = parts
        points, matches = encounters.first_points()
        self._first_points = sum_by(group, points, groups) + _DRAWS / 2
        self._first_matches = sum_by(group, matches, groups) + _DRAWS
        singles = sum_by(rows.group, np.where(rows.side == 0, 0, rows.matches), groups)
        paired = sum_by(rows.group, np.where(rows.side == 0, rows.matches, 0), groups)
        # Pairs hardly depend on the advantage, which swapped sides cancel. So it is a parameter of the fit
        # only if most matches are singles, and otherwise read from the first movers of pairs and kept fixed.
        self._is_fitted = singles > paired
        share = self._first_points / self._first_matches
        self._advantage = np.where(self._is_fitted, 0.0, np.log(share / (1 - share)))
        self._strength = np.zeros((groups, bots))
        self._phi = np.ones(self._num)
        self._group = group
        self._num_steps = 0
        self._is_done = np.zeros(groups, dtype=bool)
        self._share = np.ones(groups)
        self._last = np.zeros((groups, bots + 1))

    def step(self) -> bool:
        """Make a step; return whether all fields have converged.

        A field that has converged moves no further, so that its solution does not depend on the other fields.
        """
        rows = self._rows
        self._look()
        leverage = self._leverage()
        phi = design(rows, self._mean, self._unpulled(leverage), leverage, (self._num, self._num_groups))
        # Firth's correction of the score: leverage * (1/2 - mean), here scaled by phi like the variance.
        virtual = phi[rows.encounter] * leverage
        score = rows.points - rows.matches * self._mean + virtual * (0.5 - self._mean)
        # Fisher scoring: the information leaves out the prior's curvature, which does not move the fixed
        # point.
        step = np.einsum("gij,gj->gi", self._inverse, self._gradient(score, self._first_score()))
        longest = np.abs(step).max(axis=1, initial=0.0)
        # Shortened as a whole, so that the direction stays.
        step *= np.minimum(1.0, _LONGEST / np.maximum(longest, _TINY))[:, None]
        self._num_steps += 1
        shorter = np.maximum(_LEAST, _SHRINK * self._share) if self._num_steps > _EARLY else _DAMPED
        # A negative product with the previous step is a reversal: phi and ratings overshoot in turn.
        turned = np.einsum("gi,gi->g", step, self._last) < 0
        self._share = np.where(turned, shorter, self._share)
        self._last = step
        share = np.where(self._is_done, 0.0, self._share)
        self._strength = self._strength + share[:, None] * step[:, :-1]
        moved = share * np.where(self._is_free, step[:, -1], 0.0)
        self._advantage = np.clip(self._advantage + moved, -_MOST, _MOST)
        change = phi - self._phi
        self._phi = self._phi + share[self._group] * change
        np.maximum.at(longest, self._group, np.abs(change))
        width = np.abs(self._strength).max(axis=1, initial=1.0)
        self._is_done |= longest < _TOLERANCE * width
        return bool(self._is_done.all())

    def solution(self) -> Solution:
        """Return the solution at the last point, with its errors."""
        self._look()
        rows, bots = self._rows, self._num_bots
        # Sandwich estimator: the information of each encounter times its design effect, between two inverses.
        meat = self._matrix(self._phi[rows.encounter] * self._information)
        free = np.where(self._is_free, self._first_information(), 0.0)
        meat[:, bots, bots] += free
        sandwich = self._inverse @ meat @ self._inverse
        own = 1 / np.maximum(self._first_information(), _TINY)
        variance = np.where(self._is_fitted, sandwich[:, bots, bots], own)
        spread = self._mean * (1 - self._mean)
        return Solution(
            rows=rows,
            strength=self._strength,
            advantage=self._advantage,
            advantage_variance=variance,
            slope=self._slope,
            mean=self._mean,
            phi=self._phi,
            virtual=self._phi[rows.encounter] * self._leverage(),
            inverse=self._inverse,
            covariance=sandwich[:, :bots, :bots],
            informative=sum_by(rows.encounter, 4 * spread * rows.clusters.num, self._num),
            parts=self._parts[:bots, :bots],
            is_fitted=bool(self._is_fitted.any()),
        )

    def complaint(self) -> str:
        """Return a text that names the encounter which keeps the field from converging."""
        rows = self._rows
        gaps = np.abs(self._strength[rows.group, rows.low] - self._strength[rows.group, rows.high])
        worst = int(np.argmax(gaps))
        return (
            f"the ratings do not converge in {MAX_STEPS} steps; the widest gap is that of bots "
            f"{rows.low[worst]} and {rows.high[worst]}, counted from 0"
        )

    def _look(self) -> None:
        """Compute expected scores, information and its inverse at the current point."""
        rows, bots = self._rows, self._num_bots
        advantage = self._advantage[rows.group]
        # With this slope the expected score of a single changes by 1/4 per logit at equality, as in pairs,
        # whatever the advantage is.
        steep = 1 / (4 * sigmoid(advantage) * sigmoid(-advantage))
        self._slope = np.where((rows.side != 0) & self._is_fitted[rows.group], steep, 1.0)
        gap = self._strength[rows.group, rows.low] - self._strength[rows.group, rows.high]
        self._mean = sigmoid(self._slope * gap + rows.side * advantage)
        self._information = rows.matches * self._mean * (1 - self._mean)
        # An advantage at its bound that would be pushed beyond it is no longer a free parameter.
        singles = sum_by(rows.group, rows.side * (rows.points - rows.matches * self._mean), self._num_groups)
        pull = self._first_score() + singles
        is_stuck = (np.abs(self._advantage) >= _MOST) & (pull * self._advantage > 0)
        self._is_free = self._is_fitted & ~is_stuck
        matrix: FloatArray = self._matrix(self._information)
        size = np.maximum(np.trace(matrix[:, :bots, :bots], axis1=1, axis2=2) / max(bots, 1), 1e-9)
        # A common shift of a component changes no expected score, so the information is singular. This term,
        # of the same size, holds each component's mean at 0 without changing any gap.
        matrix += size[:, None, None] * self._parts
        # An advantage that is not free gets 1 on the diagonal, which keeps the matrix invertible; its
        # gradient is 0.
        matrix[:, bots, bots] += np.where(self._is_free, self._first_information(), 1.0)
        self._inverse: FloatArray = np.asarray(np.linalg.inv(matrix), dtype=np.float64)

    def _first_information(self) -> FloatArray:
        share = sigmoid(self._advantage)
        return self._first_matches * share * (1 - share)

    def _first_score(self) -> FloatArray:
        """Return the gradient of the advantage from the pairs alone, `[groups]`."""
        return self._first_points - self._first_matches * sigmoid(self._advantage)

    def _gradient(self, score: FloatArray, first: FloatArray | float) -> FloatArray:
        """Return the gradient by ratings and advantage; `first` comes from pairs, `[groups, bots + 1]`."""
        rows, bots = self._rows, self._num_bots
        gradient = np.zeros((self._num_groups, bots + 1))
        np.add.at(gradient, (rows.group, rows.low), self._slope * score)
        np.subtract.at(gradient, (rows.group, rows.high), self._slope * score)
        singles = sum_by(rows.group, rows.side * score, self._num_groups)
        gradient[:, bots] = np.where(self._is_free, first + singles, 0.0)
        return gradient

    def _matrix(self, weight: FloatArray) -> FloatArray:
        """Return the sum of weight * z z', `[groups, bots + 1, bots + 1]`.

        Here z is the gradient of a row's log-odds.
        """
        rows, size = self._rows, self._num_bots + 1
        last = np.full(len(weight), size - 1)
        parts = (
            (rows.low, self._slope),
            (rows.high, -self._slope),
            (last, np.where(self._is_free[rows.group], rows.side, 0.0)),
        )
        flat = np.zeros(self._num_groups * size * size)
        for row, one in parts:
            for column, other in parts:
                place = (rows.group * size + row) * size + column
                flat += sum_by(place, weight * one * other, len(flat))
        return flat.reshape(self._num_groups, size, size)

    def _unpulled(self, leverage: FloatArray) -> FloatArray:
        """Return the expected scores of a fit without prior, to first order, `[rows]`."""
        rows, last = self._rows, self._num_bots
        pull = self._phi[rows.encounter] * leverage * (0.5 - self._mean)
        moved = np.einsum("gij,gj->gi", self._inverse, self._gradient(pull, 0.0))
        logits = self._slope * (moved[rows.group, rows.low] - moved[rows.group, rows.high])
        logits += rows.side * moved[rows.group, last]
        return np.clip(self._mean - self._mean * (1 - self._mean) * logits, 0.0, 1.0)

    def _leverage(self) -> FloatArray:
        """Return the leverage of each row, `[rows]`; the sum is the number of fitted parameters."""
        rows, inverse, last = self._rows, self._inverse, self._num_bots
        group, low, high = rows.group, rows.low, rows.high
        side = np.where(self._is_free[group], rows.side, 0.0)
        gap = inverse[group, low, low] + inverse[group, high, high] - 2 * inverse[group, low, high]
        # Variance of a row's log-odds: that of slope * gap + side * advantage, covariances included.
        both = inverse[group, low, last] - inverse[group, high, last]
        variance = self._slope**2 * gap + 2 * self._slope * side * both + side**2 * inverse[group, last, last]
        return self._information * variance
