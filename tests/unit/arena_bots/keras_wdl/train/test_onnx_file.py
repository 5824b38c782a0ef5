from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.games.kernels.bulk import random_matches
from arena_bots.keras_wdl.encoding import worth_of
from arena_bots.keras_wdl.network import Network
from arena_bots.keras_wdl.train.array_rules import ArrayRules
from arena_bots.keras_wdl.train.examples import from_games
from arena_bots.keras_wdl.train.model import Classifier
from arena_bots.keras_wdl.train.onnx_file import onnx_bytes, rounded
from arena_bots.keras_wdl.train.options import Options
from arena_plugins.spec import OptionReader
from game_samples import make

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena_bots.keras_wdl.train.examples import Examples

POSITIONS = 1000


def positions(rules: ArrayRules) -> Examples:
    matches = random_matches(rules.game, 400, 1)
    found = from_games(rules, matches.actions, matches.lengths.astype(int), matches.outcomes.astype(int))
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
