"""Exact profile likelihoods of gaps in small fields: the other ratings are refitted at every evaluated gap.

In a sparse field the straight line of `arena.rating.profile` yields intervals that are too narrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.rating.newton import sigmoid
from arena.rating.profile import FARTHEST, Profile
from arena.rating.sums import sum_by

if TYPE_CHECKING:
    from arena.rating.newton import Solution
    from arena.rating.profile import Gaps
    from arena.rating.sums import FloatArray, IntArray

MOST_BOTS = 64
"""Maximum number of bots; a refit of every gap of a larger field would take seconds."""
_STEPS = 40
_TOLERANCE = 1e-7
"""Natural log-odds."""
_LONGEST = 2.0
_RIDGE = 1e-9
"""Share of the mean curvature added to the matrix, which is otherwise singular for a swept bot without
curvature."""


def refine(solution: Solution, gaps: Gaps, phi: FloatArray, quantile: FloatArray, first: Profile) -> Profile:
    """Return the profiles of gaps of one field without a fitted advantage.

    Args:
        solution: the ratings.
        gaps: which gaps.
        phi: design effect of each, `[gaps]`.
        quantile: quantile of Student's distribution, `[gaps]`.
        first: the ends along straight lines.
    """
    field = _Field(solution, gaps.low, gaps.high)
    strength = solution.strength[0]
    peak = field.peak(strength)
    gap = strength[gaps.low] - strength[gaps.high]
    least = peak - phi * quantile**2 / 2
    ends = [
        field.end(field.moved(strength, near - gap), least, sign)
        for near, sign in ((first.low, -1), (first.high, 1))
    ]
    value, slope = field.at_gap(field.moved(strength, -gap))
    root = np.sign(slope) * np.sqrt(2 * np.maximum(peak - value, 0.0) / phi)
    # An end as far away as that means that nothing bounds the gap.
    low, high = (np.where(np.abs(end - gap) < FARTHEST, end, np.sign(end) * np.inf) for end in ends)
    return Profile(low, high, root)


class _Local(NamedTuple):
    """Local quadratic model of the quasi-likelihood at a point of each gap."""

    value: FloatArray
    """Value after the other ratings have adapted, `[gaps]`."""
    others: FloatArray
    """The step of the other ratings, `[gaps, bots]`."""
    line: FloatArray
    """Derivative of the ratings by the gap, `[gaps, bots]`."""
    slope: FloatArray
    """Derivative of the value by the gap, `[gaps]`."""
    bend: FloatArray


class _Field:
    """The quasi-likelihood of the strengths of one field."""

    def __init__(self, solution: Solution, low: IntArray, high: IntArray) -> None:
        self._rows = rows = solution.rows
        self._matches, self._points = solution.matches, solution.points
        self._num_bots = solution.strength.shape[1]
        self._offset = rows.side * solution.advantage[0]
        self._low, self._high = low, high
        self._parts = solution.parts
        bots, each = self._num_bots, np.arange(len(low))
        self._contrast = np.zeros((len(low), bots))
        self._contrast[each, low] += 1
        self._contrast[each, high] -= 1
        self._line = self._contrast @ solution.inverse[0][:bots, :bots]
        self._line /= self._gap(self._line)[:, None]

    def moved(self, strength: FloatArray, by: FloatArray) -> FloatArray:
        """Return the strengths with each gap moved along its straight line, `[gaps, bots]`."""
        return strength + np.clip(by, -FARTHEST, FARTHEST)[:, None] * self._line

    def peak(self, strength: FloatArray) -> float:
        """Return the maximum, which is the value at the ratings themselves."""
        return float(self._derivatives(strength[None, :])[0][0])

    def end(self, point: FloatArray, least: FloatArray, sign: int) -> FloatArray:
        """Return the gaps beyond which the profile is below `least`, on the side of `sign`."""
        for _ in range(_STEPS):
            at = self._local(point)
            # The root of the quadratic model value + slope * x - bend * x² / 2 = least on the side of `sign`.
            room = at.slope**2 + 2 * at.bend * (at.value - least)
            step = (at.slope + sign * np.sqrt(np.maximum(room, 0.0))) / at.bend
            # The model holds only nearby.
            step = np.clip(step, -1.0, 1.0)
            # The other ratings are maximised in the same step, so that the iteration ends on the profile.
            point = point + at.others + step[:, None] * at.line
            if max(np.abs(step).max(initial=0.0), np.abs(at.others).max(initial=0.0)) < _TOLERANCE:
                break
        return self._gap(point)

    def at_gap(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the profile at the gaps of `point`, and its slope there, both `[gaps]`."""
        at = self._local(point)
        for _ in range(_STEPS):
            if np.abs(at.others).max(initial=0.0) < _TOLERANCE:
                break
            point = point + at.others
            at = self._local(point)
        return at.value, at.slope

    def _gap(self, point: FloatArray) -> FloatArray:
        each = np.arange(len(point))
        return point[each, self._low] - point[each, self._high]

    def _local(self, point: FloatArray) -> _Local:
        value, gradient, matrix = self._derivatives(point)
        # Two right-hand sides of one system: the unconstrained Newton step, and the direction of a changed
        # gap.
        sides = np.stack([gradient, self._contrast], axis=2)
        solved: FloatArray = np.linalg.solve(matrix, sides).astype(np.float64)
        free, line = solved[:, :, 0], solved[:, :, 1]
        # By the Schur complement, the curvature of the profile is 1 / (contrast' inverse contrast).
        bend = 1 / self._gap(line)
        slope = self._gap(free) * bend
        # The Newton step without the part that changes the gap.
        others = free - slope[:, None] * line
        gain = np.einsum("gi,gi->g", others, gradient) / 2
        return _Local(value + gain, _short(others), line * bend[:, None], slope, bend)

    def _derivatives(self, point: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return value `[points]`, gradient `[points, bots]` and negative Hessian `[points, bots, bots]`."""
        rows, bots, num = self._rows, self._num_bots, len(point)
        logits = point[:, rows.low] - point[:, rows.high] + self._offset
        mean = sigmoid(logits)
        value: FloatArray = (self._points * logits - self._matches * np.logaddexp(0.0, logits)).sum(axis=1)
        left, spread = self._points - self._matches * mean, self._matches * mean * (1 - mean)
        each = np.arange(num)[:, None] * bots
        gradient = sum_by((each + rows.low).ravel(), left.ravel(), num * bots)
        gradient = gradient - sum_by((each + rows.high).ravel(), left.ravel(), num * bots)
        across = sum_by(((each + rows.low) * bots + rows.high).ravel(), spread.ravel(), num * bots * bots)
        across = across.reshape(num, bots, bots)
        across = across + across.transpose(0, 2, 1)
        own: FloatArray = across.sum(axis=2)
        matrix: FloatArray = own[:, :, None] * np.eye(bots) - across
        size = np.maximum(own.mean(axis=1), _RIDGE)
        # As in the solver: holds the mean of each component at 0.
        matrix += size[:, None, None] * (self._parts + _RIDGE * np.eye(bots))
        return value, np.reshape(gradient, (num, bots)), matrix


def _short(step: FloatArray) -> FloatArray:
    """Return the steps, shortened if they would move a rating too far, `[points, bots]`."""
    longest = np.abs(step).max(axis=1, initial=_LONGEST)
    return step * (_LONGEST / longest)[:, None]
