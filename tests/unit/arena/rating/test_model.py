from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ConfigError
from arena.rating.likelihood import Posterior, arrays_of, probabilities
from arena.rating.model import PairResult, Prior, Row, chances, count, moments

small = st.floats(-6, 6)


@given(small, small)
def test_probabilities_are_the_three_weights_normalised(gap: float, log_draw: float) -> None:
    weights = np.array([math.exp(gap / 2), math.exp(log_draw), math.exp(-gap / 2)])
    found = chances(gap, log_draw)
    assert found == pytest.approx(weights / weights.sum(), rel=1e-12)
    assert chances(-gap, log_draw) == pytest.approx(found[::-1], rel=1e-12)
    assert probabilities(np.array([gap]), log_draw)[0] == pytest.approx(found, rel=1e-12)


def test_probabilities_of_hopeless_gaps_are_finite() -> None:
    assert chances(5000.0, 900.0) == (1.0, 0.0, 0.0)
    assert probabilities(np.array([5000.0]), 900.0)[0].tolist() == [1.0, 0.0, 0.0]


def test_moments_are_those_of_the_points() -> None:
    mean, variance = moments((0.5, 0.3, 0.2))
    assert mean == pytest.approx(0.65)
    assert variance == pytest.approx(0.5 * 0.35**2 + 0.3 * 0.15**2 + 0.2 * 0.65**2)


def test_count_adds_up_by_ordered_pair_and_leaves_out_what_was_not_played() -> None:
    rows = count([PairResult(1, 0, 1, 2, 3), PairResult(0, 1, 0, 0, 0), PairResult(1, 0, 4, 0, 0)], 2)
    assert rows == (Row(1, 0, (5.0, 2.0, 3.0)),)
    assert rows[0].weight == 10.0


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (PairResult(0, 2, 1, 0, 0), "outside 0 … 1"),
        (PairResult(-1, 0, 1, 0, 0), "outside 0 … 1"),
        (PairResult(1, 1, 1, 0, 0), "against itself"),
        (PairResult(0, 1, -1, 0, 0), "negative"),
        (PairResult(0, 1, math.inf, 0, 0), "not finite"),
        (PairResult(0, 1, math.nan, 0, 0), "not finite"),
    ],
)
def test_count_refuses_what_cannot_be_rated(result: PairResult, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        count([result], 2)


@pytest.mark.parametrize("games", [0.0, -1.0, math.inf, math.nan])
def test_prior_must_hold_the_ratings(games: float) -> None:
    with pytest.raises(ConfigError, match="games"):
        Prior(games=games)


def _posterior() -> Posterior:
    results = [PairResult(0, 1, 5, 2, 1), PairResult(1, 0, 3, 1, 2), PairResult(2, 0, 1, 4, 0.5)]
    return Posterior(arrays_of(count(results, 4)), 4, Prior(games=3, advantage_sd=100, log_draw_sd=2))


def test_gradient_and_hessian_are_the_derivatives_of_the_value() -> None:
    posterior = _posterior()
    point = np.random.default_rng(5).normal(0, 1.5, posterior.size)
    gradient, hessian = posterior.derivatives(point)
    for row, unit in enumerate(np.eye(posterior.size) * 1e-5):
        ahead, behind = point + unit, point - unit
        assert (posterior.value(ahead) - posterior.value(behind)) / 2e-5 == pytest.approx(
            gradient[row], abs=1e-7
        )
        change = (posterior.derivatives(ahead)[0] - posterior.derivatives(behind)[0]) / 2e-5
        assert -change == pytest.approx(hessian[row], abs=1e-7)


@given(st.lists(small, min_size=6, max_size=6))
def test_the_posterior_is_concave(point: list[float]) -> None:
    hessian = _posterior().derivatives(np.array(point))[1]
    assert np.linalg.eigvalsh(hessian).min() > 0
