"""Writes a trained classifier as an ONNX model with half precision weights."""

# onnx creates its message classes at run time, which no checker can follow.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

from arena_bots.keras_wdl.encoding import PLANES, full_spec
from arena_bots.keras_wdl.train.options import map_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from onnx import NodeProto

    from arena_bots.keras_wdl.train.options import HiddenLayer
    from arena_plugins.contract import Game

_OPSET = 17
_IR = 8
"""The IR version that belongs to the opset; every supported ONNX Runtime reads it."""


def onnx_bytes(
    layers: Sequence[HiddenLayer], weights: Sequence[NDArray[np.float32]], game: Game, *, is_averaged: bool
) -> bytes:
    """Return the ONNX file of a classifier.

    The model maps `planes`, `[batch, 2, rows, columns]`, to `chances`, `[batch, 3]`. Weights are stored in
    two bytes and computed with in four.

    Args:
        layers: the hidden layers.
        weights: Keras's weights, layer by layer, kernel before bias.
        game: the game.
        is_averaged: whether the bot is to average over all symmetric images of a position.
    """
    rows, columns = game.shape
    nodes: list[NodeProto] = []
    stored: list[NDArray[np.float16]] = []
    name = "planes"
    for number, (layer, kernel, bias) in enumerate(_by_layer(layers, weights, game.shape)):
        stored += [kernel.astype(np.float16), bias.astype(np.float16)]
        is_last = number == len(layers)
        if not (layer and layer.kernel) and (number == 0 or layers[number - 1].kernel):
            nodes.append(helper.make_node("Flatten", [name], ["flat"]))
            name = "flat"
        names = [f"kernel{number}", f"bias{number}"]
        nodes += [helper.make_node("Cast", [f"{one}h"], [one], to=TensorProto.FLOAT) for one in names]
        if layer and layer.kernel:
            edges = "SAME_UPPER" if layer.is_padded else "VALID"
            nodes.append(helper.make_node("Conv", [name, *names], [f"sum{number}"], auto_pad=edges))
        else:
            nodes.append(helper.make_node("Gemm", [name, *names], [f"sum{number}"]))
        name = "chances" if is_last else f"layer{number}"
        nodes.append(helper.make_node("Softmax" if is_last else "Relu", [f"sum{number}"], [name]))
    tensors = [
        numpy_helper.from_array(array, f"{kind}{number // 2}h")
        for number, (array, kind) in enumerate(
            zip(stored, ("kernel", "bias") * (len(layers) + 1), strict=True)
        )
    ]
    graph = helper.make_graph(
        nodes,
        "keras",
        [helper.make_tensor_value_info("planes", TensorProto.FLOAT, ["batch", PLANES, rows, columns])],
        [helper.make_tensor_value_info("chances", TensorProto.FLOAT, ["batch", 3])],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
    helper.set_model_props(
        model,
        {"bot": "keras", "game": full_spec(game), "images": "all" if is_averaged else "one"},
    )
    checker.check_model(model)
    return model.SerializeToString(deterministic=True)


def rounded(weights: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """Return weights rounded as they are in the file."""
    return [array.astype(np.float16).astype(np.float32) for array in weights]


def _by_layer(
    layers: Sequence[HiddenLayer], weights: Sequence[NDArray[np.float32]], shape: tuple[int, int]
) -> Iterator[tuple[HiddenLayer | None, NDArray[np.float32], NDArray[np.float32]]]:
    """Yield each layer (None for the last one) with its weights in ONNX's layout, channels first."""
    depth = PLANES
    has_map = True
    for number, layer in enumerate((*layers, None)):
        kernel, bias = weights[2 * number], weights[2 * number + 1]
        if layer and layer.kernel:
            yield layer, kernel.transpose(3, 2, 0, 1), bias
            depth = layer.units
            continue
        if has_map:
            # Keras flattens with channels last.
            kernel = (
                kernel.reshape(*map_shape(layers, shape), depth, -1)
                .transpose(2, 0, 1, 3)
                .reshape(kernel.shape)
            )
            has_map = False
        yield layer, kernel, bias
