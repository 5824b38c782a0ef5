from __future__ import annotations

import numpy as np
import pytest

from arena.errors import ConfigError
from arena.rating.bootstrap import bootstrap
from arena.rating.encounter import MatchResult
from arena.rating.fit import fit
from arena.rating.model import PairResult
from arena.rating.outcomes import PairOutcome, pair_outcomes

POINTS = (0.0, 0.5, 1.0)


def _independent(wins: int, draws: int, losses: int) -> list[PairOutcome]:
    """Pairs whose two matches know nothing of each other."""
    shares = dict(zip(POINTS, (losses, draws, wins), strict=True))
    return [PairOutcome(0, 1, x, y, shares[x] * shares[y]) for x in POINTS for y in POINTS]


def test_independent_matches_have_the_interval_of_the_fit() -> None:
    outcomes = _independent(9, 5, 6)
    ratings = fit([result for outcome in outcomes for result in outcome.results(outcome.count)], 2)
    found = bootstrap(outcomes, 2, num_samples=600, seed=1)
    low, high = found.interval()
    assert (high - low) / 2 == pytest.approx(ratings.error, rel=0.15)
    assert (low + high) / 2 == pytest.approx(ratings.elo, abs=3)
    gap = found.gap_interval(0, 1)
    assert (gap[1] - gap[0]) / 2 == pytest.approx(ratings.gap(0, 1).error, rel=0.15)


def test_pairs_with_opposite_results_are_seen_to_vary_less() -> None:
    opposite = [PairOutcome(0, 1, 1, 0, 200), PairOutcome(0, 1, 0, 1, 180), PairOutcome(0, 1, 1, 1, 20)]
    ratings = fit([result for outcome in opposite for result in outcome.results(outcome.count)], 2)
    low, high = bootstrap(opposite, 2, num_samples=300).interval()
    assert np.all((high - low) / 2 < 0.5 * np.array(ratings.error))


def test_the_seed_decides_and_the_anchor_stays() -> None:
    outcomes = _independent(3, 2, 1)
    one, same, other = (bootstrap(outcomes, 3, num_samples=20, seed=seed).elo for seed in (4, 4, 5))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert one[:, :2].mean(axis=1) == pytest.approx(1500)
    anchored = bootstrap(outcomes, 3, num_samples=20, seed=4, anchor=(1, 1200.0)).elo
    assert (anchored[:, 1] == 1200).all()
    assert anchored[:, 0] - 1200 == pytest.approx(one[:, 0] - one[:, 1])


def test_single_matches_and_fractions_of_a_pair_are_drawn_too() -> None:
    outcomes = [PairOutcome(0, 1, 1, None, 0.1), PairOutcome(1, 0, None, 1, 0.2), PairOutcome(0, 1, 1, 1, 0)]
    found = bootstrap(outcomes, 2, num_samples=50).elo
    assert np.isfinite(found).all()
    assert len(np.unique(found[:, 0])) == 2


def test_results_of_an_outcome() -> None:
    assert PairOutcome(2, 5, 0.5, 0).results(3) == [PairResult(2, 5, 0, 3, 0), PairResult(5, 2, 3, 0, 0)]


def test_pair_outcomes_of_an_encounter_weigh_its_unique_matches() -> None:
    def match(pair: int, name: str, score: float, *, is_first: bool) -> MatchResult:
        return MatchResult(pair, is_first, score, name)

    results = [
        match(number, "same", is_first, is_first=is_first)
        for number in range(4)
        for is_first in (True, False)
    ]
    results += [match(9, "other", 0.5, is_first=True), match(10, "another", 0.5, is_first=False)]
    weight = 4 / 10
    assert pair_outcomes(3, 1, results) == [
        PairOutcome(3, 1, 1, 0, 4 * weight),
        PairOutcome(3, 1, 0.5, None, weight),
        PairOutcome(3, 1, None, 0.5, weight),
    ]
    assert pair_outcomes(3, 1, []) == []


def test_no_samples_are_an_error() -> None:
    with pytest.raises(ConfigError, match="0 bootstrap samples"):
        bootstrap([], 2, num_samples=0)
