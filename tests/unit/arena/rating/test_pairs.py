from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]  # scipy has no stubs

from arena.errors import ConfigError
from arena.rating.pairs import (
    expected_elo,
    expected_score,
    moments,
    normalized_elo,
    plain_interval,
    statistics,
)

cells = st.one_of(
    st.lists(st.integers(0, 10**9), min_size=3, max_size=3),
    st.lists(st.integers(0, 10**9), min_size=5, max_size=5),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
)


@pytest.mark.parametrize(
    ("counts", "elo", "low", "high"),
    [
        ((39, 8843, 26675, 9240, 44), 1.577, 0.546, 2.607),
        ((50, 287, 610, 387, 73), 18.042, 9.812, 26.293),
        ((1, 2, 10, 4, 3), 52.51, -29.66, 141.10),
    ],
)
def test_elo_with_student_interval_is_that_of_openbench(
    counts: tuple[int, ...], elo: float, low: float, high: float
) -> None:
    assert plain_interval(counts, student=True) == pytest.approx((low, elo, high), abs=0.006)
    narrow = plain_interval(counts)
    assert low < narrow[0] < narrow[1] < narrow[2] < high + 0.001


def test_normalized_elo_of_the_fixture() -> None:
    trials = moments((50, 287, 610, 387, 73))
    assert normalized_elo(trials) == pytest.approx(28.19, abs=0.005)
    error = statistics((50, 287, 610, 387, 73)).nelo_error
    assert error == pytest.approx(12.84 * math.sqrt(1407 / 1409.5), abs=0.005)


def test_the_printed_example() -> None:
    found = statistics((1, 2, 10, 4, 3))
    assert (found.elo, found.elo_error) == pytest.approx((46.6, 78.7), abs=0.05)
    assert (found.elo_low, found.elo_high) == pytest.approx((-31, 127), abs=0.5)
    assert found.los == pytest.approx(0.883, abs=0.0005)
    assert (found.nelo, found.nelo_error) == pytest.approx((61.7, 101.5), abs=0.05)
    assert not found.is_separated


def test_the_interval_is_that_of_the_beta_distribution_with_the_same_moments() -> None:
    trials = moments((3.5, 8.5, 20.5))
    found = statistics((3, 8, 20))
    size = trials.mean * (1 - trials.mean) / trials.se**2 - 1
    beta: Any = stats.beta(size * trials.mean, size * (1 - trials.mean))
    assert (beta.mean(), beta.std()) == pytest.approx((trials.mean, trials.se))
    ends = [expected_elo(end) for end in beta.ppf([0.025, 0.975]).tolist()]
    assert (found.elo_low, found.elo_high) == pytest.approx(ends)
    assert found.is_separated


def test_the_interval_does_not_jump_where_the_normal_one_takes_over() -> None:
    # Sizes on both sides of the switch: the half width times the root of the size stays what it was.
    small, large = (statistics((10**n, 2 * 10**n, 4 * 10**n)) for n in (7, 8))
    assert small.elo_error == pytest.approx(large.elo_error * math.sqrt(10), rel=1e-4)
    assert (small.elo_low + small.elo_high) / 2 == pytest.approx(
        (large.elo_low + large.elo_high) / 2, abs=1e-3
    )


def test_single_matches_have_the_error_of_a_match() -> None:
    found = statistics((99.5, 0, 99.5))
    assert found.nelo_error == pytest.approx(1.96 * 800 / math.log(10) / math.sqrt(200.5), rel=1e-4)


def test_moments_are_those_of_the_repeated_points() -> None:
    points = np.repeat([0, 0.25, 0.5, 0.75, 1], [1, 2, 10, 4, 3])
    found = moments((1, 2, 10, 4, 3))
    assert (found.num_trials, found.mean, found.variance) == pytest.approx((20, points.mean(), points.var()))


@given(cells)
@example([1, 545735348, 0])
def test_statistics_are_finite_ordered_and_never_without_width(counts: list[int]) -> None:
    found = statistics(counts)
    values = (found.elo, found.elo_low, found.elo_high, found.los, found.nelo, found.nelo_error)
    assert all(math.isfinite(value) for value in values)
    assert found.elo_low < found.elo < found.elo_high
    assert found.elo_error > 0
    assert found.nelo_error > 0


@given(cells)
@example([0, 0, 150388481])
def test_the_other_view_is_the_mirror(counts: list[int]) -> None:
    one, other = statistics(counts), statistics(counts[::-1])
    assert other.elo == pytest.approx(-one.elo, abs=1e-6)
    assert (other.elo_low, other.elo_high) == pytest.approx((-one.elo_high, -one.elo_low), rel=1e-6, abs=1e-6)
    assert other.los == pytest.approx(1 - one.los, abs=1e-9)
    assert other.nelo == pytest.approx(-one.nelo, abs=1e-6)


def test_repeated_trials_widen_the_interval() -> None:
    repeated = statistics((0, 0, 0, 0, 100), unique=0.01)
    assert repeated == statistics((0, 0, 0, 0, 1))
    assert repeated.elo_error > statistics((0, 0, 0, 0, 100)).elo_error


@given(st.floats(-3000, 3000))
def test_elo_and_score_are_inverse(elo: float) -> None:
    assert expected_elo(expected_score(elo)) == pytest.approx(elo, abs=1e-3)


def test_three_quarters_are_191_elo() -> None:
    assert expected_elo(0.75) == pytest.approx(190.85, abs=0.005)


@pytest.mark.parametrize("score", [0.0, 1.0, -0.1, math.nan])
def test_an_impossible_score_has_no_elo(score: float) -> None:
    with pytest.raises(ConfigError, match="no Elo difference"):
        expected_elo(score)


@pytest.mark.parametrize("counts", [(1, 2), (0, 0, 0), (1, -1, 3), (1, 2, 3, 4), (1, 2, math.inf)])
def test_cells_must_be_three_or_five_counts(counts: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match="three or five"):
        moments(counts)
