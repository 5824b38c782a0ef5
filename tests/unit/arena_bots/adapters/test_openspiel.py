from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import pytest

from arena_plugins.conformance import assert_conforms, check_bot
from arena_plugins.contract import Limit, Termination
from arena_plugins.errors import OptionError, PluginError
from arena_plugins.manager import load_bot, load_game

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.match import MatchResult
    from arena_plugins.contract import Game, State

    Play = Callable[..., list[MatchResult]]
    After = Callable[..., State]

MCTS = "openspiel:bot=mcts,simulations=200"


@pytest.mark.parametrize(
    "game", ["connect-four", "connect-four:cols=5,k=3,rows=4", "gomoku:k=4,size=6", "tic-tac-toe"]
)
@pytest.mark.parametrize("bot", ["openspiel:bot=random", "openspiel:simulations=50"])
def test_keeps_the_contract(bot: str, game: str) -> None:
    assert_conforms(check_bot(bot, game, seconds=0.05, nodes=50))


@pytest.mark.parametrize(
    ("spec", "actions", "winning"),
    [
        ("connect-four", (0, 1, 0, 1, 0, 1), 0),
        ("connect-four:cols=5,k=3,rows=4", (4, 0, 4, 0), 4),
        ("gomoku:k=4,size=6", (0, 30, 1, 31, 2, 32), 3),
        ("tic-tac-toe", (0, 3, 1, 4, 8), 5),
    ],
)
def test_it_sees_the_same_board(spec: str, actions: tuple[int, ...], winning: int, after: After) -> None:
    bot = load_bot("openspiel:simulations=2000", load_game(spec), seed=1)
    assert bot.play(after(load_game(spec), *actions), Limit()).action == winning


def test_the_random_bot_tells_its_policy() -> None:
    bot = load_bot("openspiel:bot=random", load_game("tic-tac-toe"), seed=1)
    result = bot.play(load_game("tic-tac-toe").initial_state(), Limit())
    assert result.policy == pytest.approx(dict.fromkeys(range(9), 1 / 9))


def test_limits_end_the_search() -> None:
    game = load_game("gomoku")
    bot = load_bot("openspiel:simulations=1000000000", game, seed=1)
    for limit in (Limit(seconds=0.05), Limit(nodes=20), Limit(seconds=0.0, nodes=1000)):
        assert bot.play(game.initial_state(), limit).action in range(225)


def test_simulations_end_the_search_long_before_the_time() -> None:
    game = load_game("tic-tac-toe")
    bot = load_bot("openspiel:simulations=100", game, seed=1)
    began = time.monotonic()
    bot.play(game.initial_state(), Limit(seconds=60.0))
    assert time.monotonic() - began < 30


def test_a_clock_that_runs_down_does_not_spoil_chance() -> None:
    """A new limit creates a new OpenSpiel bot, which must not repeat the random numbers of the one before."""
    game = load_game("gomoku")
    bot = load_bot("openspiel:bot=random", game, seed=1)
    state, drawn = game.initial_state(), set[float]()
    for number in range(12):
        action = bot.play(state, Limit(seconds=60.0 - number)).action
        drawn.add(state.legal_actions.index(action))
        state = state.child(action)
    assert len(drawn) > 8


def test_it_is_told_of_the_opponents_actions(after: After) -> None:
    """A bot that follows a match and one that starts in the middle are in the same state."""
    game = load_game("connect-four")
    follower, jumper = (load_bot(MCTS, game, seed=seed) for seed in (3, 3))
    first = follower.play(game.initial_state(), Limit()).action
    state = after(game, first, 3)
    assert follower.play(state, Limit()).action in state.legal_actions
    assert jumper.play(state, Limit()).action in state.legal_actions
    assert follower.play(after(game, first), Limit()).action in range(7)


@pytest.mark.parametrize("game", ["connect-four", "tic-tac-toe", "gomoku:k=4,size=6"])
def test_it_plays_matches(play: Play, game: str) -> None:
    results = play(MCTS, game=game, matches=2) + play("openspiel:bot=random", MCTS, game)
    assert [result.termination for result in results] == [Termination.RULES] * 3
    assert all(result.fault is None for result in results)


def test_games_it_does_not_play(pile: Game) -> None:
    for game, text in ((load_game("gomoku:exact=on"), "exact=off"), (pile, "not for pile")):
        with pytest.raises(PluginError, match=text):
            load_bot("openspiel", game, seed=1)


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="openspiel: bot=mtcs is not one of mcts, random"):
        load_bot("openspiel:bot=mtcs", load_game("tic-tac-toe"), seed=1)
    with pytest.raises(OptionError, match='no option "playouts"'):
        load_bot("openspiel:playouts=3", load_game("tic-tac-toe"), seed=1)


def test_without_openspiel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(PluginError, match=r"pip install 'bot-arena\[openspiel\]'"):
        load_bot("openspiel", load_game("tic-tac-toe"), seed=1)
