"""Constants of the rating scale."""

from __future__ import annotations

import math

LOGITS_PER_ELO = math.log(10) / 400
"""Natural log-odds of the score per Elo: at 400 Elo ten points are taken for each one lost."""
MEAN_ELO = 1500.0
"""Elo shown for the mean of a table."""
LEVEL = 0.05
"""Probability that an interval does not contain the true value."""


def look_level(look: int) -> float:
    """Return the level of the `look`-th look at growing results, counted from 1.

    The first look has the whole level, because most results are looked at once. The later levels, 0.05 / (k
    (k + 1)), sum to less than 0.025, so that all looks together are wrong in at most 7.5 % of cases.
    """
    return LEVEL if look == 1 else LEVEL / (look * (look + 1))
