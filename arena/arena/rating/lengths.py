"""How long a sequential test is going to be, before its first match."""

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
"""Of a pair's points per match between equal bots: half a match's variance, (1 - draws) / 4."""


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

    The log likelihood ratio is taken for a Brownian motion between barriers that lie 0.583 deviations of a
    step farther out (Siegmund, "Sequential Analysis", X); the mean is the sum of the chances to go on.

    Args:
        elo: true difference, Elo of `model`.
        looks: numbers of pairs after which the test may end, growing; it ends after the last one.
        elo0: difference under H0.
        elo1: difference under H1.
        alpha: chance of accepting H1 where H0 is true.
        beta: chance of accepting H0 where H1 is true.
        model: of all three differences.
    """
    t, t0, t1 = (pair_excess(each, model, _DEVIATION) for each in (elo, elo0, elo1))
    drift = drift_of(t, t0, t1)
    lower, upper = (bound / (t1 - t0) for bound in bounds(alpha, beta))
    mean, last, goes_on = 0.0, 0, 1.0
    for look in looks:
        mean += (look - last) * goes_on
        away = DISCRETE * math.sqrt(look - last)
        low, high = lower - away, upper + away
        # Not left at the lower barrier, less left at the upper one.
        goes_on = chance_beyond(look, low, drift, low, high) - chance_beyond(look, high, drift, low, high)
        last = look
    return mean
