"""The scale of ratings."""

from __future__ import annotations

import math

LOGITS_PER_ELO = math.log(10) / 400
"""Natural log-odds of the score in one Elo: at 400 Elo ten points are taken for each one lost."""
MEAN_ELO = 1500.0
"""The mean of a table is shown as this."""
LEVEL = 0.05
"""Share of intervals that may miss the truth."""


def look_level(look: int) -> float:
    """Return the level of the `look`-th look at results that grow, counted from 1.

    0.05 / (k (k + 1)) sum to 0.05, so that looking again does not make a wrong verdict likelier.
    """
    return LEVEL if look == 1 else LEVEL / (look * (look + 1))
