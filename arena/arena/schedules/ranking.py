"""Strengths for pairing: the posterior mode from one fold of a ladder.

They are never displayed. A prior keeps them finite for any results, so that a ladder always finds the next
pair; displayed ratings come from `arena.rating.fit`, whose prior shrinks less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.rating.model import LOGITS_PER_ELO

if TYPE_CHECKING:
    from arena.schedules.seat_counts import FloatArray, FoldSums, IntArray

_PRIOR_SD = 400 * LOGITS_PER_ELO
"""Prior standard deviation of strengths. It hardly matters, because only the order is used."""
_TOLERANCE = 1e-6
"""Natural log-odds; Newton's error after such a step is about its square."""
_MAX_STEPS = 100
"""A step is halved until it improves, so this bound only matters for rounding errors; fields take 4 to 7
steps."""
_ROUNDING = 1 << 24
"""Fractions of an Elo down to which strengths are distinguished; below, machines may round differently, and
chance decides."""


def strengths(sums: FoldSums) -> dict[int, float]:
    """Return the posterior mode of the strength of each seat with a match, Elo rounded to 24 binary digits.

    The expected score of a match is the logistic function of the gap (Bradley and Terry 1952), and strengths
    are independent normal variables with mean 0. The posterior is log-concave, so Newton's method with
    improving steps finds its only mode. A seat without a match has strength 0.
    """
    seats, places = np.unique(np.concatenate([sums.low, sums.high]), return_inverse=True)
    low, high = places.reshape(2, -1)
    found = _mode(low, high, sums, len(seats)) / LOGITS_PER_ELO
    rounded = [round(elo * _ROUNDING) / _ROUNDING for elo in found.tolist()]
    return dict(zip(seats.tolist(), rounded, strict=True))


def _mode(low: IntArray, high: IntArray, sums: FoldSums, num: int) -> FloatArray:
    strength = np.zeros(num)
    value = _log_posterior(strength, low, high, sums)
    for _ in range(_MAX_STEPS):
        mean = np.exp(-np.logaddexp(0.0, strength[high] - strength[low]))
        score = sums.points - sums.matches * mean
        gradient = np.bincount(low, score, num) - np.bincount(high, score, num) - strength / _PRIOR_SD**2
        step = np.linalg.solve(_information(sums.matches * mean * (1 - mean), low, high, num), gradient)
        longest = float(np.abs(step).max(initial=0.0))
        if longest < _TOLERANCE:
            return strength + step
        after = _log_posterior(strength + step, low, high, sums)
        while after < value and longest >= _TOLERANCE:
            step, longest = step / 2, longest / 2
            after = _log_posterior(strength + step, low, high, sums)
        strength, value = strength + step, after
    return strength


def _information(weight: FloatArray, low: IntArray, high: IntArray, num: int) -> FloatArray:
    """Return the negative Hessian of the log posterior, `[num, num]`."""
    matrix = np.zeros((num, num))
    matrix[low, high] = matrix[high, low] = -weight
    matrix[np.diag_indices(num)] = (
        np.bincount(low, weight, num) + np.bincount(high, weight, num) + 1 / _PRIOR_SD**2
    )
    return matrix


def _log_posterior(strength: FloatArray, low: IntArray, high: IntArray, sums: FoldSums) -> float:
    gap = strength[low] - strength[high]
    likelihood = sums.points * gap - sums.matches * np.logaddexp(0.0, gap)
    return float(likelihood.sum() - (strength**2).sum() / (2 * _PRIOR_SD**2))
