"""Every bundled search and `random` keep the contract, refuse bad options, and find immediate wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena_bots import mcts, minimax
from arena_bots import random as random_bot
from arena_plugins.conformance import assert_conforms, check_bot
from arena_plugins.contract import Limit
from arena_plugins.errors import OptionError
from arena_plugins.manager import load_bot
from game_samples import make

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from arena_bots.mcts import MctsBot
    from arena_bots.minimax import MinimaxBot
    from arena_bots.random import RandomBot
    from arena_plugins.contract import Bot, Game, State

    Maker = Callable[[Game, int, Mapping[str, str]], RandomBot | MinimaxBot | MctsBot]

BOTS = ("random", "minimax", "mcts")
SEARCHERS = ("minimax:depth=1", "minimax:depth=3", "mcts")


def after(game: Game, actions: Sequence[int]) -> State:
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    return state


def play_through(bot: Bot, game: Game, limit: Limit) -> list[int]:
    """Let the bot play both sides to the end."""
    state = game.initial_state()
    actions: list[int] = []
    while not state.is_terminal:
        actions.append(bot.play(state, limit).action)
        state = state.child(actions[-1])
    return actions


@pytest.mark.parametrize("game", ["connect-four", "gomoku:k=4,size=6", "tic-tac-toe"])
@pytest.mark.parametrize("bot", BOTS)
def test_keeps_the_contract(bot: str, game: str) -> None:
    assert_conforms(check_bot(bot, game, seconds=0.05, nodes=50))


@pytest.mark.parametrize("bot", BOTS)
def test_keeps_the_contract_in_a_game_of_others(bot: str, pile: Game) -> None:
    assert_conforms(check_bot(bot, pile, seconds=0.05, nodes=50))


@pytest.mark.parametrize("make_bot", [random_bot.make_bot, minimax.make_bot, mcts.make_bot])
def test_the_seed_decides_and_a_warm_bot_plays_as_a_fresh_one(make_bot: Maker) -> None:
    game, limit = make("connect-four"), Limit(nodes=60)
    played = [play_through(make_bot(game, seed, {}), game, limit) for seed in (1, 1, 2)]
    warm = make_bot(game, 2, {})
    play_through(warm, game, limit)
    warm.new_match(1)
    assert played[0] == played[1] == play_through(warm, game, limit)
    assert played[0] != played[2]


@pytest.mark.parametrize(
    ("spec", "actions", "winning"),
    [
        ("connect-four", (0, 1, 0, 1, 0, 1), 0),
        ("connect-four", (6, 0, 6, 0, 5, 0, 3), 0),
        ("gomoku:k=4,size=6", (0, 30, 1, 31, 2, 32), 3),
        ("tic-tac-toe", (0, 3, 1, 4), 2),
        ("tic-tac-toe", (0, 3, 1, 4, 8), 5),
    ],
)
@pytest.mark.parametrize("bot", SEARCHERS)
def test_takes_a_win_in_one(bot: str, spec: str, actions: tuple[int, ...], winning: int) -> None:
    game = make(spec)
    for seed in range(3):
        result = load_bot(bot, game, seed=seed).play(after(game, actions), Limit())
        assert result.action == winning
        assert result.pv == (winning,)
        assert result.value == 1


@pytest.mark.parametrize(
    ("spec", "actions", "blocking"),
    [
        ("connect-four", (0, 1, 0, 1, 0), 0),
        ("gomoku:k=4,size=6", (0, 30, 1, 31, 2), 3),
        ("tic-tac-toe", (0, 3, 1), 2),
    ],
)
@pytest.mark.parametrize("bot", SEARCHERS)
def test_blocks_a_loss_in_one(bot: str, spec: str, actions: tuple[int, ...], blocking: int) -> None:
    game = make(spec)
    for seed in range(3):
        assert load_bot(bot, game, seed=seed).play(after(game, actions), Limit()).action == blocking


@pytest.mark.parametrize(
    ("bot", "text"),
    [
        ("random:seed=1", 'random has no option "seed" (options: none)'),
        (
            "minimax:depht=3",
            'minimax has no option "depht"; did you mean "depth"? (options: depth, nodes, seconds)',
        ),
        ("minimax:depth=0", "minimax: depth=0 is not a whole number from 1 to 99"),
        ("minimax:depth=x", "minimax: depth=x is not a whole number from 1 to 99"),
        ("mcts:playouts=0", "mcts: playouts=0 is not a whole number from 1 to 1000000000"),
        ("mcts:seconds=0", "mcts: seconds=0 is not a number from 0.001 to 3600"),
        ("mcts:c=-1", "mcts: c=-1 is not a number from 0 to 100"),
        (
            "mcts:simulations=9",
            (
                'mcts has no option "simulations"; did you mean "selection"?'
                " (options: c, playouts, rollouts, seconds, selection, solver)"
            ),
        ),
    ],
)
def test_refuses_an_option_in_plain_words(bot: str, text: str) -> None:
    with pytest.raises(OptionError) as caught:
        load_bot(bot, make("tic-tac-toe"), seed=1)
    assert str(caught.value) == text
