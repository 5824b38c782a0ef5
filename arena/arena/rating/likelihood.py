"""The log posterior of the model with its gradient and Hessian, in natural units, on arrays.

A point is `[x_1 … x_n, a, ln nu]`: ratings and first-player term in log-odds. The log posterior is the log of
softmaxes that are linear in the point, plus terms of the prior: concave, with one maximum.
`few` has the same in plain numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.rating.model import LOGITS_PER_ELO, Prior

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.model import Row

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """All results as arrays, one row per ordered pair of bots that met."""

    first: IntArray
    """Index of the bot that moved first, `[rows]`."""
    second: IntArray
    """Index of the other one, `[rows]`."""
    outcomes: FloatArray
    """Won, drawn and lost by the first player, `[rows, 3]`."""

    @property
    def weight(self) -> FloatArray:
        """Matches per row, `[rows]`."""
        return self.outcomes.sum(axis=1)


def arrays_of(rows: Sequence[Row]) -> Counts:
    """Puts counted results into arrays."""
    return Counts(
        first=np.array([row.first for row in rows], dtype=np.int64),
        second=np.array([row.second for row in rows], dtype=np.int64),
        outcomes=np.array([row.outcomes for row in rows], dtype=np.float64).reshape(len(rows), 3),
    )


def probabilities(gap: FloatArray, log_draw: float) -> FloatArray:
    """Win, draw and loss of the first player, `[rows, 3]`: `arena.rating.model.chances` of many gaps.

    Args:
        gap: natural log-odds, first player's advantage included, `[rows]`.
        log_draw: ln nu.
    """
    weights = np.stack([gap / 2, np.full_like(gap, log_draw), -gap / 2], axis=-1)
    weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Log posterior, up to a constant, of ratings given counts."""

    counts: Counts
    num_bots: int
    prior: Prior

    @property
    def size(self) -> int:
        """Length of a point."""
        return self.num_bots + 2

    def start(self) -> FloatArray:
        """The mode of the prior, `[size]`."""
        point = np.zeros(self.size)
        point[-1] = self.prior.log_draw_mean
        return point

    def value(self, point: FloatArray) -> float:
        """Log posterior at `point`."""
        gap = self._gaps(point)
        logits = np.stack([gap / 2, np.full_like(gap, point[-1]), -gap / 2], axis=-1)
        likelihood = np.sum(self.counts.outcomes * logits) - np.sum(
            self.counts.weight * np.logaddexp.reduce(logits, axis=-1)
        )
        ratings = point[: self.num_bots]
        virtual = -self.prior.games / 2 * np.sum(np.logaddexp(0, ratings) + np.logaddexp(0, -ratings))
        mean, precision = self._normal()
        normal = -0.5 * np.sum(precision * (point[self.num_bots :] - mean) ** 2)
        return float(likelihood + virtual + normal)

    def derivatives(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradient `[size]` and negative Hessian `[size, size]`, which is positive definite, at `point`."""
        counts, n = self.counts, self.num_bots
        chances = probabilities(self._gaps(point), float(point[-1]))
        drift = (chances[:, 0] - chances[:, 2]) / 2
        by_gap = (counts.outcomes[:, 0] - counts.outcomes[:, 2]) / 2 - counts.weight * drift
        by_draw = counts.outcomes[:, 1] - counts.weight * chances[:, 1]
        gradient = np.zeros(self.size)
        np.add.at(gradient, counts.first, by_gap)
        np.subtract.at(gradient, counts.second, by_gap)
        gradient[n:] = by_gap.sum(), by_draw.sum()
        hessian = self._information(chances)
        self._add_prior(point, gradient, hessian)
        return gradient, hessian

    def _gaps(self, point: FloatArray) -> FloatArray:
        """Log-odds of the first player over the second, `[rows]`."""
        return point[self.counts.first] - point[self.counts.second] + point[self.num_bots]

    def _information(self, chances: FloatArray) -> FloatArray:
        """Sum over matches of the covariance of (result -1/2, 0 or 1/2; drawn or not), `[size, size]`."""
        counts, n = self.counts, self.num_bots
        drift = (chances[:, 0] - chances[:, 2]) / 2
        gap_gap = counts.weight * ((chances[:, 0] + chances[:, 2]) / 4 - drift**2)
        gap_draw = -counts.weight * chances[:, 1] * drift
        draw_draw = counts.weight * chances[:, 1] * (1 - chances[:, 1])
        matrix = np.zeros((self.size, self.size))
        np.add.at(matrix, (counts.first, counts.first), gap_gap)
        np.add.at(matrix, (counts.second, counts.second), gap_gap)
        np.subtract.at(matrix, (counts.first, counts.second), gap_gap)
        np.subtract.at(matrix, (counts.second, counts.first), gap_gap)
        for column, values in ((n, gap_gap), (n + 1, gap_draw)):
            np.add.at(matrix[:, column], counts.first, values)
            np.subtract.at(matrix[:, column], counts.second, values)
            matrix[column, :n] = matrix[:n, column]
        matrix[n, n] = gap_gap.sum()
        matrix[n, n + 1] = matrix[n + 1, n] = gap_draw.sum()
        matrix[n + 1, n + 1] = draw_draw.sum()
        return matrix

    def _add_prior(self, point: FloatArray, gradient: FloatArray, hessian: FloatArray) -> None:
        """Adds the prior's share to both, in place."""
        n = self.num_bots
        tanh = np.tanh(point[:n] / 2)
        gradient[:n] -= self.prior.games / 2 * tanh
        mean, precision = self._normal()
        gradient[n:] -= precision * (point[n:] - mean)
        diagonal = np.concatenate([self.prior.games / 4 * (1 - tanh**2), precision])
        hessian[np.diag_indices(self.size)] += diagonal

    def _normal(self) -> tuple[FloatArray, FloatArray]:
        """Means and precisions of the normal priors on (a, ln nu), each `[2]`."""
        scales = np.array([self.prior.advantage_sd * LOGITS_PER_ELO, self.prior.log_draw_sd])
        return np.array([0.0, self.prior.log_draw_mean]), scales**-2
