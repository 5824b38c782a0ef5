from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.games.kernels.bulk import random_matches
from arena_bots.keras_wdl.bot import Network
from arena_bots.keras_wdl.encoding import worth_of
from arena_bots.keras_wdl.train.array_rules import ArrayRules
from arena_bots.keras_wdl.train.examples import GameArrays, drawn, from_games, merged
from arena_bots.keras_wdl.train.model import Classifier, onnx_bytes, rounded
from arena_bots.keras_wdl.train.options import Options
from arena_plugins.spec import OptionReader
from game_samples import make

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena_bots.keras_wdl.train.examples import Examples

RULES = ArrayRules(make("tic-tac-toe"))


@pytest.mark.parametrize("layers", ["32 16", "8v2 16"])
def test_it_learns_what_it_is_shown(layers: str) -> None:
    matches = random_matches(RULES.game, 300, 1)
    examples = merged(RULES, from_games(RULES, GameArrays.of(matches), with_ends=True))
    options = Options.read(OptionReader("test", {"layers": layers, "rate": "0.01", "average": "0.9"}))
    classifier = Classifier(options, RULES, seed=1)
    before, _ = classifier.loss(examples)
    rng = np.random.default_rng(1)
    losses = [
        classifier.fit(examples, drawn(examples, 6400, rng), 64, rng.integers(8, size=6400)) for _ in range(3)
    ]
    after, right = classifier.loss(examples)
    assert losses[0] > losses[1] > losses[2]
    assert after < before
    assert right > 60
    now = classifier.model.get_weights()
    assert not all(map(np.array_equal, classifier.weights(), now))


POSITIONS = 1000


def positions(rules: ArrayRules) -> Examples:
    matches = random_matches(rules.game, 400, 1)
    found = from_games(rules, GameArrays.of(matches))
    return found.take(slice(0, POSITIONS))


@pytest.mark.parametrize(
    ("spec", "layers"),
    [
        ("connect-four", "128v4 128 64"),
        ("connect-four", "16c3 8c4"),
        ("connect-four", "42 42"),
        ("gomoku:k=4,size=6", "64c2 8v4 128 64"),
        ("tic-tac-toe", "128 128 64"),
        ("tic-tac-toe", ""),
    ],
)
def test_the_file_answers_as_keras_does(spec: str, layers: str) -> None:
    game = make(spec)
    rules = ArrayRules(game)
    options = Options.read(OptionReader("test", {"layers": layers}))
    classifier = Classifier(options, rules, seed=1)
    weights: list[NDArray[np.float32]] = rounded(classifier.weights())
    classifier.model.set_weights(weights)
    found = positions(rules)
    assert len(found.mine) == POSITIONS
    content = onnx_bytes(options.layers, weights, game, is_averaged=False)
    network = Network(content, game, "test")
    planes = rules.planes(found.mine, found.other).transpose(0, 3, 1, 2)
    judged = worth_of(network.chances(planes))
    assert np.abs(judged - classifier.judge(found.mine, found.other)).max() < 1e-4
    assert content == onnx_bytes(options.layers, weights, game, is_averaged=False)
