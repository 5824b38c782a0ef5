"""Predicts the length of a sequential test before its first match."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from arena.rating.brownian import chance_beyond
from arena.rating.estimate import DISCRETE, drift_of, pair_excess
from arena.rating.sprt import bounds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.rating.sprt import EloModel

_DRAWS = 0.11
"""Share of draws between equal bots in Connect Four; only the length of logistic tests depends on it."""
_DEVIATION = math.sqrt((1 - _DRAWS) / 8)
"""Standard deviation of a pair's points per match between equal bots: the variance of a match is (1 - draws)
/ 4, that of a pair's mean half as much."""


def expected_pairs(  # noqa: PLR0913 - a test has five numbers
    elo: float,
    looks: Iterable[int],
    *,
    elo0: float,
    elo1: float,
    alpha: float,
    beta: float,
    model: EloModel,
) -> float:
    """Return the mean number of pairs after which a test ends.

    The log likelihood ratio is approximated by a Brownian motion between barriers that are 0.583 standard
    deviations of a step farther out (Siegmund, "Sequential Analysis", X); the mean is the sum of the
    probabilities to go on.

    Args:
        elo: true difference, Elo of `model`.
        looks: numbers of pairs after which the test may end, increasing; it ends after the last one.
        elo0: difference under H0.
        elo1: difference under H1.
        alpha: probability of accepting H1 if H0 is true.
        beta: probability of accepting H0 if H1 is true.
        model: scale of all three differences.
    """
    t, t0, t1 = (pair_excess(each, model, _DEVIATION) for each in (elo, elo0, elo1))
    drift = drift_of(t, t0, t1)
    lower, upper = (bound / (t1 - t0) for bound in bounds(alpha, beta))
    mean, last, goes_on = 0.0, 0, 1.0
    for look in looks:
        mean += (look - last) * goes_on
        away = DISCRETE * math.sqrt(look - last)
        low, high = lower - away, upper + away
        # Probability of no exit at the lower barrier, minus that of an exit at the upper one.
        goes_on = chance_beyond(look, low, drift, low, high) - chance_beyond(look, high, drift, low, high)
        last = look
    return mean
