"""Profile likelihoods: how far the results permit a gap of ratings to move before they become unlikely.

Here the virtual matches of the prior count as results. Without them the intervals contain the true value in
90 % of sparse fields instead of 95 %. Where no result bounds a gap from above or from below, the interval is
open on that side, whatever the prior says.

The quasi-likelihood is followed along the straight line on which the other ratings adapt best. For two bots
this is the profile likelihood itself, and in dense fields it comes close. In a sparse field it yields
intervals that are too narrow; there `refine` computes the exact profile likelihood, for which it refits the
other ratings at every evaluated gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.rating.newton import sigmoid
from arena.rating.sums import sum_by

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from arena.rating.newton import Solution
    from arena.rating.sums import FloatArray, IntArray

    BoolArray = npt.NDArray[np.bool_]

_FARTHEST = 60.0
"""Natural log-odds from the estimate, about 10,400 Elo, where a score differs from 1 by 1e-26: no end is
farther away."""
_HALVINGS = 64
ROUGH_HALVINGS = 16
"""Steps of a bisection whose result only starts a refinement; it is then known to 0.002."""
_MOST_ROWS = 64
"""Number of rows that are followed exactly, the most informative ones; for the others the curvature is
enough."""
_ALL_ROWS = 4096
"""If there are more rows, only those of the two bots are examined."""


class Gaps(NamedTuple):
    """The requested gaps: strength of `low` minus strength of `high`, all `[gaps]`."""

    group: IntArray
    low: IntArray
    high: IntArray


class Curves(NamedTuple):
    """The quasi-likelihood along the line of each gap."""

    logits: FloatArray
    """Logits at the estimate, `[gaps, rows]`."""
    slope: FloatArray
    """Derivative of the logits by the gap, `[gaps, rows]`."""
    matches: FloatArray
    points: FloatArray
    tilt: FloatArray
    """Slope and curvature of all other rows together, `[gaps]`."""
    bend: FloatArray

    def value(self, moved: FloatArray) -> FloatArray:
        """Return the log quasi-likelihood relative to the estimate for moved gaps, all `[gaps]`."""
        change = self.slope * moved[:, None]
        log_loss = np.logaddexp(0.0, self.logits + change) - np.logaddexp(0.0, self.logits)
        exact = (self.points * change - self.matches * log_loss).sum(axis=1)
        return exact + moved * (self.tilt - self.bend * moved / 2)

    def steepness(self, moved: FloatArray) -> FloatArray:
        """Return the slope there, `[gaps]`; it decreases."""
        left = self.points - self.matches * sigmoid(self.logits + self.slope * moved[:, None])
        return (self.slope * left).sum(axis=1) + self.tilt - self.bend * moved


class _Profile(NamedTuple):
    """The results of following the curves, all `[gaps]`."""

    low: FloatArray
    """Lower end, natural log-odds; minus infinity if nothing bounds it."""
    high: FloatArray
    root: FloatArray
    """Signed root of the likelihood ratio of a gap of 0, in standard errors."""


def curves(solution: Solution, gaps: Gaps) -> tuple[Curves, FloatArray]:
    """Return the curves of gaps, and the design effect of each, `[gaps]`."""
    group, low, high = gaps
    each = np.arange(len(group))
    contrast = np.zeros((len(group), solution.inverse.shape[1]))
    contrast[each, low] += 1
    contrast[each, high] -= 1
    if len(solution.inverse) > 1:
        line = np.einsum("gij,gj->gi", solution.inverse[group], contrast)
    else:
        line = contrast @ solution.inverse[0]
    plain = line[each, low] - line[each, high]
    # Inverse information times contrast is the direction in which a change of the gap costs least likelihood;
    # scaled, the gap grows by 1 along it. The curvature along it is then 1 / plain.
    line /= plain[:, None]
    return _gather(solution, gaps, line, 1 / plain), variances(solution, gaps) / plain


def variances(solution: Solution, gaps: Gaps) -> FloatArray:
    """Return the sandwich variance of gaps, natural units squared, `[gaps]`."""
    group, low, high = gaps
    of = solution.covariance
    return np.maximum(of[group, low, low] + of[group, high, high] - 2 * of[group, low, high], 0.0)


def follow(
    curve: Curves, gap: FloatArray, phi: FloatArray, quantile: FloatArray, num_halvings: int = _HALVINGS
) -> _Profile:
    """Find the ends at which twice the decrease, divided by phi, is the squared quantile; all `[gaps]`.

    Args:
        curve: the curves.
        gap: the gaps.
        phi: design effect of each.
        quantile: quantile of Student's distribution.
        num_halvings: steps of each bisection of twice `_FARTHEST`; the default exhausts the precision.
    """
    far = np.full_like(gap, _FARTHEST)
    top = _crossing(lambda moved: curve.steepness(moved) < 0, -far, far, num_halvings)
    # The reference is the maximum of the curve itself, so that the likelihood ratio cannot be negative.
    peak = curve.value(top)
    least = peak - phi * quantile**2 / 2
    low = _crossing(lambda moved: curve.value(moved) > least, -far, top, num_halvings)
    high = _crossing(lambda moved: curve.value(moved) < least, top, far, num_halvings)
    # Still above the threshold at the farthest point: no end.
    low = np.where(curve.value(-far) > least, -np.inf, low)
    high = np.where(curve.value(far) > least, np.inf, high)
    # A gap of 0 is reached by moving by -gap.
    fall = np.maximum(peak - curve.value(-gap), 0.0)
    return _Profile(gap + low, gap + high, np.sign(gap + top) * np.sqrt(2 * fall / phi))


def _crossing(
    is_beyond: Callable[[FloatArray], BoolArray], low: FloatArray, high: FloatArray, num_halvings: int
) -> FloatArray:
    """Return where a condition becomes true between two ends, by bisection."""
    for _ in range(num_halvings):
        middle = (low + high) / 2
        beyond = is_beyond(middle)
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return (low + high) / 2


def _gather(solution: Solution, gaps: Gaps, line: FloatArray, bend: FloatArray) -> Curves:
    """Return the curves made of the rows that are most informative about each gap."""
    rows, bots = solution.rows, solution.strength.shape[1]
    places = _candidates(solution, gaps)
    each = np.arange(len(places))[:, None]
    slope = solution.slope[places] * (line[each, rows.low[places]] - line[each, rows.high[places]])
    slope = np.where(places >= 0, slope + rows.side[places] * line[:, -1:], 0.0)
    left = solution.points - solution.matches * solution.mean
    information = solution.matches * solution.mean * (1 - solution.mean)
    if places.shape[1] > _MOST_ROWS:
        # A row adds slope² * information to the curvature along the line.
        chosen = np.argpartition(-(slope**2) * information[places], _MOST_ROWS, axis=1)[:, :_MOST_ROWS]
        places, slope = np.take_along_axis(places, chosen, axis=1), np.take_along_axis(slope, chosen, axis=1)
    # The gradient of the whole quasi-likelihood, from which the chosen rows are subtracted below.
    pull = np.zeros((len(solution.strength), bots + 1))
    np.add.at(pull, (rows.group, rows.low), solution.slope * left)
    np.subtract.at(pull, (rows.group, rows.high), solution.slope * left)
    np.add.at(pull, (rows.group, np.full(len(left), bots)), rows.side * left)
    tilt = np.einsum("gi,gi->g", line, pull[gaps.group])
    strength = solution.strength
    logits = solution.slope * (strength[rows.group, rows.low] - strength[rows.group, rows.high])
    logits += rows.side * solution.advantage[rows.group]
    return Curves(
        logits=logits[places],
        slope=slope,
        matches=solution.matches[places],
        points=solution.points[places],
        tilt=tilt - (slope * left[places]).sum(axis=1),
        bend=np.maximum(bend - (slope**2 * information[places]).sum(axis=1), 0.0),
    )


def _candidates(solution: Solution, gaps: Gaps) -> IntArray:
    """Return the rows that may be informative about each gap, padded with -1, `[gaps, rows]`."""
    rows = solution.rows
    if len(solution.strength) > 1:
        return _rows_of(rows.group, np.arange(len(rows.group)), len(solution.strength))[gaps.group]
    if len(rows.group) <= _ALL_ROWS:
        return np.broadcast_to(np.arange(len(rows.group)), (len(gaps.group), len(rows.group)))
    each = np.arange(len(rows.group))
    of_bot = _rows_of(
        np.concatenate([rows.low, rows.high]), np.concatenate([each, each]), solution.strength.shape[1]
    )
    own, others = of_bot[gaps.low], of_bot[gaps.high]
    # A row of both bots is in both lists.
    is_twice = (others >= 0) & (rows.low[others] == gaps.low[:, None])
    is_twice |= (others >= 0) & (rows.high[others] == gaps.low[:, None])
    return np.concatenate([own, np.where(is_twice, -1, others)], axis=1)


def _rows_of(owner: IntArray, row: IntArray, num: int) -> IntArray:
    """Return the rows of each owner, padded with -1, `[owners, most]`."""
    order = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner, minlength=num)
    found = np.full((num, max(int(sizes.max(initial=0)), 1)), -1, dtype=np.int64)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    found[owner[order], place] = row[order]
    return found


MOST_BOTS = 64
"""Maximum number of bots; a refit of every gap of a larger field would take seconds."""
_STEPS = 40
_TOLERANCE = 1e-7
"""Step below which a refit has converged, natural log-odds."""
_LONGEST = 2.0
"""Natural log-odds that another rating moves in one step at most: the quadratic model holds only nearby."""
_RIDGE = 1e-9
"""Share of the mean curvature added to the matrix, which is otherwise singular for a swept bot without
curvature."""


def refine(
    solution: Solution, gaps: Gaps, phi: FloatArray, quantile: FloatArray, first: _Profile
) -> _Profile:
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
    low, high = (np.where(np.abs(end - gap) < _FARTHEST, end, np.sign(end) * np.inf) for end in ends)
    return _Profile(low, high, root)


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
        return strength + np.clip(by, -_FARTHEST, _FARTHEST)[:, None] * self._line

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
