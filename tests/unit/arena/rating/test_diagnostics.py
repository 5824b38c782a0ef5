"""Resampled openings, an independent check of the errors of the fit; and residuals and cycles.

Where one number per bot does not describe the results.
"""

from __future__ import annotations

import numpy as np
import pytest

from arena.errors import ConfigError
from arena.rating.diagnostics import Bootstrap, bootstrap, cycles, residuals
from arena.rating.fit import fit
from arena.rating.sums import MatchArrays, RatedMatch, encounters
from rated import pairs, rate, repeated
from rating_designs import BY_NAME
from rating_worlds import World, all_meet, fields, play


@pytest.mark.parametrize(
    "world",
    [World(), World(draws=0.7), World(opening_sd=300), World(deterministic=1, openings=20, replays=3)],
    ids=["plain", "draws", "lopsided openings", "copies"],
)
def test_errors_are_those_of_resampled_openings(world: World) -> None:
    """Over other seeds the mean of the 18 ratios deviates by 0.015, with 75 samples as with 150."""
    ratios: list[float] = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        strength = BY_NAME["6 bots, 3 pairs"].strengths(rng)
        matches = MatchArrays(play(strength, all_meet(strength, rng), 20, world, rng))
        ratings = fit(encounters(matches), 6)
        drawn = bootstrap(matches, 6, num_samples=75, seed=seed).elo.std(axis=0)
        ratios += (np.sqrt(ratings.covariance.diagonal()) / drawn).tolist()
    assert 0.9 < np.mean(ratios) < 1.1


def test_the_seed_decides_and_the_anchor_stays() -> None:
    matches = MatchArrays(
        pairs(0, 1, [(1, 0), (0.5, 0.5), (1, 1)] * 3) + repeated(1, 2, [(1, 0), (0, 0)] * 4)
    )
    one, same, other = (bootstrap(matches, 3, num_samples=20, seed=seed).elo for seed in (4, 4, 5))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert one.mean(axis=1) == pytest.approx(1500)
    anchored = bootstrap(matches, 3, num_samples=20, seed=4, anchor=(1, 1200.0))
    assert (anchored.elo[:, 1] == 1200).all()
    assert anchored.elo[:, 0] - 1200 == pytest.approx(one[:, 0] - one[:, 1])
    low, high = anchored.interval()
    assert (low <= high).all()


def test_an_interval_leaves_out_the_same_share_at_both_ends() -> None:
    # The q-th quantile of 0, 1, ... 1000 is 1000 q.
    found = Bootstrap(np.random.default_rng(1).permutation(1001).astype(np.float64)[:, None])
    assert [float(end[0]) for end in found.interval()] == pytest.approx([25, 975])
    assert [float(end[0]) for end in found.interval(0.5)] == pytest.approx([250, 750])


def test_no_samples_are_an_error() -> None:
    with pytest.raises(ConfigError, match="0 bootstrap samples"):
        bootstrap(MatchArrays(), 2, num_samples=0)


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


def test_a_chain_of_victories_is_no_cycle() -> None:
    ranked = [
        match
        for met in ((0, 1), (1, 2), (0, 2), (2, 3))
        for match in pairs(*met, [(1, 1)] * 20 + [(1, 0)] * 10 + [(0, 0)] * 5)
    ]
    assert cycles(rate(ranked, 4)) == ()


def test_the_advantage_of_moving_first_is_no_victory() -> None:
    level = [
        match for met in ((0, 3), (1, 3), (2, 3)) for match in pairs(*met, [(1, 0)] * 200 + [(0, 1)] * 60)
    ]
    around = [
        RatedMatch(i, j, float(n < 30), ("single", i, n), n, (i, n)) for i, j in AROUND for n in range(40)
    ]
    assert cycles(rate(level + around, 4)) == ()
