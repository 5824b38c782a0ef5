"""Elo of two bots after a sequential test, which stops when one of them is ahead.

The score at such an end overstates the difference, and the usual interval around it holds the truth too
seldom. Here the ends of tests are ordered by how much they speak for the tested bot: H1 accepted, sooner
before later; then undecided, by score; then H0 accepted, later before sooner. The strength at which an end at
least as good has a chance of 2.5, 50 and 97.5 % is the interval and its middle (Siegmund, "Sequential
Analysis", chapter III).
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
"""Pairs from which on the motion is close; the ends of shorter tests are of bots far apart."""
DISCRETE = 0.583
"""Deviations of a step by which a motion that is seen in steps has left its barriers (Siegmund, X)."""
_LINEAR = 0.5
"""Excess in deviations beyond which the drift is continued as a line: the formula would turn back."""
_ADDED = 0.25
"""Added to each cell, so that no deviation is 0 and no interval infinite."""
_STEPS = 60
"""Halvings of the excess; more than the digits of the chance."""


@dataclass(frozen=True, slots=True)
class SprtEstimate:
    """What a sequential test says of the difference, Elo of the score; always finite."""

    elo: float
    """Middle: the truth is above it as often as below."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SprtEnd:
    """How a test ended."""

    cells: Cells
    """Pairs by half points of the tested bot, `[5]`."""
    decision: Decision | None
    """None: it ended undecided."""
    last_step: int
    """Pairs from the look before the last one to the last."""
    elo0: float
    """Difference under H0, Elo of `model`."""
    elo1: float
    """Difference under H1."""
    alpha: float
    beta: float
    model: EloModel

    def estimate(self) -> SprtEstimate:
        """Return the difference that the end of the test speaks for.

        Raises:
            ConfigError: no pair was played.
        """
        moments(self.cells)
        filled = moments([cell + _ADDED for cell in self.cells])
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
        away = DISCRETE * math.sqrt(self.last_step)
        low, high = (bound / (t1 - t0) for bound in bounds(self.alpha, self.beta))
        low, high = low - away, high + away
        if self.decision is None:
            ratio = log_likelihood_ratio(self.cells, self.elo0, self.elo1, model=self.model)
            level = ratio / (t1 - t0)
        else:
            level = high if self.decision == "H1" else low
        return _Motion(t0, t1, sum(self.cells), level, low, high)


@dataclass(frozen=True, slots=True)
class _Motion:
    """The log likelihood ratio over t1 - t0 as a motion whose variance grows by 1 with each pair."""

    t0: float
    """Excess of the mean over one half in deviations of a pair under H0."""
    t1: float
    """The same under H1."""
    time: float
    level: float
    low: float
    high: float

    def excess(self, chance: float) -> float:
        """Return the excess at which an end at least as good as this one has a chance of so much."""
        low, high = -10.0, 10.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            drift = drift_of(middle, self.t0, self.t1)
            if chance_beyond(self.time, self.level, drift, self.low, self.high) < chance:
                low = middle
            else:
                high = middle
        return (low + high) / 2


def drift_of(t: float, t0: float, t1: float) -> float:
    """Return the mean growth, with a pair, of the log likelihood ratio over t1 - t0.

    Van den Bergh, "Normalized Elo for practitioners", 4.2, with the excess of a pair.

    Args:
        t: true excess of the mean over one half, in deviations of a pair.
        t0: the same under H0.
        t1: the same under H1.
    """
    near = max(-_LINEAR, min(_LINEAR, t))
    over0, over1 = near - t0, near - t1
    drift = math.log((1 + over0**2) / (1 + over1**2)) / 2
    slope = over0 / (1 + over0**2) - over1 / (1 + over1**2)
    return (drift + slope * (t - near)) / (t1 - t0)


def pair_excess(elo: float, model: EloModel, deviation: float) -> float:
    """Return a difference as the excess of a pair's mean over one half, in deviations of a pair.

    Args:
        elo: the difference, Elo of `model`.
        model: logistic or normalized.
        deviation: of a pair's points per match; only logistic Elo needs it.
    """
    if model == "logistic":
        return (expected_score(elo) - 0.5) / deviation
    return elo * math.sqrt(2) / NELO_PER_SIGMA


def _within(score: float, num_trials: float) -> float:
    """Return a score that lies between 0 and 1 by less than a match could show."""
    least = 1 / (4 * num_trials)
    return max(least, min(1 - least, score))


def _plain(filled: Moments) -> SprtEstimate:
    """Return the interval of a fixed number of pairs, in log-odds, where it is symmetric."""
    logit = math.log(filled.mean / filled.lost)
    half = student_quantile(filled.num_trials - 1, 1 - LEVEL / 2) * filled.se / (filled.mean * filled.lost)
    low, middle, high = (
        expected_elo(1 / (1 + math.exp(-each))) for each in (logit - half, logit, logit + half)
    )
    return SprtEstimate(middle, low, high)
