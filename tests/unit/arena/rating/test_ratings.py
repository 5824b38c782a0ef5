from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.errors import ConfigError
from arena.rating.fit import fit
from arena.rating.model import LOGITS_PER_ELO, PairResult, Prior

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.rating.likelihood import FloatArray

    Simulate = Callable[[FloatArray, int, int], list[PairResult]]


def test_a_gap_has_the_error_of_the_covariance(simulate: Simulate) -> None:
    ratings = fit(simulate(np.array([-50.0, 0.0, 60.0]), 50, 1), 3)
    gap = ratings.gap(2, 0)
    assert gap.elo == pytest.approx(ratings.elo[2] - ratings.elo[0])
    direction = np.array([-1.0, 0.0, 1.0])
    assert gap.se == pytest.approx(math.sqrt(direction @ np.array(ratings.covariance) @ direction))
    assert gap.los == pytest.approx(NormalDist().cdf(gap.elo / gap.se))
    assert gap.los + ratings.gap(0, 2).los == pytest.approx(1)
    assert gap.error == pytest.approx(1.96 * gap.se, rel=1e-4)
    assert not gap.rests_on_prior


def test_two_bots_gap_error_is_not_the_root_of_both() -> None:
    ratings = fit([PairResult(0, 1, 60, 0, 40), PairResult(1, 0, 50, 0, 50)], 2)
    # With errors relative to their mean both are wrong together: the gap's error is the sum.
    assert ratings.gap(0, 1).error == pytest.approx(sum(ratings.error))


def test_a_bot_and_itself() -> None:
    ratings = fit([PairResult(0, 1, 6, 0, 4)], 2)
    assert (ratings.gap(0, 0).elo, ratings.gap(0, 0).se, ratings.gap(0, 0).los) == (0.0, 0.0, 0.5)
    assert ratings.expected_score(1, 1).average == 0.5


def test_expected_scores_of_both_bots_add_up_to_one(simulate: Simulate) -> None:
    ratings = fit(simulate(np.array([-50.0, 200.0]), 500, 2), 2)
    one, two = ratings.expected_score(0, 1), ratings.expected_score(1, 0)
    assert one.first + two.second == pytest.approx(1)
    assert one.average + two.average == pytest.approx(1)
    assert one.first > one.second
    assert ratings.score_against_table(0) == pytest.approx(one.average)


def test_four_hundred_elo_are_ten_wins_per_loss() -> None:
    prior = Prior(games=1e-6, advantage_sd=1e-5)
    ratings = fit([PairResult(0, 1, 1000, 300, 100), PairResult(1, 0, 100, 300, 1000)], 2, prior=prior)
    assert ratings.gap(0, 1).elo == pytest.approx(400, abs=0.1)
    assert ratings.expected_score(0, 1).average == pytest.approx(1150 / 1400, abs=1e-4)


def test_near_equality_draws_widen_the_scale() -> None:
    prior = Prior(games=1e-6, advantage_sd=1e-5)
    ratings = fit([PairResult(0, 1, 101, 200, 99), PairResult(1, 0, 99, 200, 101)], 2, prior=prior)
    logistic = math.log(0.5025 / 0.4975) / LOGITS_PER_ELO
    assert ratings.gap(0, 1).elo == pytest.approx(logistic / (1 - 0.5), rel=1e-3)


def test_bots_of_different_tables_are_not_compared() -> None:
    ratings = fit([PairResult(0, 1, 6, 0, 4)], ["a", "b", "c"])
    for ask in (ratings.gap, ratings.expected_score):
        with pytest.raises(ConfigError, match="connects a and c"):
            ask(0, 2)
    assert ratings.score_against_table(2) is None


def test_a_bot_that_lost_all_is_marked() -> None:
    results = [PairResult(0, 1, 5, 0, 5), PairResult(1, 2, 5, 0, 5), PairResult(0, 3, 15, 0, 0)]
    ratings = fit(results, 4)
    assert ratings.rests_on_prior == (False, False, False, True)
    assert ratings.gap(0, 3).rests_on_prior


@pytest.mark.parametrize(
    ("results", "marks"),
    [
        ([PairResult(0, 1, 15, 0, 0)], [True, True]),
        ([PairResult(0, 1, 0, 1, 0), PairResult(2, 3, 0, 1, 0), PairResult(1, 2, 1, 0, 0)], [True] * 4),
        ([PairResult(0, 1, 0, 1, 0)], [False, False, True]),
        ([], [True]),
    ],
)
def test_marks_where_no_part_is_the_largest(results: list[PairResult], marks: list[bool]) -> None:
    assert fit(results, len(marks)).rests_on_prior == tuple(marks)


def test_ranking_is_by_table_and_rating_with_names_for_ties() -> None:
    results = [PairResult(1, 0, 2, 0, 1), PairResult(4, 3, 30, 0, 10), PairResult(3, 2, 20, 0, 20)]
    assert fit(results, ["a", "b", "c", "d", "e", "f"]).ranking() == ((4, 2, 3), (1, 0), (5,))
    assert fit([PairResult(0, 1, 0, 1, 0), PairResult(1, 0, 0, 1, 0)], ["z", "y"]).ranking() == ((1, 0),)
