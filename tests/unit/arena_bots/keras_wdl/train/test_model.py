from __future__ import annotations

import numpy as np
import pytest

from arena.games.kernels.bulk import random_matches
from arena_bots.keras_wdl.train.array_rules import ArrayRules
from arena_bots.keras_wdl.train.examples import drawn, from_games, merged
from arena_bots.keras_wdl.train.model import Classifier
from arena_bots.keras_wdl.train.options import Options
from arena_plugins.spec import OptionReader
from game_samples import make

RULES = ArrayRules(make("tic-tac-toe"))


@pytest.mark.parametrize("layers", ["32 16", "8v2 16"])
def test_it_learns_what_it_is_shown(layers: str) -> None:
    matches = random_matches(RULES.game, 300, 1)
    games = (matches.actions, matches.lengths.astype(int), matches.outcomes.astype(int))
    examples = merged(RULES, from_games(RULES, *games, with_ends=True))
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
