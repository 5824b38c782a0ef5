"""The fit of a small field in plain numbers: as quick as on arrays, without NumPy's 12 MB and 0.1 s.

What is maximised, and how, is that of `likelihood` and `dense`; a property test compares the two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from arena.rating.maximum import MAX_STEPS, RIDGE, TOLERANCE, Maximum
from arena.rating.model import LOGITS_PER_ELO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.model import Prior, Row


class _Slopes(NamedTuple):
    """The log posterior at a point, up to a constant, and how it bends there."""

    value: float
    gradient: list[float]
    """`[size]`."""
    hessian: list[list[float]]
    """Negative, so positive definite, `[size, size]`."""


def maximum(rows: Sequence[Row], num_bots: int, prior: Prior) -> Maximum:
    """The point of the highest posterior, and its covariance."""
    point = [0.0] * (num_bots + 1) + [prior.log_draw_mean]
    at = _slopes(rows, point, prior)
    tolerance = TOLERANCE * (1 + sum(row.weight for row in rows))
    slope, num_steps = math.inf, 0
    while slope >= tolerance and num_steps < MAX_STEPS:
        step = [row[0] for row in _solved(_ridged(at.hessian), [[value] for value in at.gradient])]
        slope = math.fsum(map(float.__mul__, at.gradient, step))
        length, least = 1.0, at.value - tolerance
        while (
            after := _slopes(rows, _moved(point, length, step), prior)
        ).value < least + 1e-4 * length * slope:
            length /= 2
        point, at, num_steps = _moved(point, length, step), after, num_steps + 1
    units = [[float(row == column) for column in range(len(point))] for row in range(len(point))]
    return Maximum(point, _solved(_ridged(at.hessian), units))


def _slopes(rows: Sequence[Row], point: Sequence[float], prior: Prior) -> _Slopes:
    """Sums over rows and the prior; see `likelihood.Posterior` for the same with shapes."""
    size, log_draw = len(point), point[-1]
    a, nu = size - 2, size - 1
    gradient = [0.0] * size
    hessian = [[0.0] * size for _ in range(size)]
    values = [_add_prior(point, prior, gradient, hessian)]
    for row in rows:
        i, j, (wins, draws, losses) = row.first, row.second, row.outcomes
        weight = wins + draws + losses
        half = (point[i] - point[j] + point[a]) / 2
        top = max(abs(half), log_draw)
        win, draw, loss = math.exp(half - top), math.exp(log_draw - top), math.exp(-half - top)
        total = win + draw + loss
        values.append((wins - losses) * half + draws * log_draw - weight * (top + math.log(total)))
        win, draw, loss = win / total, draw / total, loss / total
        drift = (win - loss) / 2
        by_gap, by_draw = (wins - losses) / 2 - weight * drift, draws - weight * draw
        gap_gap = weight * ((win + loss) / 4 - drift * drift)
        gap_draw = -weight * draw * drift
        for place, sign in ((i, 1.0), (j, -1.0), (a, 1.0)):
            gradient[place] += sign * by_gap
            hessian[place][i] += sign * gap_gap
            hessian[place][j] -= sign * gap_gap
            hessian[place][a] += sign * gap_gap
            hessian[place][nu] += sign * gap_draw
            hessian[nu][place] += sign * gap_draw
        gradient[nu] += by_draw
        hessian[nu][nu] += weight * draw * (1 - draw)
    return _Slopes(math.fsum(values), gradient, hessian)


def _add_prior(
    point: Sequence[float], prior: Prior, gradient: list[float], hessian: list[list[float]]
) -> float:
    """Adds the prior's share to both, in place, and gives its share of the value."""
    value = 0.0
    for bot, rating in enumerate(point[:-2]):
        tanh = math.tanh(rating / 2)
        value -= prior.games / 2 * (abs(rating) + 2 * math.log1p(math.exp(-abs(rating))))
        gradient[bot] -= prior.games / 2 * tanh
        hessian[bot][bot] += prior.games / 4 * (1 - tanh * tanh)
    scales = (prior.advantage_sd * LOGITS_PER_ELO, prior.log_draw_sd)
    for place, mean, scale in zip((-2, -1), (0.0, prior.log_draw_mean), scales, strict=True):
        away = point[place] - mean
        value -= away * away / scale / scale / 2
        gradient[place] -= away / scale / scale
        hessian[place][place] += 1 / scale / scale
    return value


def _moved(point: Sequence[float], length: float, step: Sequence[float]) -> list[float]:
    return [value + length * change for value, change in zip(point, step, strict=True)]


def _ridged(hessian: list[list[float]]) -> list[list[float]]:
    """The matrix made safe to invert."""
    ridge = RIDGE * max(map(max, hessian))
    return [
        [value + ridge * (place == column) for column, value in enumerate(row)]
        for place, row in enumerate(hessian)
    ]


def _solved(matrix: list[list[float]], sides: list[list[float]]) -> list[list[float]]:
    """Solve matrix @ x = sides, x as wide as they are, by elimination with the largest pivot of a column."""
    size = len(matrix)
    rows = [left + right for left, right in zip(matrix, sides, strict=True)]
    for step in range(size):
        best = max(range(step, size), key=lambda place: abs(rows[place][step]))
        rows[step], rows[best] = rows[best], rows[step]
        pivot = rows[step]
        for place in range(step + 1, size):
            share = rows[place][step] / pivot[step]
            rows[place][step:] = [
                value - share * above for value, above in zip(rows[place][step:], pivot[step:], strict=True)
            ]
    for step in reversed(range(size)):
        pivot = rows[step] = [value / rows[step][step] for value in rows[step]]
        for place in range(step):
            share = rows[place][step]
            rows[place][size:] = [
                value - share * below for value, below in zip(rows[place][size:], pivot[size:], strict=True)
            ]
    return [row[size:] for row in rows]
