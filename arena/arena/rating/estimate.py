"""The Elo of two bots after a sequential test, which stops when one is ahead, and the length of a test.

The score at such an end overstates the difference, and the usual interval around it contains the true value
too rarely. Here the ends of tests are ordered by how strongly they favour the tested bot: H1 accepted, sooner
before later; then undecided, by score; then H0 accepted, later before sooner. The interval and its middle are
the strengths at which an end at least as good has probability 2.5, 50 and 97.5 % (stagewise ordering;
Siegmund, "Sequential Analysis", chapter III).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.rating.beta import student_quantile
from arena.rating.model import LEVEL
from arena.rating.pairs import NELO_PER_SIGMA, expected_elo, expected_score, moments
from arena.rating.sprt import bounds, log_likelihood_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.rating.pairs import Cells, Moments
    from arena.rating.sprt import Decision, EloModel, Hypotheses

_FEWEST = 40
"""Number of pairs from which the Brownian motion is close enough; shorter ends are mostly of bots far apart.

With 100, tests of [0, 60] to [0, 100] nElo, which end after 40 to 180 pairs, contained the true value in 91 %
of runs and were 12 Elo off in the middle; with 20, intervals are wider and no better (500 runs each).
"""
_FAR_APART = 0.4
"""Excess of the observed mean over one half, in standard deviations of a pair, from which an end says little.

Growth of the log likelihood ratio flattens there and falls beyond 1, so bots 100 and 600 Elo apart may need
the same number of pairs. Long tests of such bots have narrow hypotheses and stop long after the result is
clear.
"""
_DISCRETE = 0.583
"""Mean overshoot of a barrier, in standard deviations of a step, of a motion observed in steps (Siegmund,
X)."""
_LINEAR = 0.5
"""Excess in standard deviations beyond which the drift is extrapolated linearly: the formula is not monotonic
there."""
_ADDED = 0.25
"""Added to each cell, so that no deviation is 0 and no interval infinite."""
_STEPS = 60
"""Number of bisections of the excess; more than the chance has digits."""


@dataclass(frozen=True, slots=True)
class SprtEstimate:
    """The estimated difference after a sequential test, Elo of the score; always finite."""

    elo: float
    """Median-unbiased estimate: the true value is above it as often as below."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SprtEnd:
    """The end of a test."""

    cells: Cells
    """Pairs by half points of the tested bot, `[5]`."""
    decision: Decision | None
    """None if it ended undecided."""
    last_step: int
    """Number of pairs between the last two looks."""
    test: Hypotheses
    """What was tested."""

    def estimate(self) -> SprtEstimate:
        """Return the estimated difference.

        Raises:
            ConfigError: no pair was played.
        """
        moments(self.cells)
        filled = moments([cell + _ADDED for cell in self.cells])
        deviation = math.sqrt(filled.variance)
        # Of so few pairs, and between bots far apart, the score says more than the time of the end.
        if sum(self.cells) < _FEWEST or abs(filled.mean - 0.5) > _FAR_APART * deviation:
            return _plain(filled)
        motion = self._motion(filled)
        low, middle, high = (
            expected_elo(_within(0.5 + deviation * motion.excess(chance), filled.num_trials))
            for chance in (LEVEL / 2, 0.5, 1 - LEVEL / 2)
        )
        return SprtEstimate(middle, low, high)

    def _motion(self, filled: Moments) -> _Motion:
        deviation, test = math.sqrt(filled.variance), self.test
        t0, t1 = (_pair_excess(elo, test.model, deviation) for elo in (test.elo0, test.elo1))
        # The ratio is observed at looks only, and overshoots its bounds on average by this much; moving the
        # barriers outwards corrects for it (Siegmund).
        away = _DISCRETE * math.sqrt(self.last_step)
        low, high = (bound / (t1 - t0) for bound in bounds(test.alpha, test.beta))
        low, high = low - away, high + away
        if self.decision is None:
            ratio = log_likelihood_ratio(self.cells, test.elo0, test.elo1, model=test.model)
            # A test that is stopped between two looks may be beyond a barrier; beyond it ends have no order.
            level = max(low, min(high, ratio / (t1 - t0)))
        else:
            # A decided test is ordered by its time, so its level is the barrier at which it ended.
            level = high if self.decision == "H1" else low
        return _Motion(t0, t1, sum(self.cells), level, low, high)


@dataclass(frozen=True, slots=True)
class _Motion:
    """The log likelihood ratio divided by t1 - t0, as a motion whose variance grows by 1 with each pair."""

    t0: float
    """Excess of the mean over one half under H0, in standard deviations of a pair."""
    t1: float
    """Excess of the mean over one half under H1, in standard deviations of a pair."""
    time: float
    level: float
    low: float
    high: float

    def excess(self, chance: float) -> float:
        """Return the excess at which an end at least as good as this one has the probability `chance`."""
        low, high = -10.0, 10.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            # The chance increases with the excess, so bisection finds the only solution.
            drift = _drift_of(middle, self.t0, self.t1)
            if chance_beyond(self.time, self.level, drift, self.low, self.high) < chance:
                low = middle
            else:
                high = middle
        return (low + high) / 2


def _drift_of(t: float, t0: float, t1: float) -> float:
    """Return the mean growth per pair of the log likelihood ratio divided by t1 - t0.

    Van den Bergh, "Normalized Elo for practitioners", 4.2, with the excess of a pair.

    Args:
        t: true excess of the mean over one half, in standard deviations of a pair.
        t0: the same under H0.
        t1: the same under H1.
    """
    # Farther out the formula is not monotonic; it is continued by its tangent.
    near = max(-_LINEAR, min(_LINEAR, t))
    over0, over1 = near - t0, near - t1
    drift = math.log((1 + over0**2) / (1 + over1**2)) / 2
    slope = over0 / (1 + over0**2) - over1 / (1 + over1**2)
    return (drift + slope * (t - near)) / (t1 - t0)


def _pair_excess(elo: float, model: EloModel, deviation: float) -> float:
    """Return a difference as the excess of a pair's mean over one half, in standard deviations of a pair.

    Args:
        elo: the difference, Elo of `model`.
        model: logistic or normalized.
        deviation: standard deviation of a pair's points per match; only logistic Elo needs it.
    """
    if model == "logistic":
        return (expected_score(elo) - 0.5) / deviation
    # The mean of a pair varies less than a match by the factor sqrt 2, so its excess is larger by that
    # factor.
    return elo * math.sqrt(2) / NELO_PER_SIGMA


def _within(score: float, num_trials: float) -> float:
    """Return a score clipped away from 0 and 1 by a quarter of the smallest step of the mean."""
    least = 1 / (4 * num_trials)
    return max(least, min(1 - least, score))


def _plain(filled: Moments) -> SprtEstimate:
    """Return the interval for a fixed number of pairs, computed in log-odds, where it is symmetric."""
    logit = math.log(filled.mean / filled.lost)
    # Delta method: the standard error of the log-odds is se / (p (1 - p)).
    half = student_quantile(filled.num_trials - 1, 1 - LEVEL / 2) * filled.se / (filled.mean * filled.lost)
    low, middle, high = (
        expected_elo(1 / (1 + math.exp(-each))) for each in (logit - half, logit, logit + half)
    )
    return SprtEstimate(middle, low, high)


_DRAWS = 0.11
"""Share of draws between equal bots in Connect Four; only the length of logistic tests depends on it."""
_DEVIATION = math.sqrt((1 - _DRAWS) / 8)
"""Standard deviation of a pair's points per match between equal bots: the variance of a match is (1 - draws)
/ 4, that of a pair's mean half as much."""


def expected_pairs(elo: float, looks: Iterable[int], test: Hypotheses) -> float:
    """Return the mean number of pairs after which a test ends.

    The log likelihood ratio is approximated by a Brownian motion between barriers that are 0.583 standard
    deviations of a step farther out (Siegmund, "Sequential Analysis", X); the mean is the sum of the
    probabilities to go on.

    Args:
        elo: true difference, in the scale of the test's model.
        looks: numbers of pairs after which the test may end, increasing; it ends after the last one.
        test: the test.
    """
    t, t0, t1 = (_pair_excess(each, test.model, _DEVIATION) for each in (elo, test.elo0, test.elo1))
    drift = _drift_of(t, t0, t1)
    lower, upper = (bound / (t1 - t0) for bound in bounds(test.alpha, test.beta))
    mean, last, goes_on = 0.0, 0, 1.0
    for look in looks:
        mean += (look - last) * goes_on
        away = _DISCRETE * math.sqrt(look - last)
        low, high = lower - away, upper + away
        # Probability of no exit at the lower barrier, minus that of an exit at the upper one.
        goes_on = chance_beyond(look, low, drift, low, high) - chance_beyond(look, high, drift, low, high)
        last = look
    return mean


_SHORT = 0.05
"""Times below this, in squared distances of the barriers, need many waves but few images."""
_LARGEST = 8.0
"""Natural logarithm of the largest wave that is summed; beyond it a sum of waves loses digits."""
_SMALLEST = 45.0
"""Waves below e to the minus this are omitted."""
_NUM_IMAGES = 4
"""Number of images on either side; where images are used, the fifth weighs less than e to the minus 100."""
_FAR = 30.0
"""Standard deviations from where on the normal tail is computed by its series."""


def chance_beyond(time: float, level: float, drift: float, low: float, high: float) -> float:
    """Return the chance that a motion from 0 exits at `high` before `time`, or is above `level` without exit.

    At `level` = `high` this is the chance to exit at `high` in that time, at `level` = `low` the chance not
    to exit at `low`. It increases with `drift`.

    Args:
        time: above 0, in units in which the variance grows by 1.
        level: from `low` to `high`.
        drift: mean growth per unit of time.
        low: the lower barrier, below 0.
        high: the upper barrier, above 0.
    """
    width = high - low
    largest = drift * level - (drift**2 + (math.pi / width) ** 2) * time / 2
    # Waves converge fast for long times and images for short ones; a large drift makes waves cancel.
    if time > _SHORT * width**2 and largest < _LARGEST:
        found = _by_waves(time, level - low, drift, -low, width)
    else:
        found = _by_images(time, level - low, drift, -low, width)
    return min(1.0, max(0.0, found))


def _by_waves(time: float, level: float, drift: float, start: float, width: float) -> float:
    """Return the chance as a sum of eigenfunctions between 0 and `width`: exact, fast for long times."""
    found = 0.0
    num = 1
    while True:
        wave = num * math.pi / width
        decay = (drift**2 + wave**2) / 2
        exponent = drift * (level - start) - decay * time
        # The exponent falls with the square of the number, so the loop ends, and what is left out is smaller
        # still.
        if exponent < -_SMALLEST:
            break
        part = wave * math.cos(wave * level) - drift * math.sin(wave * level)
        found += math.sin(wave * start) * math.exp(exponent) * part / decay
        num += 1
    return _leaves_above(drift, start, width) + found / width


def _leaves_above(drift: float, start: float, width: float) -> float:
    """Return the chance to exit at `width` rather than at 0, at any time."""
    if abs(drift) * width < 1e-9:  # noqa: PLR2004 # there the two are equal to all digits
        return start / width
    # Gambler's ruin of a Brownian motion with drift (Siegmund, III): 1 - exp(-2 drift x) over the same of the
    # width. `expm1` keeps the digits of small drifts.
    if drift > 0:
        return math.expm1(-2 * drift * start) / math.expm1(-2 * drift * width)
    # For a negative drift this factor is taken out, so that no exponential overflows.
    beyond = math.exp(2 * drift * (width - start))
    return beyond * math.expm1(2 * drift * start) / math.expm1(2 * drift * width)


def _by_images(time: float, level: float, drift: float, start: float, width: float) -> float:
    """Return the chance by the method of images: fast for short times.

    Siegmund, "Sequential Analysis", chapter III.
    """
    found = 0.0
    for num in range(-_NUM_IMAGES, _NUM_IMAGES + 1):
        for sign in (1, -1):
            source = sign * start + 2 * num * width
            away = (level - source - drift * time) / math.sqrt(time)
            # The smaller tail is used for images above, with its sign changed, so that no digits cancel.
            is_above = source > width
            tail = _log_tail(-away if is_above else away)
            found += (-sign if is_above else sign) * math.exp(drift * (source - start) + tail)
    return found


def _log_tail(x: float) -> float:
    """Return the natural logarithm of the normal tail probability above `x`."""
    if x < _FAR:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    # Abramowitz and Stegun, 26.2.12; the next term is below 1e-7.
    return -(x**2) / 2 - math.log(x * math.sqrt(2 * math.pi)) + math.log1p(-1 / x**2 + 3 / x**4)
