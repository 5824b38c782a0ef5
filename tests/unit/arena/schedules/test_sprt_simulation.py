"""A small part of `make simulate`: errors and lengths of sequential tests."""

from __future__ import annotations

import numpy as np

from arena.schedules.sprt_schedule import SprtTest
from sprt_worlds import NUM_OPENINGS, WORLDS, elo_of, play_pairs, run_tests

RUNS = 60
LENGTHS = {0.0: 385, 15.0: 560, 30.0: 372, 60.0: 143}
"""Mean pairs of tests of [0, 30] nElo with 972 openings, by true nElo; all three worlds."""


def test_errors_and_lengths_are_as_promised() -> None:
    rng = np.random.default_rng(1)
    played = [
        play_pairs(elo_of(nelo, world), world, RUNS, NUM_OPENINGS, rng)
        for nelo in LENGTHS
        for world in WORLDS.values()
    ]
    found = run_tests(np.concatenate(played), SprtTest())
    decision = found.decision.reshape(len(LENGTHS), -1)
    lengths = found.num_pairs.reshape(len(LENGTHS), -1).mean(axis=1)
    # Of 180 runs; a share of 0.05 has a standard error of 0.016.
    assert np.mean(decision[0] == 1) <= 0.08
    assert np.mean(decision[2] == -1) <= 0.08
    assert not np.any(decision[3] == -1)
    assert np.mean(decision[[0, 2]] == 0) <= 0.08
    assert np.allclose(lengths, list(LENGTHS.values()), rtol=0.1)


def test_many_tests_side_by_side_are_those_that_are_judged_one_by_one() -> None:
    test = SprtTest(elo1=100.0, alpha=0.1, beta=0.1)
    half_points = play_pairs(25.0, WORLDS["11 % draws"], 12, 90, np.random.default_rng(3))
    found = run_tests(half_points, test)
    for run, pairs in enumerate(half_points.tolist()):
        state = test.judge(pairs, num_openings=90)
        assert {"H1": 1, "H0": -1, "undecided": 0}[str(state.decision)] == found.decision[run]
        assert state.num_pairs == found.num_pairs[run]
        assert list(state.cells) == found.cells[run].tolist()
