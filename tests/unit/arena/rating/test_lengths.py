"""Lengths of sequential tests before they are played, against simulated ones."""

from __future__ import annotations

import pytest

from arena.schedules.sprt_schedule import SprtTest

SIMULATED = {
    # Mean pairs at H0, between, at H1 and as far beyond it, of 1,000 simulated tests each.
    (0.0, 20.0, 4000): (880, 1456, 870, 310),
    (0.0, 20.0, 972): (675, 800, 672, 317),
    (0.0, 30.0, 972): (385, 560, 372, 143),
}


@pytest.mark.parametrize(("elo0", "elo1", "num_openings"), SIMULATED)
def test_lengths_are_those_of_simulated_tests(elo0: float, elo1: float, num_openings: int) -> None:
    test = SprtTest(elo0=elo0, elo1=elo1)
    strengths = (elo0, (elo0 + elo1) / 2, elo1, 2 * elo1 - elo0)
    found = [test.expected_pairs(elo, num_openings) for elo in strengths]
    assert found == pytest.approx(SIMULATED[elo0, elo1, num_openings], rel=0.05)


def test_a_shifted_or_mirrored_test_is_as_long() -> None:
    gain, other = SprtTest(), SprtTest(elo0=-30, elo1=0)
    assert other.expected_pairs(-30, 972) == pytest.approx(gain.expected_pairs(30, 972), rel=0.001)
    assert other.expected_pairs(30, 972) == pytest.approx(gain.expected_pairs(60, 972), rel=0.02)


def test_a_logistic_test_is_as_long_as_the_normalized_one_of_the_same_difference() -> None:
    # 30 nElo are 28.3 Elo at 11 % draws.
    logistic = SprtTest(elo1=28.3, model="logistic")
    for share in (0.0, 0.5, 1.0, 2.0):
        found = logistic.expected_pairs(28.3 * share, 972)
        assert found == pytest.approx(SprtTest().expected_pairs(30 * share, 972), rel=0.03)


def test_rarer_errors_take_longer_and_few_openings_end_every_test() -> None:
    assert SprtTest(alpha=0.01).expected_pairs(30, 972) > SprtTest().expected_pairs(30, 972)
    assert SprtTest().expected_pairs(15, 12) == pytest.approx(12, abs=0.01)
    assert SprtTest().expected_pairs(600, 972) < 30
