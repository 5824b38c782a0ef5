"""The sequential probability ratio test of one Elo difference against another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from arena.errors import ConfigError
from arena.rating.pairs import NELO_PER_SIGMA, NUM_PAIR_CELLS, expected_score, moments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.pairs import Cells
    from arena.rating.sums import FloatArray

EloModel: TypeAlias = Literal["logistic", "normalized"]
Decision: TypeAlias = Literal["H0", "H1"]

_EMPTY_CELL = 1e-3
"""Replaces an empty cell, so that every result has a positive probability (as in fishtest)."""
_TOLERANCE = 1e-10
"""Largest change of a probability in the last step."""
_MAX_STEPS = 200
"""Maximum number of steps, far more than needed: 2 to 20, even at 3000 Elo."""
_MAX_HALVINGS = 1100
"""Maximum number of halvings, far more than needed: 3 to 60; bisection alone ends after the 1,074 binary
digits of a float."""
_EPSILON = 1e-15
"""Relative step below which a root is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypotheses:
    """The hypotheses of a test and its error rates."""

    elo0: float = 0.0
    """Elo difference under H0, in the scale of `model`."""
    elo1: float = 30.0
    """Elo difference under H1."""
    alpha: float = 0.05
    """Probability of accepting H1 if H0 is true."""
    beta: float = 0.05
    """Probability of accepting H0 if H1 is true."""
    model: EloModel = "normalized"
    """Logistic or normalized Elo; the length of a normalized test hardly depends on draws and openings."""


@lru_cache(maxsize=16)
def bounds(alpha: float = 0.05, beta: float = 0.05) -> tuple[float, float]:
    """Return the log likelihood ratios at which H0 and H1 are accepted.

    Source: Wald, Sequential Tests of Statistical Hypotheses (1945).

    Raises:
        ConfigError: error rates that are not above 0, or whose sum is not below 1.
    """
    if not (alpha > 0 and beta > 0 and alpha + beta < 1):
        raise ConfigError(f"alpha {alpha} and beta {beta} must be above 0 and their sum below 1")
    return math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)


def decide(ratio: float, alpha: float = 0.05, beta: float = 0.05) -> Decision | None:
    """Return the hypothesis that a ratio after complete pairs accepts; None if the test continues."""
    lower, upper = bounds(alpha, beta)
    return "H0" if ratio <= lower else "H1" if ratio >= upper else None


def log_likelihood_ratio(
    cells: Cells, elo0: float = 0.0, elo1: float = 20.0, *, model: EloModel = "logistic"
) -> float:
    """Return the log likelihood ratio of H1 against H0 for one sample; see `log_likelihood_ratios`.

    Args:
        cells: three or five counts, from the view of the tested bot.
        elo0: Elo difference under H0.
        elo1: Elo difference under H1.
        model: whether both are logistic or normalized Elo.

    Raises:
        ConfigError: another number of cells, or a negative one.
    """
    # Only for its checks of the cells.
    moments([cell or _EMPTY_CELL for cell in cells])
    sample = np.array([cells], dtype=np.float64)
    return float(log_likelihood_ratios(sample, elo0, elo1, model=model)[0])


def log_likelihood_ratios(cells: FloatArray, elo0: float, elo1: float, *, model: EloModel) -> FloatArray:
    """Return the log likelihood ratio of H1 against H0 for each sample, `[samples]`.

    Each hypothesis is represented by its maximum-likelihood distribution of results: Van den Bergh,
    "Comparing approximations for the generalized log likelihood ratio", Proposition 1.1.

    Args:
        cells: three or five counts of each sample, from the view of the tested bot, `[samples, cells]`.
        elo0: Elo difference under H0.
        elo1: Elo difference under H1.
        model: whether both are logistic or normalized Elo.
    """
    filled = np.where(cells > 0, cells, _EMPTY_CELL)
    # Cells first: sums over the few cells of many samples then add whole rows, which takes half the time.
    counts = np.ascontiguousarray(filled.T)
    totals = counts.sum(axis=0)
    observed = counts / totals
    num_cells = len(counts)
    scores = np.linspace(0.0, 1.0, num_cells)[:, None]
    if model == "logistic":
        laws = [
            _law(observed, np.broadcast_to(scores - expected_score(elo), observed.shape))
            for elo in (elo0, elo1)
        ]
    else:
        # The mean of a pair deviates less than one match, by the root of 2, so its target is that much
        # higher.
        per_match = math.sqrt(2) if num_cells == NUM_PAIR_CELLS else 1.0
        laws = _normalized_laws(observed, scores, [elo * per_match / NELO_PER_SIGMA for elo in (elo0, elo1)])
    return totals * np.sum(observed * (np.log(laws[1]) - np.log(laws[0])), axis=0)


def _law(observed: FloatArray, values: FloatArray) -> FloatArray:
    """Return the maximum-likelihood distributions under which `values` have mean 0; all `[cells, samples]`.

    It is observed / (1 + theta * values), as in the empirical likelihood of Owen (1988). The mean decreases
    in theta between the poles; Newton's step is taken if it stays between the narrowing bounds, otherwise
    they are bisected.
    """
    # Between these poles all probabilities are positive.
    low, high = -1 / values.max(axis=0), -1 / values.min(axis=0)
    theta = np.where((low < 0) & (high > 0), 0.0, (low + high) / 2)
    thetas = theta.copy()
    # Indices of the samples that are still iterated, and the data of each.
    at, seen, points = np.arange(len(theta)), observed, values
    is_found = np.zeros(len(theta), dtype=np.bool_)
    for _ in range(_MAX_HALVINGS):
        share = points / (1 + theta * points)
        weighed = seen * share
        mean = weighed.sum(axis=0)
        low, high = np.where(mean > 0, theta, low), np.where(mean > 0, high, theta)
        after = theta + mean / (weighed * share).sum(axis=0)
        after = np.where((after > low) & (after < high), after, (low + high) / 2)
        # A root that is found stays fixed, so that a sample's result does not depend on the other samples.
        after = np.where(is_found, theta, after)
        is_found |= np.abs(after - theta) <= _EPSILON * np.abs(theta)
        thetas[at] = theta = after
        num_open = len(is_found) - np.count_nonzero(is_found)
        if not num_open:
            break
        # A few samples take ten times as many steps as most. To leave out the others costs a step, too.
        if 2 * num_open <= len(is_found):
            is_open = ~is_found
            at, theta, low, high = at[is_open], theta[is_open], low[is_open], high[is_open]
            seen, points, is_found = seen[:, is_open], points[:, is_open], is_found[is_open]
    law = observed / (1 + thetas * values)
    return law / law.sum(axis=0)


def _normalized_laws(observed: FloatArray, scores: FloatArray, targets: Sequence[float]) -> list[FloatArray]:
    """Return for each target the most likely distributions with (mean - 1/2) / deviation = target.

    With few distinct results there can be two local maxima: the search starts from the observed distribution
    and from the uniform one. All searches are one, because for a single sample NumPy's calls take all of
    the time.

    Returns:
        The distributions for each target, `[cells, samples]`.
    """
    even = np.full_like(observed, 1 / len(observed))
    starts = np.concatenate([observed, even] * len(targets), axis=1)
    everywhere = np.concatenate([observed, observed] * len(targets), axis=1)
    found = _search(everywhere, scores, np.repeat(targets, 2 * len(observed[0])), starts)
    laws = np.split(found, 2 * len(targets), axis=1)
    likelihoods = np.split(np.sum(everywhere * np.log(found), axis=0), 2 * len(targets))
    # Of both local maxima the likelier one is kept.
    return [
        np.where(likelihoods[at] >= likelihoods[at + 1], laws[at], laws[at + 1])
        for at in range(0, len(laws), 2)
    ]


def _search(observed: FloatArray, scores: FloatArray, targets: FloatArray, start: FloatArray) -> FloatArray:
    """Return a local maximum near `start` for each sample, `[cells, samples]`.

    The condition is linearised at the last distribution until that no longer changes. If no distribution
    satisfies the linear condition, the step goes only part of the way to the target.

    Args:
        observed: shares of the results, `[cells, samples]`.
        scores: the score of each cell, `[cells, 1]`.
        targets: excess of the mean over 1/2, in deviations, `[samples]`.
        start: the distributions to begin with, `[cells, samples]`.
    """
    law = start.copy()
    # Indices of the samples that have not converged.
    open_ = np.arange(len(law[0]))
    for _ in range(_MAX_STEPS):
        here = law[:, open_]
        mean = (here * scores).sum(axis=0)
        away = scores - mean
        deviation = np.sqrt(np.sum(here * away**2, axis=0))
        # To first order the standard deviation of a distribution q near `here` is its mean of `bulge`.
        bulge = deviation * (1 + (away / deviation) ** 2) / 2
        target = targets[open_]
        aim, reached = target, (mean - 0.5) / deviation
        values = scores - 0.5 - aim * bulge
        while bool((is_impossible := (values.min(axis=0) >= 0) | (values.max(axis=0) <= 0)).any()):
            # Values of one sign cannot have mean 0, so halve the distance to the target.
            aim = np.where(is_impossible, (aim + reached) / 2, aim)
            values = scores - 0.5 - aim * bulge
        law[:, open_] = after = _law(observed[:, open_], values)
        is_found = (aim == target) & (np.abs(after - here).max(axis=0) < _TOLERANCE)
        open_ = open_[~is_found]
        if not len(open_):
            break
    return law
