"""Estimates the Elo of two bots after a sequential test, which stops when one of them is ahead.

The score at such an end overstates the difference, and the usual interval around it covers the truth too
seldom. Here the ends of tests are ordered by how strongly they favour the tested bot: H1 accepted, sooner
before later; then undecided, by score; then H0 accepted, later before sooner. The interval and its middle are
the strengths at which an end at least as good has probability 2.5, 50 and 97.5 % (stagewise ordering;
Siegmund, "Sequential Analysis", chapter III).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.rating.beta import student_quantile
from arena.rating.brownian import chance_beyond
from arena.rating.model import LEVEL
from arena.rating.pairs import (
    NELO_PER_SIGMA,
    expected_elo,
    expected_score,
    moments,
)
from arena.rating.sprt import bounds, log_likelihood_ratio

if TYPE_CHECKING:
    from arena.rating.pairs import Cells, Moments
    from arena.rating.sprt import Decision, EloModel

_FEWEST = 100
"""Number of pairs from which the Brownian motion is close; shorter tests end only if the bots are far
apart."""
DISCRETE = 0.583
"""Mean overshoot of a barrier, in standard deviations of a step, of a motion observed in steps (Siegmund,
X)."""
_LINEAR = 0.5
"""Excess in standard deviations beyond which the drift is extrapolated linearly: the formula would turn
back."""
_ADDED = 0.25
"""Added to each cell, so that no deviation is 0 and no interval infinite."""
_STEPS = 60
"""Number of bisections of the excess; more than the chance has digits."""


@dataclass(frozen=True, slots=True)
class SprtEstimate:
    """The estimated difference after a sequential test, Elo of the score; always finite."""

    elo: float
    """Median-unbiased estimate: the truth is above it as often as below."""
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
    elo0: float
    """Difference under H0, Elo of `model`."""
    elo1: float
    """Difference under H1, Elo of `model`."""
    alpha: float
    beta: float
    model: EloModel

    def estimate(self) -> SprtEstimate:
        """Return the estimated difference.

        Raises:
            ConfigError: no pair was played.
        """
        moments(self.cells)
        filled = moments([cell + _ADDED for cell in self.cells])
        # So few pairs decide only between bots far apart, where stopping hardly biases the score.
        if sum(self.cells) < _FEWEST:
            return _plain(filled)
        motion = self._motion(filled)
        deviation = math.sqrt(filled.variance)
        low, middle, high = (
            expected_elo(_within(0.5 + deviation * motion.excess(chance), filled.num_trials))
            for chance in (LEVEL / 2, 0.5, 1 - LEVEL / 2)
        )
        return SprtEstimate(middle, low, high)

    def _motion(self, filled: Moments) -> _Motion:
        deviation = math.sqrt(filled.variance)
        t0, t1 = (pair_excess(elo, self.model, deviation) for elo in (self.elo0, self.elo1))
        # The ratio is observed at looks only, and overshoots its bounds on average by this much; moving the
        # barriers outwards corrects for it (Siegmund).
        away = DISCRETE * math.sqrt(self.last_step)
        low, high = (bound / (t1 - t0) for bound in bounds(self.alpha, self.beta))
        low, high = low - away, high + away
        if self.decision is None:
            ratio = log_likelihood_ratio(self.cells, self.elo0, self.elo1, model=self.model)
            level = ratio / (t1 - t0)
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
    """The same under H1."""
    time: float
    level: float
    low: float
    high: float

    def excess(self, chance: float) -> float:
        """Return the excess at which an end at least as good as this one has this probability."""
        low, high = -10.0, 10.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            # The chance increases with the excess, so bisection finds the only solution.
            drift = drift_of(middle, self.t0, self.t1)
            if chance_beyond(self.time, self.level, drift, self.low, self.high) < chance:
                low = middle
            else:
                high = middle
        return (low + high) / 2


def drift_of(t: float, t0: float, t1: float) -> float:
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


def pair_excess(elo: float, model: EloModel, deviation: float) -> float:
    """Return a difference as the excess of a pair's mean over one half, in standard deviations of a pair.

    Args:
        elo: the difference, Elo of `model`.
        model: logistic or normalized.
        deviation: standard deviation of a pair's points per match; only logistic Elo needs it.
    """
    if model == "logistic":
        return (expected_score(elo) - 0.5) / deviation
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
