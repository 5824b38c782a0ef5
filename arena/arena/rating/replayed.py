"""Ratings of an event that was paired by its own results, corrected by playing it again from the model.

Bots that are ahead by luck meet stronger ones, and those that are behind weaker ones. So errors of the
results choose the opponents, and a fit shows the field wider than it is, with intervals that are too narrow.
Both can be computed, since the pairing is a pure function of results: it is replayed with results drawn from
the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arena.rating.beta import student_quantile, student_share
from arena.rating.model import LEVEL
from arena.rating.ratings import Gap

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.rating.sums import FloatArray

NUM_REPLAYS = 40
"""Of each of the two steps; the width of an interval is then known to 11 %."""
_LEAST, _MOST = 0.5, 2.0
"""Bounds of a slope: where all bots are about equal, chance alone would give any."""

_LEAST_TRUE = 0.1
"""Of the variance of ratings, so much at least is taken for true: else equal bots would leave no model."""


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """Corrected ratings with errors that allow for the pairing."""

    strength: FloatArray
    """Elo above the mean of the field, `[num_bots]`."""
    slope: float
    """How many times wider than the truth a fit shows such a field."""
    away: FloatArray
    """Error of the corrected ratings in each replay of the last step, Elo, `[replays, num_bots]`."""

    @property
    def error(self) -> FloatArray:
        """Half of the 95 % interval of `strength`, Elo, `[num_bots]`."""
        return self._quantile(LEVEL) * np.sqrt((self.away**2).mean(axis=0))

    def gap(self, i: int, j: int, level: float = LEVEL) -> Gap:
        """Return how far bot `i` is above bot `j`, with an interval that misses the truth at `level`."""
        elo = float(self.strength[i] - self.strength[j])
        deviation = float(np.sqrt(((self.away[:, i] - self.away[:, j]) ** 2).mean()))
        half = self._quantile(level) * deviation
        los = student_share(float(len(self.away)), elo / deviation) if deviation else 0.5
        return Gap(elo=elo, error=half, low=elo - half, high=elo + half, los=los, level=level)

    def _quantile(self, level: float) -> float:
        # The mean square is taken around 0, so what the slope leaves of the bias counts as error.
        return student_quantile(float(len(self.away)), 1 - level / 2)


def correct(
    fitted: FloatArray, replay: Callable[[FloatArray, int], FloatArray], num_replays: int = NUM_REPLAYS
) -> Replayed:
    """Correct the ratings of an event by replays of it.

    The mean of the fits of replays is regressed on the model they are drawn from, and the ratings are divided
    by that slope. The result is a better model, so this is done once more from there. But ratings are spread
    by their errors, too, and a field that is wider than the true one has another slope: 1.17 in place of 1.25
    for 24 bots with a deviation of 250 Elo, 7 rounds and 1 pair. So the second model is drawn together until
    its variance is that of the ratings less that of their errors.

    Args:
        fitted: what the fit of the event says, Elo above the mean, `[num_bots]`.
        replay: returns the fit of the event when it is played again by bots of given strengths, both Elo
            above the mean, `[num_bots]`; the number of the replay decides its draws.
        num_replays: of each step, 2 or more.
    """
    model = fitted
    slope = 1.0
    away = np.zeros((num_replays, len(fitted)))
    for step in (0, 1):
        fits = np.array([replay(model, step * num_replays + number) for number in range(num_replays)])
        slope = _slope(fits.mean(axis=0), model)
        away = fits / slope - model
        model = fitted / slope * _true_share(fitted / slope, fits / slope)
    return Replayed(fitted / slope, slope, away)


def _true_share(strength: FloatArray, fits: FloatArray) -> float:
    """Return the deviation of true strengths as a share of that of ratings, which errors widen.

    Args:
        strength: ratings, `[num_bots]`.
        fits: the same of replays, `[replays, num_bots]`.
    """
    variance = float(strength.var())
    errors = float(fits.var(axis=0, ddof=1).mean())
    return float(np.sqrt(max(_LEAST_TRUE, 1 - errors / variance))) if variance else 1.0


def _slope(mean: FloatArray, model: FloatArray) -> float:
    square = float(model @ model)
    return float(np.clip(mean @ model / square, _LEAST, _MOST)) if square else 1.0
