"""Ends of printed gaps and LOS: how far the results permit a gap to move before they become unlikely.

Here the virtual matches of the prior count as results. Without them the intervals cover the truth in 90 % of
sparse fields instead of 95 %. A side that no result bounds has no end, whatever the prior says.

The quasi-likelihood is followed along the straight line on which the other ratings adapt best. For two bots
this is the profile likelihood itself; in fields of many bots it comes close, see `arena.rating.refine`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.rating.newton import sigmoid

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from arena.rating.newton import Solution
    from arena.rating.sums import FloatArray, IntArray

    BoolArray = npt.NDArray[np.bool_]

FARTHEST = 60.0
"""Natural log-odds from the estimate, about 10,400 Elo: no end is farther away."""
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


class Profile(NamedTuple):
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
) -> Profile:
    """Find the ends at which twice the decrease, divided by phi, is the squared quantile; all `[gaps]`.

    Args:
        curve: the curves.
        gap: the gaps.
        phi: design effect of each.
        quantile: quantile of Student's distribution.
        num_halvings: steps of each bisection of twice `FARTHEST`; the default exhausts the precision.
    """
    far = np.full_like(gap, FARTHEST)
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
    return Profile(gap + low, gap + high, np.sign(gap + top) * np.sqrt(2 * fall / phi))


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
