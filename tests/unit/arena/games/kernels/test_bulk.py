"""Random matches in bulk follow the plain rules, and all actions are equally likely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.games.kernels.bulk import random_matches
from game_samples import SPECS, make
from kernel_checks import Unusual
from pile_game import Pile

if TYPE_CHECKING:
    from arena_plugins.contract import Game


@pytest.mark.parametrize(
    ("spec", "count"), [*((spec, 300) for spec in SPECS), ("gomoku:size=26", 20), ("gomoku:k=5,size=7", 300)]
)
def test_every_match_is_one_by_the_plain_rules(spec: str, count: int) -> None:
    check_matches(make(spec), count)


def check_matches(game: Game, count: int) -> None:
    matches = random_matches(game, count, seed=1)
    assert matches.actions.shape == (count, game.max_length)
    for actions, length, outcome in zip(*matches, strict=True):
        state = game.initial_state()
        for action in actions[:length].tolist():
            state = state.child(action)
        assert state.is_terminal
        assert state.returns[0] == outcome
        assert not actions[length:].any()
    assert len({row.tobytes() for row in matches.actions}) > count // 2


def test_connect_four_ends_as_random_play_must() -> None:
    matches = random_matches(make("connect-four"), 200_000, seed=2)
    wins, draws = (np.count_nonzero(matches.outcomes == outcome) / 200_000 for outcome in (1, 0))
    # Five standard errors around 55.61 % and 0.26 %.
    assert abs(wins - 0.5561) < 0.0056
    assert abs(draws - 0.0026) < 0.0006
    assert abs(int(matches.lengths.sum()) / 200_000 - 21.32) < 0.1


def test_the_seed_decides() -> None:
    game = make("connect-four")
    one, same, other = (random_matches(game, 50, seed) for seed in (3, 3, 4))
    assert np.array_equal(one.actions, same.actions)
    assert not np.array_equal(one.actions, other.actions)
    # A smaller number of matches is the beginning of a larger one.
    assert np.array_equal(random_matches(game, 20, 3).actions, one.actions[:20])


def test_actions_take_two_bytes_where_one_is_too_few() -> None:
    assert random_matches(make("gomoku"), 1, 1).actions.dtype == np.uint8
    assert random_matches(make("gomoku:size=26"), 1, 1).actions.dtype == np.uint16


def test_a_game_without_kernels_is_played_state_by_state() -> None:
    check_matches(Unusual(), 30)


def test_what_cannot_be_played_is_refused() -> None:
    assert random_matches(make("tic-tac-toe"), 0, 1).actions.shape == (0, 9)
    with pytest.raises(ValueError, match="cannot play -1 matches; n is 0 or more"):
        random_matches(make("tic-tac-toe"), -1, 1)
    with pytest.raises(ValueError, match=r"a match of pile ended with -?0.5; outcomes are -1, 0 and 1"):
        random_matches(Pile(), 100, 1)
