"""The sequential probability ratio test of one Elo difference against another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from arena.errors import ConfigError
from arena.rating.pairs import NELO_PER_SIGMA, NUM_PAIR_CELLS, expected_score, moments

if TYPE_CHECKING:
    from arena.rating.pairs import Cells
    from arena.rating.sums import FloatArray

EloModel: TypeAlias = Literal["logistic", "normalized"]
Decision: TypeAlias = Literal["H0", "H1"]

_EMPTY_CELL = 1e-3
"""Stands for an empty cell, so that every law has all results (fishtest)."""
_TOLERANCE = 1e-10
"""A law moves less than this in its last step."""
_MAX_STEPS = 200
"""Far above need: 2 to 20 steps, at 3000 Elo too."""


def bounds(alpha: float = 0.05, beta: float = 0.05) -> tuple[float, float]:
    """Log likelihood ratios at which H0 and H1 are accepted (Wald).

    Raises:
        ConfigError: error rates that are not above 0, or not below 1 together.
    """
    if not (alpha > 0 and beta > 0 and alpha + beta < 1):
        raise ConfigError(f"alpha {alpha} and beta {beta} must be above 0 and their sum below 1")
    return math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)


def decide(ratio: float, alpha: float = 0.05, beta: float = 0.05) -> Decision | None:
    """The hypothesis a log likelihood ratio accepts, or None to play on; ask after complete pairs only."""
    lower, upper = bounds(alpha, beta)
    return "H0" if ratio <= lower else "H1" if ratio >= upper else None


def log_likelihood_ratio(
    cells: Cells, elo0: float = 0.0, elo1: float = 20.0, *, model: EloModel = "logistic"
) -> float:
    """Log likelihood ratio of H1 against H0, each with its most likely law of results.

    Van den Bergh, "Comparing approximations for the generalized log likelihood ratio", Proposition 1.1.

    Args:
        cells: three or five counts, seen by the bot under test.
        elo0: Elo difference under H0.
        elo1: Elo difference under H1.
        model: whether both are logistic or normalized Elo.
    """
    filled = np.array([cell or _EMPTY_CELL for cell in cells], dtype=np.float64)
    total = moments(filled.tolist()).num_trials
    observed = filled / total
    scores = np.linspace(0.0, 1.0, len(filled))
    if model == "logistic":
        laws = [_law(observed, scores - expected_score(elo)) for elo in (elo0, elo1)]
    else:
        per_match = math.sqrt(2) if len(filled) == NUM_PAIR_CELLS else 1.0
        laws = [_normalized_law(observed, scores, elo * per_match / NELO_PER_SIGMA) for elo in (elo0, elo1)]
    return float(total * np.sum(observed * (np.log(laws[1]) - np.log(laws[0]))))


def _law(observed: FloatArray, values: FloatArray) -> FloatArray:
    """The most likely law, given the observed one, under which `values` have mean 0; both `[cells]`.

    It is observed / (1 + theta * values); the mean falls in theta between the poles, so halving ends.
    """
    low, high = -1 / float(values.max()), -1 / float(values.min())
    while low < (middle := (low + high) / 2) < high:
        if np.sum(observed * values / (1 + middle * values)) > 0:
            low = middle
        else:
            high = middle
    law = observed / (1 + middle * values)
    return law / law.sum()


def _normalized_law(observed: FloatArray, scores: FloatArray, target: float) -> FloatArray:
    """The most likely law with (mean - 1/2) / deviation = `target`, `[cells]`.

    Few distinct results can have two local maxima: the search starts from the observed law and the even one.
    """
    even = np.full_like(observed, 1 / len(observed))
    laws = [_search(observed, scores, target, start) for start in (observed, even)]
    return max(laws, key=lambda law: float(observed @ np.log(law)))


def _search(observed: FloatArray, scores: FloatArray, target: float, start: FloatArray) -> FloatArray:
    """A local maximum near `start`, `[cells]`.

    The condition is linearised at the last law until that no longer moves. Where no law satisfies the linear
    condition, the step goes only part of the way to the target.
    """
    law, num_steps, is_found = start, 0, False
    while not is_found and num_steps < _MAX_STEPS:
        mean = float(law @ scores)
        deviation = math.sqrt(float(law @ (scores - mean) ** 2))
        bulge = deviation * (1 + ((scores - mean) / deviation) ** 2) / 2
        aim, reached = target, (mean - 0.5) / deviation
        while not (values := scores - 0.5 - aim * bulge).min() < 0 < values.max():
            aim = (aim + reached) / 2
        last, law, num_steps = law, _law(observed, values), num_steps + 1
        is_found = aim == target and bool(np.abs(law - last).max() < _TOLERANCE)
    return law
