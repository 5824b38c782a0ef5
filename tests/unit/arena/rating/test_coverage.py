from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.rating.fit import fit

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.rating.likelihood import FloatArray
    from arena.rating.model import PairResult

    Simulate = Callable[[FloatArray, int, int], list[PairResult]]


def test_intervals_hold_the_truth_in_about_95_of_100_fields(simulate: Simulate) -> None:
    rng = np.random.default_rng(2024)
    inside: list[bool] = []
    gaps: list[bool] = []
    for seed in range(60):
        strength = rng.normal(0, 150, 8)
        ratings = fit(simulate(strength, 20, seed), 8)
        miss = np.array(ratings.elo) - 1500 - (strength - strength.mean())
        inside += (np.abs(miss) < ratings.error).tolist()
        gap = ratings.gap(0, 1)
        gaps.append(abs(gap.elo - (strength[0] - strength[1])) < gap.error)
    assert 0.90 < np.mean(inside) < 0.985
    assert np.mean(gaps) > 0.85
