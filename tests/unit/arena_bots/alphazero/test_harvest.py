"""Training positions of finished matches, compared with the plain rules: positions, sides, target values."""

from __future__ import annotations

import numpy as np
import pytest

from arena.games.kernels.layout import layout_of, words_of
from arena_bots.alphazero.train.games import DRAWN, GOING, WON, Lanes, Samples, new_lanes
from arena_bots.alphazero.train.harvest import reap
from arena_plugins.training import TrainingMatch
from game_samples import make

SHARE = 0.75
MIXED = 2
"""Number of random plies at the beginning: the result says nothing about the positions before."""
UNSEARCHED = 4
FIRST_WINS = (0, 1, 0, 1, 0, 1, 0)
SECOND_WINS = (6, 1, 0, 1, 0, 1, 2, 1)


def reaped(actions: tuple[int, ...], result: int) -> tuple[Lanes, Samples, list[TrainingMatch]]:
    """Put a match of Connect Four into the middle one of three lanes, and collect it."""
    layout = layout_of(make("connect-four"))
    assert layout is not None
    lanes = new_lanes(3, 7, 42)
    lanes.actions[1, : len(actions)] = actions
    lanes.ply[:] = 3, len(actions), 3
    lanes.mixed[1] = MIXED
    lanes.searched[1, : len(actions)] = True
    lanes.searched[1, UNSEARCHED] = False
    lanes.values[1, : len(actions)] = values(len(actions))
    lanes.weights[1] = np.arange(42) % 2
    lanes.policies[1] = (np.arange(42)[:, None] + np.arange(7)) / 64
    samples, matches = reap(lanes, np.array([GOING, result, GOING], np.int8), layout, SHARE)
    return lanes, samples, matches


def values(plies: int) -> np.ndarray:
    """Return values of the search, of which the last one exceeds the maximum by a rounding error."""
    found = np.linspace(-0.9, 0.8, plies)
    found[-1] = 1.0001
    return found


@pytest.mark.parametrize(
    ("actions", "result", "outcome"), [(FIRST_WINS, WON, 1), (SECOND_WINS, WON, -1), (FIRST_WINS, DRAWN, 0)]
)
def test_a_position_is_labelled_for_its_side_to_move(
    actions: tuple[int, ...], result: int, outcome: int
) -> None:
    _, samples, matches = reaped(actions, result)
    plies = [ply for ply in range(len(actions)) if ply != UNSEARCHED]
    state = make("connect-four").initial_state()
    states = [state := state.child(action) for action in actions]
    if result == WON:
        assert states[-1].returns == (outcome, -outcome)
    states = [make("connect-four").initial_state(), *states]
    assert [(own, opp) for own, opp in zip(samples.own, samples.opp, strict=True)] == [
        words_of(states[ply]) for ply in plies
    ]
    assert samples.weights.tolist() == [ply % 2 for ply in plies]
    assert samples.policies[:, 3].tolist() == [(ply + 3) / 64 for ply in plies]
    for ply, chances in zip(plies, samples.chances.tolist(), strict=True):
        value = min(float(values(len(actions))[ply]), 1.0)
        own_result = outcome if states[ply].current_player == 0 else -outcome
        share = SHARE if ply >= MIXED else 0.0
        wanted = share * own_result + (1 - share) * value
        assert chances[0] - chances[2] == pytest.approx(wanted, abs=1e-6)
        assert sum(chances) == pytest.approx(1, abs=1e-6)
        # A value of the search contains no draw probability, but the result of a drawn match does.
        assert chances[1] == pytest.approx(share * (outcome == 0), abs=1e-6)
    assert matches == [TrainingMatch(actions, outcome)]


def test_a_lane_that_ended_begins_anew_and_others_go_on() -> None:
    lanes, _, _ = reaped(FIRST_WINS, WON)
    assert lanes.ply.tolist() == [3, 0, 3]
    assert lanes.mixed[1] == lanes.own[1] == lanes.opp[1] == lanes.last[1] == 0
    assert not lanes.searched[1].any()
