"""The bundled weights: their provenance is true, they fit their limits, and they find immediate wins."""

from __future__ import annotations

import hashlib
import tomllib

import numpy as np
import pytest

from arena.match import play_matches
from arena_bots.alphazero.bot import WEIGHTS, make_bot
from arena_bots.alphazero.network import load_net
from arena_bots.alphazero.supported_games import GAMES
from arena_plugins import load_bot
from arena_plugins.contract import Limit
from game_samples import make
from labelled_sample import sample_quality
from plain_trees import random_states

MOST_BYTES = 3_000_000
"""Maximum size of all bundled weights of the bot together."""
SHIPPED = sorted(WEIGHTS.glob("*.onnx"))
SPECS = {
    "-".join([spec.partition(":")[0], *spec.partition(":")[2].replace("=", "").split(",")]).strip("-"): spec
    for spec in GAMES
}
"""Spec of a game by the beginning of the names of its files."""


def spec_of_file(name: str) -> str:
    return next(spec for start, spec in SPECS.items() if name.startswith(f"{start}-"))


def test_they_are_small_and_there_are_some() -> None:
    assert SHIPPED
    assert sum(path.stat().st_size for path in WEIGHTS.iterdir()) <= MOST_BYTES


@pytest.mark.parametrize("name", [path.name for path in SHIPPED])
def test_they_are_those_of_their_provenance(name: str) -> None:
    told = tomllib.loads((WEIGHTS / name).with_suffix(".provenance.toml").read_text("utf-8"))
    content = (WEIGHTS / name).read_bytes()
    assert told["sha256"] == hashlib.sha256(content).hexdigest()
    assert told["bytes"] == len(content)
    assert told["command"].startswith("arena train alphazero ")
    for key in ("seed", "steps", "seconds", "options", "data", "versions", "machine"):
        assert key in told


@pytest.mark.parametrize("name", [path.name for path in SHIPPED])
def test_they_judge_positions(name: str) -> None:
    game = make(spec_of_file(name))
    net = load_net(WEIGHTS / name, game)
    boards = np.random.default_rng(1).integers(0, 2, (64, net.planes, *game.shape)).astype(np.float32)
    logits, values = net(boards)
    assert np.isfinite(logits).all()
    assert np.abs(values).max() <= 1
    bot = make_bot(game, 1, {"weights": str(WEIGHTS / name), "simulations": "30"})
    for state in random_states(game, 20, seed=6):
        player = state.current_player
        wins = [action for action in state.legal_actions if state.child(action).returns[player] > 0]
        result = bot.play(state, Limit())
        assert result.action in (wins or state.legal_actions)


def test_connect_four_is_played_as_well_as_its_provenance_says() -> None:
    told = tomllib.loads((WEIGHTS / "connect-four-best.provenance.toml").read_text("utf-8"))
    bot = make_bot(make("connect-four"), 1, {"recipe": "best", "simulations": "0"})
    assert sample_quality(bot).is_told_by(told["quality"])


def test_six_by_six_is_won_by_moving_first() -> None:
    game = make("gomoku:k=4,size=6")
    bots = (
        make_bot(game, 1, {"recipe": "best", "simulations": "100"}),
        load_bot("mcts:playouts=200,selection=puct,rollouts=uniform,c_puct=5", game, seed=1),
    )
    # The bot moves first in every other match.
    won = [result.outcome for result in play_matches(game, bots, 9, seed=1)][::2]
    assert won == ["first"] * 5


def test_a_game_with_weights_needs_no_option() -> None:
    game = make(spec_of_file(SHIPPED[0].name))
    assert make_bot(game, 1, {}).play(game.initial_state(), Limit(nodes=10)).action in range(game.num_actions)
