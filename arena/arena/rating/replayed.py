"""Ratings of an event that was paired by its own results, corrected by playing it again from the model.

Bots that are ahead by luck meet stronger ones, and those that are behind weaker ones. So errors of the
results choose the opponents, and a fit shows the field wider than it is, with intervals that are too narrow.
Both can be computed, since the pairing is a pure function of results: it is replayed with results drawn from
the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from arena.rating.beta import student_quantile, student_share
from arena.rating.fit import hang
from arena.rating.model import LEVEL
from arena.rating.ratings import Gap, Ratings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.rating.sums import FloatArray

NUM_REPLAYS = 40
"""Of each of the two steps; the width of an interval is then known to 11 %."""
_LEAST, _MOST = 0.5, 2.0
"""Bounds of a slope: where all bots are about equal, chance alone would give any."""
_LEAST_TRUE = 0.1
"""Least share of the variance of ratings that is taken for true: else equal bots would leave no model."""
_STEEPER = 0.1
"""Added to the exponent of `_own_slopes`. In simulations the slope falls with the power log(slope) of the
width of the field, about. Errors grow with the width, too, most of all those of the best and the worst bot,
and this addition, chosen by simulation, allows for that: without it their gap is covered in 89 to 91 % of
events of 12 bots, or of bots with a deviation of 400 Elo, at one pair a round."""
_TINY = 1e-12
"""Variance, Elo squared, that stands for none: a replay may end in equal ratings."""
_SLOPE_STEPS = 2
"""Steps towards the slope of one replay, as many as the correction of the event itself makes."""


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """Corrected ratings with errors that allow for the pairing."""

    strength: FloatArray
    """Elo above the mean of the field, `[num_bots]`."""
    slope: float
    """How many times wider than the truth a fit shows such a field."""
    away: FloatArray
    """Error of the corrected ratings in each replay of the last step, Elo, `[replays, num_bots]`.

    Each replay is corrected by the slope that would have been found for it.
    """

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


@dataclass(frozen=True, kw_only=True, eq=False)
class ReplayedRatings(Ratings):
    """Ratings of an event as replays corrected them; all else is that of the fit."""

    found: Replayed
    """What the replays found."""

    @property
    @override
    def strength(self) -> FloatArray:
        """Elo above the mean of the field, `[num_bots]`."""
        return self.found.strength

    @override
    def gaps(self, pairs: Sequence[tuple[int, int]], level: float = LEVEL) -> list[Gap]:
        """Return how far the first of each two bots is above the second.

        Sides that no result bounds are open, as they are of the fit.

        Raises:
            ConfigError: two bots are in different tables.
        """
        # Only to hear of bots that cannot be compared.
        plain = super().gaps(pairs, level)
        gaps = [self.found.gap(i, j, level) for i, j in pairs]
        return [
            replace(
                gap,
                low=gap.low if math.isfinite(fitted.low) else fitted.low,
                high=gap.high if math.isfinite(fitted.high) else fitted.high,
            )
            for gap, fitted in zip(gaps, plain, strict=True)
        ]


def with_replays(
    ratings: Ratings, found: Replayed, anchors: Sequence[tuple[int, float]] = ()
) -> ReplayedRatings:
    """Return the ratings of an event with those of its replays in their place.

    Args:
        ratings: the fit of the event.
        found: what replays of it found, for the same bots.
        anchors: indices of bots and the Elo they are given, as for `fit`.
    """
    error = found.error
    if anchors:
        away = found.away - found.away[:, [anchors[0][0]]]
        error = replace(found, away=away).error
    known = {field.name: getattr(ratings, field.name) for field in fields(Ratings)}
    known["elo"] = hang(found.strength.tolist(), ratings.table, anchors)
    known["error"] = tuple(
        each if num else math.inf for each, num in zip(error.tolist(), ratings.num_matches, strict=True)
    )
    return ReplayedRatings(**known, found=found)


def correct(
    fitted: FloatArray, replay: Callable[[FloatArray, int], FloatArray], num_replays: int = NUM_REPLAYS
) -> Replayed:
    """Correct the ratings of an event by replays of it.

    The mean of the fits of replays is regressed on the model they are drawn from, and the ratings are divided
    by that slope. The result is a better model, so this is done once more from there. But ratings are spread
    by their errors, too, and a field that is wider than the true one has another slope: 1.17 in place of 1.25
    for 24 bots with a deviation of 250 Elo, 7 rounds and 1 pair. So the second model is drawn together until
    its variance is that of the ratings less that of their errors, bots with wide errors most: with one factor
    for all, bots that won or lost nearly everything stay too far away, where fits are drawn in by the prior,
    and the slope is found 2 % too small.

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
        away = fits / _own_slopes(fits, slope, model)[:, None] - model
        model = _likely(fitted / slope, fits / slope)
    return Replayed(fitted / slope, slope, away)


def _own_slopes(fits: FloatArray, slope: float, model: FloatArray) -> FloatArray:
    """Return the slope that a correction of each replay would find, `[replays]`.

    The slope of a field is taken to fall with a power of its width, the standard deviation of its bots
    without errors. This width is that of the corrected ratings, and their correction depends on the slope in
    turn, so the equation is solved by a few steps from `slope`.

    Args:
        fits: of the replays, Elo above the mean, `[replays, num_bots]`.
        slope: found for the model.
        model: what the replays were drawn from, `[num_bots]`.
    """
    found = np.full(len(fits), slope)
    width = float(model.std())
    if not width:
        return found
    power = max(0.0, math.log(slope)) + _STEEPER
    errors = float((fits / slope).var(axis=0, ddof=1).mean())
    for _ in range(_SLOPE_STEPS):
        variance = (fits / found[:, None]).var(axis=1)
        true = np.maximum(np.maximum(_LEAST_TRUE * variance, variance - errors), _TINY)
        found = np.clip(slope * (np.sqrt(true) / width) ** -power, _LEAST, _MOST)
    return found


def _likely(strength: FloatArray, fits: FloatArray) -> FloatArray:
    """Return strengths that have the spread of the truth, which errors widen.

    Those with the widest errors are drawn together most (a posterior mean), so that one bot which won or lost
    all its matches does not stand further away than it is likely to.

    Args:
        strength: ratings above their mean, `[num_bots]`.
        fits: the same of replays, `[replays, num_bots]`.
    """
    variance = float(strength.var())
    if not variance:
        return strength
    errors = fits.var(axis=0, ddof=1)
    true = max(_LEAST_TRUE * variance, variance - float(errors.mean()))
    drawn = strength * true / (true + errors)
    drawn = drawn - drawn.mean()
    deviation = float(drawn.std())
    return drawn * (np.sqrt(true) / deviation) if deviation else strength


def _slope(mean: FloatArray, model: FloatArray) -> float:
    square = float(model @ model)
    return float(np.clip(mean @ model / square, _LEAST, _MOST)) if square else 1.0
