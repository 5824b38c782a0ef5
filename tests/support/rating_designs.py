"""The designs in which intervals of ratings are measured; docs/explanation/ratings.md has the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rating_worlds import (
    Design,
    World,
    all_meet,
    best_and_worst,
    drawn_meet,
    ends,
    first_two,
    near_meet,
    neighbours,
    neighbours_meet,
    normal,
    one_meets_all,
    steps,
    two_groups_meet,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.rating.sums import FloatArray
    from rating_worlds import Rng


def _apart(elo: float) -> Callable[[Rng], FloatArray]:
    """Return a function for the strengths of two bots with a fixed difference."""
    return lambda _rng: np.array([elo, 0.0])


def _groups(half: int, elo: float) -> Callable[[Rng], FloatArray]:
    """Return a function for the strengths of two groups, the second stronger by a fixed amount."""
    return lambda rng: rng.normal(0, 150, 2 * half) + np.repeat([0.0, elo], half)


def _sweeper(rng: Rng) -> FloatArray:
    """Return the strengths of a bot 900 Elo above the mean, and of seven others."""
    return np.concatenate([[900.0], rng.normal(0, 150, 7)])


def _over_next(strength: FloatArray) -> tuple[int, int]:
    """Return bot 0 and the best of the others."""
    return 0, int(np.argmax(strength[1:])) + 1


def _across(strength: FloatArray) -> tuple[int, int]:
    """Return two bots of different groups, neither of which met the other group."""
    return len(strength) - 1, 1


TWO, EIGHT = _apart(50), normal(8, 150)
COPIES = World(deterministic=1, openings=25, replays=4)

DESIGNS: tuple[Design, ...] = (
    Design("round robin of 8, SD 150", EIGHT, all_meet, 10, best_and_worst),
    Design("round robin of 8, SD 400", normal(8, 400), all_meet, 10, best_and_worst),
    Design("30 bots, 2 pairs", normal(30, 150), all_meet, 2, best_and_worst),
    Design("6 bots, 3 pairs", normal(6, 150), all_meet, 3, best_and_worst),
    Design("chain of 20, +40, 50 pairs", steps(20, 40), neighbours_meet, 50, ends),
    Design("chain of 20, +40, 200 pairs", steps(20, 40), neighbours_meet, 200, ends),
    Design("chain of 10, +60, 50 pairs", steps(10, 60), neighbours_meet, 50, ends),
    # Fresh pairs after a test do not depend on its decision, so versions that are rated by them are a chain.
    Design("ten versions, +0, 64 pairs after each test", steps(10, 0), neighbours_meet, 64, ends),
    Design("ten versions, +28, 64 pairs after each test", steps(10, 28), neighbours_meet, 64, ends),
    Design("ten versions, +60, 64 pairs after each test", steps(10, 60), neighbours_meet, 64, ends),
    Design("two groups of 10, 400 apart, bridge 50", _groups(10, 400), two_groups_meet, 10, _across),
    Design("two groups of 20, 600 apart, bridge 50", _groups(20, 600), two_groups_meet, 10, _across),
    Design("gauntlet, 1 against 15, 20 pairs", normal(16, 150), one_meets_all, 20, first_two),
    Design("sweeper, +900", _sweeper, all_meet, 10, _over_next),
    Design("deterministic, 25 openings, replayed 4x", normal(6, 150), all_meet, 25, best_and_worst, COPIES),
    Design(
        "the same, openings SD 200",
        normal(6, 150),
        all_meet,
        25,
        best_and_worst,
        World(deterministic=1, openings=25, replays=4, opening_sd=200),
    ),
    Design(
        "two deterministic bots, 6 openings, replayed 10x",
        _apart(0),
        all_meet,
        6,
        first_two,
        World(deterministic=1, openings=6, replays=10),
    ),
    Design(
        "stochastic, equal games, 25 openings, 4 bots, 100 pairs",
        normal(4, 150),
        all_meet,
        100,
        best_and_worst,
        World(openings=25, kinds_of_match=3),
    ),
    Design(
        "the same, 2 bots, 300 pairs",
        _apart(30),
        all_meet,
        300,
        first_two,
        World(openings=25, kinds_of_match=3),
    ),
    Design(
        "3 deterministic + 3 stochastic, replayed 4x",
        normal(6, 150),
        all_meet,
        25,
        best_and_worst,
        World(deterministic=0.5, openings=25, replays=4),
    ),
    Design(
        "Swiss-like: 24 bots, SD 250, 7 rounds, 2 pairs", normal(24, 250), near_meet(7), 2, best_and_worst
    ),
    Design("draws 5 %, 20 pairs", EIGHT, all_meet, 20, best_and_worst, World(draws=0.05)),
    Design("draws 30 %, 20 pairs", EIGHT, all_meet, 20, best_and_worst),
    Design("draws 60 %, 20 pairs", EIGHT, all_meet, 20, best_and_worst, World(draws=0.6)),
    Design("openings SD 400, 20 pairs", EIGHT, all_meet, 20, best_and_worst, World(opening_sd=400)),
    Design("two bots, 10 pairs", TWO, all_meet, 10, first_two),
    Design("two bots, 50 pairs", TWO, all_meet, 50, first_two),
    Design("two bots, 200 pairs", TWO, all_meet, 200, first_two),
    Design("two bots, 10 pairs, 0 apart", _apart(0), all_meet, 10, first_two),
    Design("two bots, 10 pairs, 200 apart", _apart(200), all_meet, 10, first_two),
    Design("two bots, 10 pairs, 600 apart", _apart(600), all_meet, 10, first_two),
    Design("two bots, 50 pairs, 600 apart", _apart(600), all_meet, 50, first_two),
    Design("two bots, 50 pairs, 900 apart", _apart(900), all_meet, 50, first_two),
    Design("20 % singles", EIGHT, all_meet, 10, best_and_worst, World(singles=0.2)),
    Design(
        "20 % singles, advantage 300", EIGHT, all_meet, 10, best_and_worst, World(singles=0.2, advantage=300)
    ),
    Design(
        "only singles, advantage 150",
        EIGHT,
        all_meet,
        20,
        first_two,
        World(singles=1, advantage=150, draws=0.16, is_davidson=True),
    ),
    Design(
        "only singles, advantage 300",
        EIGHT,
        all_meet,
        20,
        first_two,
        World(singles=1, advantage=300, draws=0.16, is_davidson=True),
    ),
    Design("24 bots that meet at random, 1 pair", normal(24, 150), drawn_meet(10), 1, neighbours),
    Design("40 bots, 1 pair", normal(40, 150), all_meet, 1, neighbours),
    Design("draws 95 %, 20 pairs", normal(8, 20), all_meet, 20, neighbours, World(draws=0.95)),
    Design("4 bots, 4 pairs", normal(4, 150), all_meet, 4, neighbours),
    Design(
        "Davidson, SD 150, draws 16 %, advantage 40",
        EIGHT,
        all_meet,
        20,
        first_two,
        World(is_davidson=True, draws=0.16),
    ),
    Design(
        "Davidson, SD 400, draws 60 %, advantage 300",
        normal(8, 400),
        all_meet,
        20,
        first_two,
        World(is_davidson=True, draws=0.6, advantage=300),
    ),
)
BY_NAME = {design.name: design for design in DESIGNS}
