"""Intervals of ratings by drawing pairs again: they see what matches of one pair have in common."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arena.errors import ConfigError
from arena.rating import graph
from arena.rating.dense import maximise
from arena.rating.fit import DEFAULT_PRIOR, hang
from arena.rating.likelihood import Counts, FloatArray, Posterior, arrays_of
from arena.rating.model import LOGITS_PER_ELO, Prior, count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.rating.outcomes import PairOutcome


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrap:
    """Ratings refitted to drawn pairs."""

    elo: FloatArray
    """Shown ratings, `[num_samples, num_bots]`."""

    def interval(self, share: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the middle `share` of the samples, each `[num_bots]`."""
        low, high = np.quantile(self.elo, [(1 - share) / 2, (1 + share) / 2], axis=0)
        return low, high

    def gap_interval(self, i: int, j: int, share: float = 0.95) -> tuple[float, float]:
        """The same for Elo of bot `i` minus Elo of bot `j`."""
        gaps = self.elo[:, i] - self.elo[:, j]
        low, high = np.quantile(gaps, [(1 - share) / 2, (1 + share) / 2]).tolist()
        return low, high


def bootstrap(  # noqa: PLR0913 (four of them are keywords with defaults)
    outcomes: Iterable[PairOutcome],
    num_bots: int,
    *,
    num_samples: int = 1000,
    seed: int = 0,
    prior: Prior = DEFAULT_PRIOR,
    anchor: tuple[int, float] | None = None,
) -> Bootstrap:
    """Draws as many pairs as there are from each encounter, with replacement, and fits again.

    Where all pairs of a bot ended alike (100-0) nothing varies: trust the interval of `fit` there.

    Raises:
        ConfigError: no samples, or what `arena.rating.fit.fit` refuses.
    """
    if num_samples < 1:
        raise ConfigError(f"{num_samples} bootstrap samples give no interval; draw 200 or more")
    outcomes = [outcome for outcome in outcomes if outcome.count > 0]
    rows = count((result for outcome in outcomes for result in outcome.results(outcome.count)), num_bots)
    counts, table = arrays_of(rows), graph.components(rows, num_bots)
    best = maximise(Posterior(counts, num_bots, prior))
    elo = np.empty((num_samples, num_bots))
    for row, sample in enumerate(_draw(outcomes, counts, num_samples, np.random.default_rng(seed))):
        drawn = Posterior(Counts(counts.first, counts.second, sample), num_bots, prior)
        strength = maximise(drawn, best)[:num_bots] / LOGITS_PER_ELO
        elo[row] = hang(strength.tolist(), table, anchor)
    return Bootstrap(elo)


def _draw(
    outcomes: list[PairOutcome], counts: Counts, num_samples: int, rng: np.random.Generator
) -> FloatArray:
    """Outcomes of every ordered pair in every sample, `[num_samples, rows, 3]`."""
    rows = {
        pair: row for row, pair in enumerate(zip(counts.first.tolist(), counts.second.tolist(), strict=True))
    }
    encounters: dict[tuple[int, int], list[PairOutcome]] = defaultdict(list)
    for outcome in outcomes:
        encounters[min(outcome.i, outcome.j), max(outcome.i, outcome.j)].append(outcome)
    drawn = np.zeros((num_samples, *counts.outcomes.shape))
    for kinds in encounters.values():
        weights = np.array([kind.count for kind in kinds])
        total = max(1, round(float(weights.sum())))
        times = rng.multinomial(total, weights / weights.sum(), size=num_samples)
        for column, kind in enumerate(kinds):
            for result in kind.results(1.0):
                unit = np.array([result.wins, result.draws, result.losses])
                drawn[:, rows[result.first, result.second]] += np.outer(times[:, column], unit)
    return drawn
