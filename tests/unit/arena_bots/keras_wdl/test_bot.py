"""The bot `keras`: its answers, its options, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena_bots.keras_wdl.bot import RECIPES, KerasBot, make_bot
from arena_bots.keras_wdl.encoding import DRAW, LOSS, WIN, planes_of, worth_of
from arena_bots.keras_wdl.network import load_network
from arena_bots.keras_wdl.train.onnx_file import onnx_bytes
from arena_bots.keras_wdl.train.options import layers_of
from arena_plugins.contract import Limit
from arena_plugins.errors import OptionError, PluginError
from game_samples import make
from keras_nets import drawn_weights

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arena_plugins.contract import PlayResult, State

CONNECT_FOUR = make("connect-four")


def after(actions: Sequence[int], game: str = "connect-four") -> State:
    state = make(game).initial_state()
    for action in actions:
        state = state.child(action)
    return state


@pytest.fixture
def wild(tmp_path: Path) -> str:
    """Give a file of weights drawn by chance."""
    layers = layers_of("4c3 8")
    weights = drawn_weights(layers, CONNECT_FOUR.shape)
    (tmp_path / "wild.onnx").write_bytes(onnx_bytes(layers, weights, CONNECT_FOUR, is_averaged=False))
    return str(tmp_path / "wild.onnx")


@pytest.fixture
def blank(tmp_path: Path) -> str:
    """Give a file of weights for which all positions are worth the same."""
    weights = [np.zeros((84, 3), np.float32), np.zeros(3, np.float32)]
    (tmp_path / "blank.onnx").write_bytes(onnx_bytes((), weights, CONNECT_FOUR, is_averaged=True))
    return str(tmp_path / "blank.onnx")


def answer(weights: str, actions: Sequence[int], seed: int = 1) -> PlayResult:
    return make_bot(CONNECT_FOUR, seed, {"weights": weights}).play(after(actions), Limit())


def test_classes_are_loss_draw_win_and_a_draw_is_half_a_point() -> None:
    assert (LOSS, DRAW, WIN) == (0, 1, 2)
    chances = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.2, 0.6, 0.2]], np.float32)
    assert worth_of(chances) == pytest.approx([0, 0.5, 1, 0.5])


def test_planes_show_who_has_just_moved_first() -> None:
    planes = planes_of([after((3, 3, 0)), after((3, 3))], (6, 7))
    assert planes.shape == (2, 2, 6, 7)
    # Row 0 is on top. The first player has just put stones into columns 3 and 0.
    assert np.argwhere(planes[0, 0]).tolist() == [[5, 0], [5, 3]]
    assert np.argwhere(planes[0, 1]).tolist() == [[4, 3]]
    # The second player has just moved.
    assert np.argwhere(planes[1, 0]).tolist() == [[4, 3]]
    assert np.argwhere(planes[1, 1]).tolist() == [[5, 3]]


@pytest.mark.parametrize(("actions", "winning"), [((0, 1, 0, 1, 0, 1), 0), ((6, 0, 6, 0, 5, 0, 3), 0)])
def test_a_win_comes_first(actions: tuple[int, ...], winning: int, wild: str) -> None:
    result = answer(wild, actions)
    assert (result.action, result.value) == (winning, 1.0)


def test_it_takes_what_its_network_likes_best(wild: str) -> None:
    network = load_network(wild, CONNECT_FOUR)
    state = after((3, 2, 3, 0, 0))
    children = [state.child(action) for action in state.legal_actions]
    worth = worth_of(network.chances(planes_of(children, (6, 7)))).tolist()
    result = KerasBot(network, CONNECT_FOUR, 1).play(state, Limit())
    assert result.action == worth.index(max(worth))
    assert result.value == pytest.approx(2 * max(worth) - 1)


def test_ties_are_drawn_by_the_seed(blank: str) -> None:
    played = [answer(blank, (), seed).action for seed in range(40)]
    assert set(played) == set(range(7))
    assert played == [answer(blank, (), seed).action for seed in range(40)]
    bot = make_bot(CONNECT_FOUR, 99, {"weights": blank})
    bot.new_match(5)
    assert bot.play(after(()), Limit()).action == played[5]


def test_an_answer_says_what_it_is_worth(blank: str) -> None:
    result = answer(blank, (3, 3))
    assert result.policy == dict.fromkeys(range(7), pytest.approx(1 / 7))
    assert result.value == pytest.approx(0, abs=1e-6)
    assert (result.nodes, result.depth, result.pv) == (7, 0, (result.action,))


def test_the_last_cell_is_a_draw_or_a_win(blank: str) -> None:
    rows = [0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 2, 3, 2, 3, 2, 3, 3, 2, 3, 2, 3, 2]
    rest = [4, 5, 4, 5, 4, 5, 5, 4, 5, 4, 5, 4, 6, 6, 6, 6, 6]
    result = answer(blank, [*rows, *rest])
    assert (result.action, result.value) == (6, 0.0)


@pytest.mark.parametrize(
    ("game", "options", "complaint"),
    [
        ("connect-four:cols=8", {}, "no weights for connect-four:cols=8,k=4,rows=6 by recipe best"),
        ("gomoku", {}, "train some with arena train keras, and give them as weights=FILE"),
        ("connect-four", {"recipe": "bets"}, 'did you mean "best"'),
        ("connect-four", {"recipe": "best", "weights": "x"}, "recipe or weights, not both"),
        ("connect-four", {"depth": "3"}, 'keras has no option "depth"'),
    ],
)
def test_what_it_cannot_do_is_refused(game: str, options: dict[str, str], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        make_bot(make(game), 1, options)


def test_missing_weights_are_named() -> None:
    with pytest.raises(PluginError, match=r"nowhere\.onnx"):
        make_bot(CONNECT_FOUR, 1, {"weights": "nowhere.onnx"})


def test_recipes_are_told() -> None:
    assert RECIPES[0] == "best"
