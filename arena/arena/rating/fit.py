"""Fits the model to counted results by Newton's method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.errors import ConfigError
from arena.rating import graph
from arena.rating.likelihood import Posterior
from arena.rating.model import LOGITS_PER_ELO, MEAN_ELO, Counts, FloatArray, PairResult, Prior, count
from arena.rating.ratings import Z95, Ratings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MAX_STEPS = 200
"""Far above need: simulated fields take 4 to 8 steps, a million wins without loss about 20."""
_TOLERANCE = 1e-14
"""A step that promises less than this per match in log posterior is the last."""
_RIDGE = 1e-14
"""Share of the largest curvature added to all, so that rounding leaves the matrix positive definite."""

DEFAULT_PRIOR = Prior()


def fit(
    results: Iterable[PairResult],
    bots: Sequence[str] | int,
    *,
    prior: Prior = DEFAULT_PRIOR,
    anchor: tuple[int, float] | None = None,
) -> Ratings:
    """Rates bots from all their results at once; the order of results does not matter.

    Args:
        results: counts per ordered pair; the same pair may come several times.
        bots: their names, or how many there are.
        prior: what is believed before the first match.
        anchor: index of a bot and the Elo it is given; its table hangs on it.

    Raises:
        ConfigError: results or an anchor that name no bot, or counts that are negative or infinite.
    """
    names = tuple(str(bot) for bot in range(bots)) if isinstance(bots, int) else tuple(bots)
    if anchor is not None and not 0 <= anchor[0] < len(names):
        raise ConfigError(f"the anchor is bot {anchor[0]}, but there are only {len(names)}, counted from 0")
    counts = count(results, len(names))
    posterior = Posterior(counts, len(names), prior)
    point = maximise(posterior)
    return _describe(names, posterior, point, anchor)


def maximise(posterior: Posterior, start: FloatArray | None = None) -> FloatArray:
    """The point of the highest posterior, `[num_bots + 2]`, in natural units.

    Args:
        posterior: what to maximise.
        start: a point near the maximum, if one is known.
    """
    point = posterior.start() if start is None else start
    value = posterior.value(point)
    tolerance = _TOLERANCE * (1 + float(posterior.counts.weight.sum()))
    slope, num_steps = np.inf, 0
    while slope >= tolerance and num_steps < _MAX_STEPS:
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
    return hessian + _RIDGE * float(hessian.max()) * np.eye(len(hessian))


def frame(counts: Counts, num_bots: int, anchor: tuple[int, float] | None) -> tuple[FloatArray, FloatArray]:
    """What ratings are relative to: a matrix `[num_bots, num_bots]` and an offset in Elo `[num_bots]`.

    Shown Elo is offset + matrix @ strength: each table hangs on its mean, the anchor's on the anchor, and
    a bot that met nobody stays where the prior has it.
    """
    table = graph.components(counts, num_bots)
    matrix = np.eye(num_bots)
    offset = np.full(num_bots, MEAN_ELO)
    # np.unique would load numpy.ma, 2 MB.
    for number in sorted(set(table.tolist())):
        members = np.flatnonzero(table == number)
        if anchor is not None and table[anchor[0]] == number:
            matrix[members, anchor[0]] -= 1
            offset[members] = anchor[1]
        elif len(members) > 1:
            matrix[np.ix_(members, members)] -= 1 / len(members)
    return matrix, offset


def _describe(
    names: tuple[str, ...], posterior: Posterior, point: FloatArray, anchor: tuple[int, float] | None
) -> Ratings:
    """The maximum in Elo, with the errors that its curvature gives."""
    counts, n = posterior.counts, len(names)
    covariance = np.linalg.inv(_ridged(posterior.derivatives(point)[1])).astype(np.float64)
    error = Z95 * np.sqrt(np.diag(covariance))
    strength, in_elo = point[:n] / LOGITS_PER_ELO, covariance[:n, :n] / LOGITS_PER_ELO**2
    matrix, offset = frame(counts, n, anchor)
    shown = matrix @ in_elo @ matrix.T
    ends = np.concatenate([counts.first, counts.second])
    return Ratings(
        names=names,
        elo=offset + matrix @ strength,
        error=Z95 * np.sqrt(np.maximum(np.diag(shown), 0.0)),
        num_matches=np.bincount(ends, np.tile(counts.weight, 2), minlength=n).astype(np.float64),
        table=graph.components(counts, n),
        strong=graph.strong_components(counts, n),
        strength=strength,
        covariance=in_elo,
        advantage=float(point[n]) / LOGITS_PER_ELO,
        advantage_error=float(error[n]) / LOGITS_PER_ELO,
        log_draw=float(point[n + 1]),
        log_draw_error=float(error[n + 1]),
    )
