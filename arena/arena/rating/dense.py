"""Newton's method on arrays, for fields of any size and for fits by the thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.rating.likelihood import Posterior, arrays_of
from arena.rating.maximum import MAX_STEPS, RIDGE, TOLERANCE, Maximum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.likelihood import FloatArray
    from arena.rating.model import Prior, Row


def maximum(rows: Sequence[Row], num_bots: int, prior: Prior) -> Maximum:
    """The point of the highest posterior, and its covariance."""
    posterior = Posterior(arrays_of(rows), num_bots, prior)
    point = maximise(posterior)
    covariance = np.linalg.inv(_ridged(posterior.derivatives(point)[1])).astype(np.float64)
    return Maximum(point.tolist(), covariance.tolist())


def maximise(posterior: Posterior, start: FloatArray | None = None) -> FloatArray:
    """The point of the highest posterior, `[num_bots + 2]`, in natural units.

    Args:
        posterior: what to maximise.
        start: a point near the maximum, if one is known.
    """
    point = posterior.start() if start is None else start
    value = posterior.value(point)
    tolerance = TOLERANCE * (1 + float(posterior.counts.weight.sum()))
    slope, num_steps = np.inf, 0
    while slope >= tolerance and num_steps < MAX_STEPS:
        gradient, hessian = posterior.derivatives(point)
        step = np.linalg.solve(_ridged(hessian), gradient)
        slope = float(gradient @ step)
        length = 1.0
        while (after := posterior.value(point + length * step)) < value + 1e-4 * length * slope - tolerance:
            length /= 2
        point, value, num_steps = point + length * step, after, num_steps + 1
    return point


def _ridged(hessian: FloatArray) -> FloatArray:
    """The matrix made safe to invert."""
    return hessian + RIDGE * float(hessian.max()) * np.eye(len(hessian))
