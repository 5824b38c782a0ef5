"""Where one number per bot does not describe the results."""

from __future__ import annotations

import numpy as np
import pytest

from arena.rating.misfit import cycles, residuals
from arena.rating.sums import RatedMatch
from rated import pairs, rate
from rating_designs import BY_NAME
from rating_worlds import fields

AROUND = ((0, 1), (1, 2), (2, 0))
ROCK_PAPER_SCISSORS = [
    match for met in AROUND for match in pairs(*met, [(1, 1)] * 20 + [(1, 0)] * 10 + [(0, 0)] * 5)
]


def test_residuals_of_the_model_itself_are_standard_normal() -> None:
    ((_, ratings),) = fields(BY_NAME["40 bots, 1 pair"], 1, 3)
    found = np.array([residual.standardised for residual in residuals(ratings)])
    assert len(found) == 40 * 39 / 2
    assert abs(found.mean()) < 0.15
    assert 0.85 < found.std() < 1.15
    assert np.all(np.diff(np.abs(found)) <= 0)


def test_a_residual_adds_up_pairs_and_singles() -> None:
    matches = [*pairs(0, 1, [(1, 0.5)] * 4 + [(0, 1)] * 4), RatedMatch(1, 0, 1.0, "single", 9, 9)]
    ratings = rate(matches, 2)
    (residual,) = residuals(ratings)
    assert (residual.i, residual.j, residual.num_matches, residual.score) == (0, 1, 17, 10)
    assert 8 < residual.expected < 12
    assert residual.standardised * (residual.score - residual.expected) >= 0


def test_an_encounter_against_the_ratings_stands_out() -> None:
    ratings = rate(ROCK_PAPER_SCISSORS, 3)
    assert ratings.elo == pytest.approx([1500] * 3)
    found = residuals(ratings)
    assert all(abs(residual.standardised) > 2 for residual in found)
    assert found[0].score - found[0].expected == pytest.approx(15)


def test_a_residual_at_a_hopeless_gap_is_finite() -> None:
    chain = [match for i in range(12) for match in pairs(i, i + 1, [(1, 1)] * 1000)]
    ratings = rate([*chain, RatedMatch(0, 12, 1.0, "single", 0, 0)], 13)
    assert ratings.elo[0] - ratings.elo[12] > 8000
    assert all(np.isfinite(residual.standardised) for residual in residuals(ratings))


def test_a_cycle_is_listed_once_from_its_lowest_bot() -> None:
    ratings = rate(ROCK_PAPER_SCISSORS, 4)
    assert cycles(ratings) == ((0, 1, 2),)
    backwards = [match._replace(points=1 - match.points) for match in ROCK_PAPER_SCISSORS]
    assert cycles(rate(backwards, 4)) == ((0, 2, 1),)
    assert cycles(ratings, beats=8) == ()


def test_the_advantage_of_moving_first_is_no_victory() -> None:
    level = [
        match for met in ((0, 3), (1, 3), (2, 3)) for match in pairs(*met, [(1, 0)] * 200 + [(0, 1)] * 60)
    ]
    around = [
        RatedMatch(i, j, float(n < 30), ("single", i, n), n, (i, n)) for i, j in AROUND for n in range(40)
    ]
    assert cycles(rate(level + around, 4)) == ()
