from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.rating.fit import fit
from arena.rating.misfit import cycles, residuals
from arena.rating.model import PairResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.rating.likelihood import FloatArray

    Simulate = Callable[[FloatArray, int, int], list[PairResult]]

ROCK_PAPER_SCISSORS = [PairResult(i, j, 30, 0, 10) for i, j in ((0, 1), (1, 2), (2, 0))] + [
    PairResult(j, i, 10, 0, 30) for i, j in ((0, 1), (1, 2), (2, 0))
]


def test_residuals_of_the_model_itself_are_standard_normal(simulate: Simulate) -> None:
    results = simulate(np.linspace(-300, 300, 30), 20, 1)
    found = np.array([residual.standardised for residual in residuals(results, fit(results, 30))])
    assert len(found) == 30 * 29 / 2
    assert abs(found.mean()) < 0.15
    assert 0.85 < found.std() < 1.1
    assert np.all(np.diff(np.abs(found)) <= 0)


def test_a_residual_adds_up_both_sides() -> None:
    results = [PairResult(0, 1, 8, 2, 0), PairResult(1, 0, 1, 4, 5)]
    ratings = fit(results, 2)
    (residual,) = residuals(results, ratings)
    assert (residual.i, residual.j, residual.num_matches, residual.score) == (0, 1, 20, 16)
    expected = ratings.expected_score(0, 1)
    assert residual.expected == pytest.approx(10 * expected.first + 10 * expected.second)
    assert residual.standardised * (residual.score - residual.expected) >= 0


def test_an_encounter_against_the_ratings_stands_out() -> None:
    results = ROCK_PAPER_SCISSORS
    ratings = fit(results, 3)
    assert all(abs(residual.standardised) > 3 for residual in residuals(results, ratings))


def test_a_residual_at_a_hopeless_gap_is_finite() -> None:
    results = [PairResult(i, i + 1, 1e6, 0, 0) for i in range(12)] + [PairResult(0, 12, 1, 0, 0)]
    results += [PairResult(i + 1, i, 0, 0, 1e6) for i in range(12)]
    ratings = fit(results, 13)
    assert ratings.gap(0, 12).elo > 8000
    assert all(np.isfinite(residual.standardised) for residual in residuals(results, ratings))


def test_a_cycle_is_listed_once_from_its_lowest_bot() -> None:
    ratings = fit(ROCK_PAPER_SCISSORS, 4)
    assert cycles(ROCK_PAPER_SCISSORS, ratings) == ((0, 1, 2),)
    backwards = [PairResult(r.first, r.second, r.losses, r.draws, r.wins) for r in ROCK_PAPER_SCISSORS]
    assert cycles(backwards, fit(backwards, 4)) == ((0, 2, 1),)
    assert cycles(ROCK_PAPER_SCISSORS, ratings, beats=8) == ()


def test_an_order_has_no_cycle(simulate: Simulate) -> None:
    results = simulate(np.linspace(-300, 300, 5), 200, 2)
    assert cycles(results, fit(results, 5)) == ()


def test_the_advantage_of_moving_first_is_no_victory() -> None:
    around = [PairResult(i, j, 30, 0, 10) for i, j in ((0, 1), (1, 2), (2, 0))]
    level = [PairResult(i, j, 3000, 0, 1000) for i, j in ((0, 3), (3, 0))]
    assert cycles(around, fit(around + level, 4)) == ()
