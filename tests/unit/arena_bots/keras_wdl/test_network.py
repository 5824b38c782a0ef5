"""Weights of `keras`: what they give, and what is refused instead of them."""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnx import TensorProto, helper

from arena_bots.keras_wdl.network import load_network
from arena_bots.keras_wdl.train.onnx_file import onnx_bytes
from arena_bots.keras_wdl.train.options import layers_of
from arena_plugins.errors import PluginError
from game_samples import make
from keras_nets import drawn_weights

if TYPE_CHECKING:
    from pathlib import Path

GAME = make("connect-four")


def good(game: str = "connect-four", *, is_averaged: bool = False) -> bytes:
    """Give a small model with weights drawn by chance."""
    layers = layers_of("4c3 8")
    return onnx_bytes(layers, drawn_weights(layers, make(game).shape), make(game), is_averaged=is_averaged)


def foreign(outputs: int = 3, **told: str) -> bytes:
    """Give a sound model of somebody else: it adds up planes."""
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
    """Give what Keras saves: an archive, here with a layer that would run code."""
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
