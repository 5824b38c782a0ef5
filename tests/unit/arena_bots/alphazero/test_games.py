"""Actions of many matches at once, compared with the plain rules."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from arena.games.kernels.layout import layout_of, words_of
from arena_bots.alphazero.train.games import list_lasting
from brute_force import late_states
from game_samples import make
from plain_trees import random_states


@pytest.mark.parametrize("spec", ["connect-four", "gomoku:k=4,size=6", "tic-tac-toe"])
def test_an_action_lasts_if_it_is_legal_and_ends_nothing(spec: str) -> None:
    game = make(spec)
    layout = layout_of(game)
    assert layout is not None
    rng = Random(9)  # noqa: S311 - positions
    # The last positions of matches are added, because their only action fills the board.
    states = [*random_states(game, 200, seed=8), *late_states(game, rng, 60, 1)]
    words = np.array([words_of(state) for state in states], np.uint64)
    # The array is reused, so contents from an earlier position must not matter.
    lasting = np.ones((len(states), game.num_actions), np.bool_)
    list_lasting(words[:, 0].copy(), words[:, 1].copy(), layout, lasting)
    ends = {"won": 0, "full": 0}
    for state, found in zip(states, lasting.tolist(), strict=True):
        children = {action: state.child(action) for action in state.legal_actions}
        wanted = [a in children and not children[a].is_terminal for a in range(game.num_actions)]
        assert found == wanted
        ends["won"] += any(any(child.returns) for child in children.values())
        ends["full"] += any(child.is_terminal and not any(child.returns) for child in children.values())
    assert ends["won"] >= 20
    # Random matches on larger boards rarely fill them.
    assert ends["full"] >= 5 or spec != "tic-tac-toe"
