"""Resampled openings: an independent check of the errors of the fit."""

from __future__ import annotations

import numpy as np
import pytest

from arena.errors import ConfigError
from arena.rating.bootstrap import bootstrap
from arena.rating.fit import fit
from arena.rating.sums import MatchArrays, encounters
from rated import pairs, repeated
from rating_designs import BY_NAME
from rating_worlds import World, all_meet, play


@pytest.mark.parametrize(
    "world",
    [World(), World(draws=0.7), World(opening_sd=300), World(deterministic=1, openings=20, replays=3)],
    ids=["plain", "draws", "lopsided openings", "copies"],
)
def test_errors_are_those_of_resampled_openings(world: World) -> None:
    ratios: list[float] = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        strength = BY_NAME["6 bots, 3 pairs"].strengths(rng)
        matches = MatchArrays(play(strength, all_meet(strength, rng), 20, world, rng))
        ratings = fit(encounters(matches), 6)
        drawn = bootstrap(matches, 6, num_samples=150, seed=seed).elo.std(axis=0)
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


def test_no_samples_are_an_error() -> None:
    with pytest.raises(ConfigError, match="0 bootstrap samples"):
        bootstrap(MatchArrays(), 2, num_samples=0)
