from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ConfigError
from arena.rating.pairs import (
    expected_elo,
    expected_score,
    moments,
    normalized,
    normalized_elo,
)
from plain_interval import plain_interval

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
    error = normalized((50, 287, 610, 387, 73))[1]
    assert error == pytest.approx(12.84 * math.sqrt(1407 / 1409.5), abs=0.005)


def test_the_printed_example() -> None:
    assert normalized((1, 2, 10, 4, 3)) == pytest.approx((61.7, 101.5), abs=0.05)


def test_single_matches_have_the_error_of_a_match() -> None:
    assert normalized((99.5, 0, 99.5))[1] == pytest.approx(
        1.96 * 800 / math.log(10) / math.sqrt(200.5), rel=1e-4
    )


def test_moments_are_those_of_the_repeated_points() -> None:
    points = np.repeat([0, 0.25, 0.5, 0.75, 1], [1, 2, 10, 4, 3])
    found = moments((1, 2, 10, 4, 3))
    assert (found.num_trials, found.mean, found.variance) == pytest.approx((20, points.mean(), points.var()))


@given(cells)
def test_normalized_elo_is_finite_and_of_the_other_view_the_mirror(counts: list[int]) -> None:
    (elo, error), (mirrored, same) = normalized(counts), normalized(counts[::-1])
    assert math.isfinite(elo)
    assert 0 < error < math.inf
    assert (mirrored, same) == pytest.approx((-elo, error), abs=1e-6)


def test_trials_that_repeat_earlier_ones_do_not_count() -> None:
    assert normalized((0, 0, 0, 0, 100), unique=0.01) == normalized((0, 0, 0, 0, 1))


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
