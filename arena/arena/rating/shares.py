"""Confidence intervals of shares of matches."""

from __future__ import annotations

from math import sqrt

_Z = 1.959964
"""Quantile 0.975 of the normal distribution."""


def wilson(points: float, total: int) -> tuple[float, float]:
    """Return the 95 % score interval of a share, both ends in percent (Wilson, 1927)."""
    if not total:
        return 0.0, 100.0
    share = points / total
    middle = (share + _Z**2 / (2 * total)) / (1 + _Z**2 / total)
    half = _Z * sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2)) / (1 + _Z**2 / total)
    return 100 * (middle - half), 100 * (middle + half)
