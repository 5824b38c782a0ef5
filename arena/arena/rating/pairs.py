"""Statistics of two bots from pairs of matches, or from single matches if there are no pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

from arena.errors import ConfigError

Cells: TypeAlias = Sequence[float]
"""Counts from the worst result to the best: loss, draw, win; or LL, LD, DD + WL, WD, WW."""
_ELO_PER_DECADE = 400
"""Elo difference at which ten points are taken for each one lost."""
NELO_PER_SIGMA = 800 / math.log(10)
"""Normalized Elo per standard deviation of one match. With it both scales agree for small differences without
draws, where a match has deviation 1/2 and an Elo moves its score by ln 10 / 1600."""
NUM_PAIR_CELLS = 5
_Z95 = NormalDist().inv_cdf(0.975)
_FARTHEST = 100_000.0
"""Elo below which an expected score is 0: the power would overflow."""
_ADDED = 0.5
"""Added to each cell, so that no figure is infinite and no interval has width 0."""


def expected_elo(score: float) -> float:
    """Return the Elo difference at which one side is expected to take `score`: -400 log10(1 / score - 1).

    Raises:
        ConfigError: a score outside the open interval from 0 to 1.
    """
    if not 0 < score < 1:
        raise ConfigError(
            f"no Elo difference has an expected score of {score}; it must be above 0 and below 1"
        )
    # Not the logarithm of 1 / score - 1, which loses digits near 1.
    return _ELO_PER_DECADE * (math.log10(score) - math.log10(1 - score))


def expected_score(elo: float) -> float:
    """Return the expected points per match at an Elo difference, which may be infinite."""
    return 1 / (1 + 10 ** (-elo / _ELO_PER_DECADE)) if elo > -_FARTHEST else 0.0


@dataclass(frozen=True, slots=True)
class Moments:
    """Sample size, mean and variance of the points per trial; a trial is a pair or a single match."""

    num_trials: float
    mean: float
    """Points per match, 0 … 1."""
    lost: float
    """Points of the other side per match: 1 - mean, computed without the cancellation near 1."""
    variance: float
    """Variance of a trial's points per match; the divisor is the number of trials."""
    per_match: float
    """Factor from the standard deviation of a trial to that of a match: sqrt 2 for pairs, 1 for matches."""

    @property
    def se(self) -> float:
        """Standard error of the mean."""
        return math.sqrt(self.variance / self.num_trials)


def moments(cells: Cells) -> Moments:
    """Return the moments of three or five cells.

    Raises:
        ConfigError: another number of cells, a negative one, or all cells are empty.
    """
    if len(cells) not in (3, NUM_PAIR_CELLS) or min(cells) < 0 or not 0 < sum(cells) < math.inf:
        raise ConfigError(f"{list(cells)} are not three or five counts with a positive sum")
    total = math.fsum(cells)
    scores = [index / (len(cells) - 1) for index in range(len(cells))]
    mean = math.fsum(cell * score for cell, score in zip(cells, scores, strict=True)) / total
    lost = math.fsum(cell * score for cell, score in zip(reversed(cells), scores, strict=True)) / total
    # Half the mean squared difference of two trials: deviations from a mean near 1 would lose digits.
    variance = math.fsum(
        one * other * (first - second) ** 2
        for one, first in zip(cells, scores, strict=True)
        for other, second in zip(cells, scores, strict=True)
    ) / (2 * total**2)
    # A pair's points per match are the mean of two matches, which has half the variance of one.
    per_match = math.sqrt(2) if len(cells) == NUM_PAIR_CELLS else 1.0
    return Moments(total, mean, lost, variance, per_match)


def normalized(cells: Cells, *, unique: float = 1.0) -> tuple[float, float]:
    """Return normalized Elo and half of its 95 % interval; always finite.

    The cells are scaled to the number of trials that count, and one half is added to each.

    Args:
        cells: three or five counts, from the view of the first named bot; all may be 0.
        unique: share of trials that count, 0 … 1.
    """
    trials = moments([cell * unique + _ADDED for cell in cells])
    # A mean divided by its deviation has the standard error 1 / sqrt(trials), if the mean is small.
    error = _Z95 * NELO_PER_SIGMA / (trials.per_match * math.sqrt(trials.num_trials))
    return normalized_elo(trials), error


def normalized_elo(trials: Moments) -> float:
    """Return the mean's excess in standard deviations of a match, scaled.

    Van den Bergh, "Normalized Elo for practitioners".
    """
    return (trials.mean - 0.5) / (trials.per_match * math.sqrt(trials.variance)) * NELO_PER_SIGMA
