"""The bot `keras`: its answers, its options, and what it refuses.

Weights of `keras`: what they give, and what is refused instead of them.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnx import TensorProto, helper

from arena_bots.keras_wdl.bot import RECIPES, KerasBot, load_network, make_bot
from arena_bots.keras_wdl.encoding import DRAW, LOSS, WIN, planes_of, worth_of
from arena_bots.keras_wdl.train.model import onnx_bytes
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
    """Return a file of random weights."""
    layers = layers_of("4c3 8")
    weights = drawn_weights(layers, CONNECT_FOUR.shape)
    (tmp_path / "wild.onnx").write_bytes(onnx_bytes(layers, weights, CONNECT_FOUR, is_averaged=False))
    return str(tmp_path / "wild.onnx")


@pytest.fixture
def blank(tmp_path: Path) -> str:
    """Return a file of weights for which all positions have the same value."""
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


GAME = make("connect-four")


def good(game: str = "connect-four", *, is_averaged: bool = False) -> bytes:
    """Return a small model with random weights."""
    layers = layers_of("4c3 8")
    return onnx_bytes(layers, drawn_weights(layers, make(game).shape), make(game), is_averaged=is_averaged)


def foreign(outputs: int = 3, **told: str) -> bytes:
    """Return a valid model that the project did not make: it sums the input planes."""
    nodes = [
        helper.make_node("ReduceSum", ["planes", "axes"], ["sum"], keepdims=0),
        helper.make_node("Tile", ["sum", "times"], ["chances"]),
    ]
    tensors = [
        helper.make_tensor("axes", TensorProto.INT64, [3], [1, 2, 3]),
        helper.make_tensor("times", TensorProto.INT64, [1], [outputs]),
    ]
    graph = helper.make_graph(
        nodes,
        "foreign",
        [helper.make_tensor_value_info("planes", TensorProto.FLOAT, ["batch", 2, 6, 7])],
        [helper.make_tensor_value_info("chances", TensorProto.FLOAT, ["all"])],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, told)
    return model.SerializeToString()


def archive() -> bytes:
    """Return a file as Keras saves it: an archive, here with a layer that would run code."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr("config.json", '{"class_name": "Lambda", "config": {"function": "rm"}}')
    return file.getvalue()


@pytest.mark.parametrize("is_averaged", [False, True])
def test_chances_are_chances(tmp_path: Path, *, is_averaged: bool) -> None:
    (tmp_path / "net.onnx").write_bytes(good(is_averaged=is_averaged))
    network = load_network(tmp_path / "net.onnx", GAME)
    planes = (np.random.default_rng(1).random((5, 2, 6, 7)) < 0.3).astype(np.float32)
    chances = network.chances(planes)
    assert chances.shape == (5, 3)
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-6)
    mirrored = network.chances(np.ascontiguousarray(planes[:, :, :, ::-1]))
    assert np.allclose(chances, mirrored, atol=1e-6) == is_averaged


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (pickle.dumps({"a": 1}), "a pickle, which runs code when it is read"),
        (archive(), "not an ONNX model but an archive, as NumPy, Keras and PyTorch write them"),
        (b"", "not an ONNX model but something else"),
        (b"\x08\x08" + b"\xff" * 40, "a damaged ONNX model"),
        (good()[: len(good()) // 2], "a damaged ONNX model"),
        (good("tic-tac-toe"), "weights for tic-tac-toe, not for connect-four:cols=7,k=4,rows=6"),
        (good("connect-four:cols=6"), "weights for connect-four:cols=6,k=4,rows=6, not for"),
        (foreign(), "contains no weights of keras; arena train keras creates some"),
        (foreign(bot="keras", game="connect-four:cols=7,k=4,rows=6"), "does not return probabilities"),
        (foreign(2, bot="keras", game="connect-four:cols=7,k=4,rows=6"), "cannot be evaluated"),
    ],
)
def test_what_is_no_such_network_is_refused(content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(content)
    with pytest.raises(PluginError, match=complaint) as caught:
        load_network(tmp_path / "net.onnx", GAME)
    assert "net.onnx" in str(caught.value)
    assert "\n" not in str(caught.value)
