"""The interval of the mean of pairs as other programs print it, to compare the arena's with."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

from arena.rating.beta import student_quantile
from arena.rating.pairs import expected_elo, moments

if TYPE_CHECKING:
    from arena.rating.pairs import Cells

_UPPER = 0.975


def plain_interval(cells: Cells, *, student: bool = False) -> tuple[float, float, float]:
    """Return low, middle and high Elo of the 95 % interval mean ± q se.

    Args:
        cells: three or five counts, nothing added.
        student: q from Student's distribution with trials - 1 degrees (OpenBench), otherwise normal
            (fastchess).

    Raises:
        ConfigError: an end of the interval is not a possible score, as after wins only.
    """
    trials = moments(cells)
    quantile = student_quantile(trials.num_trials - 1, _UPPER) if student else NormalDist().inv_cdf(_UPPER)
    half = quantile * trials.se
    low, high = expected_elo(trials.mean - half), expected_elo(trials.mean + half)
    return low, expected_elo(trials.mean), high
