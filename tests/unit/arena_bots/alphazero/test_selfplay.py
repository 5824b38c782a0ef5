"""Self-play: random openings, and the play that follows them."""

from __future__ import annotations

import numpy as np
import pytest

from arena_bots.alphazero.train.plan import TrainingPlan
from arena_bots.alphazero.train.selfplay import SelfPlay
from arena_plugins.spec import OptionReader
from game_samples import make
from plain_trees import WaveNet

LANES = 60


def played(spec: str, **options: object) -> tuple[SelfPlay, list[tuple[int, ...]]]:
    """Play some moves in each match; return the player and the matches that ended."""
    game = make(spec)
    words = {"simulations": 4, "small": 2, "random_plies": 0, "moves": 12, "endings": 0, **options}
    plan = TrainingPlan.read(
        OptionReader("a test", {name: str(value) for name, value in words.items()})
    ).fitted(game)
    player = SelfPlay(game, WaveNet(game.num_actions), plan.play, LANES)
    harvest = player.go_on(WaveNet(game.num_actions), player.lanes, np.random.default_rng(1))
    return player, [match.actions for match in harvest.matches]


@pytest.mark.parametrize("spec", ["connect-four", "gomoku:k=4,size=6", "tic-tac-toe"])
def test_matches_begin_with_random_moves_that_end_none(spec: str) -> None:
    game = make(spec)
    player, _ = played(spec, opening_plies=24, moves=1)
    lanes = player.lanes
    longest = min(24, game.max_length // 2)
    lengths = lanes.mixed
    assert lengths.max() <= longest
    assert len(set(lengths.tolist())) > 2
    assert np.median(lengths) < longest / 2
    for lane in range(LANES):
        state = game.initial_state()
        for action in lanes.actions[lane, : lanes.mixed[lane]].tolist():
            state = state.child(action)
            assert not state.is_terminal


@pytest.mark.parametrize("spec", ["connect-four", "tic-tac-toe"])
def test_no_random_action_ends_a_match(spec: str) -> None:
    game = make(spec)
    _, matches = played(spec, random_plies=60, random_chance=1, moves=20)
    assert len(matches) >= LANES
    for actions in matches:
        state = game.initial_state()
        for action in actions:
            # An illegal action, or one after the end, raises an error here.
            state = state.child(action)
        assert state.is_terminal


def test_nothing_is_learnt_of_an_opening() -> None:
    player, matches = played("connect-four", opening_plies=24, moves=30)
    assert matches
    lanes = player.lanes
    for lane in range(LANES):
        assert not lanes.searched[lane, : lanes.mixed[lane]].any()


def test_without_chance_matches_are_searched_from_the_first_move() -> None:
    player, _ = played("connect-four")
    assert player.lanes.searched[:, 0].all()


def test_all_matches_search_fully_together() -> None:
    player, _ = played("connect-four", together="on", full_share=0.25, moves=4)
    full = player.lanes.weights[:, :4]
    assert (full == full[0]).all()
    assert full[0].sum() == 1
    apart, _ = played("connect-four", full_share=0.25, moves=4)
    assert (apart.lanes.weights[:, :4].std(axis=0) > 0).all()


def test_long_endings_are_proven_without_the_net() -> None:
    asked: list[int] = []
    for endings in (0, 20):
        game = make("connect-four")
        plan = TrainingPlan.read(
            OptionReader(
                "a test", {"opening_plies": "24", "random_plies": "0", "moves": "20", "endings": str(endings)}
            )
        ).fitted(game)
        player = SelfPlay(game, WaveNet(7), plan.play, 8)
        asked.append(player.go_on(WaveNet(7), player.lanes, np.random.default_rng(1)).asked)
    assert asked[1] < 0.8 * asked[0]


def test_with_puct_the_share_of_visits_is_learnt() -> None:
    player, _ = played("connect-four", search="puct", moves=1)
    counts = 4 * player.lanes.policies[:, 0]
    assert np.abs(counts - counts.round()).max() < 1e-5
    assert (counts.sum(axis=1).round() == 4).all()


@pytest.mark.parametrize(
    ("noise", "least", "most"), [(0, 0, 0), (0.25, 1, LANES // 3), (1, LANES // 4, LANES)]
)
def test_with_puct_noise_plays_what_was_not_visited(noise: float, least: int, most: int) -> None:
    player, _ = played("connect-four", search="puct", moves=1, noise=noise)
    lanes = player.lanes
    visits = lanes.policies[np.arange(LANES), 0, lanes.actions[:, 0]]
    assert least <= (visits == 0).sum() <= most
