"""Shares of matches with their intervals."""

from __future__ import annotations

from math import sqrt

_Z = 1.959964
"""97.5 % of the normal distribution lie below."""


def wilson(points: float, total: int) -> tuple[float, float]:
    """Give the 95 % score interval of a share, both in percent (Wilson, 1927)."""
    if not total:
        return 0.0, 100.0
    share = points / total
    middle = (share + _Z**2 / (2 * total)) / (1 + _Z**2 / total)
    half = _Z * sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2)) / (1 + _Z**2 / total)
    return 100 * (middle - half), 100 * (middle + half)
