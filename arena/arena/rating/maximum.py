"""What both ways of fitting give, and when they stop."""

from __future__ import annotations

from typing import NamedTuple

MAX_STEPS = 200
"""Of Newton's method; far above need: simulated fields take 4 to 8, a million wins without loss about 20."""
TOLERANCE = 1e-14
"""A step that promises less than this per match in log posterior is the last."""
RIDGE = 1e-14
"""Share of the largest curvature added to all, so that rounding leaves the matrix positive definite."""


class Maximum(NamedTuple):
    """Where the posterior is highest, in natural units."""

    point: list[float]
    """Ratings and first-player term in log-odds, then ln nu, `[num_bots + 2]`."""
    covariance: list[list[float]]
    """Of the point, by the curvature there, `[num_bots + 2, num_bots + 2]`."""
