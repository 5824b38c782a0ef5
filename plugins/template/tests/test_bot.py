"""Tests of the bot: the arena's conformance kit, and the behaviour that this bot promises."""

import pytest

from arena_plugins import Limit, assert_conforms, check_bot, load_bot, load_game


@pytest.mark.parametrize("game", ["tic-tac-toe", "connect-four", "gomoku:size=6,k=4"])
def test_it_conforms(game: str) -> None:
    assert_conforms(check_bot("template", game))


def test_it_takes_a_win() -> None:
    game = load_game("connect-four")
    state = game.initial_state()
    for move in "112233":
        state = state.child(game.parse_move(state, move))
    result = load_bot("template", game, seed=1).play(state, Limit(seconds=1.0))
    assert game.move(state, result.action) == "4"


def test_it_stops_a_win() -> None:
    game = load_game("connect-four")
    state = game.initial_state()
    for move in "17171":
        state = state.child(game.parse_move(state, move))
    result = load_bot("template", game, seed=1).play(state, Limit(seconds=1.0))
    assert game.move(state, result.action) == "1"
