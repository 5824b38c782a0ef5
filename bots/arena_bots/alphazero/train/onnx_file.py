"""Writes a network as ONNX with half precision weights and single precision arithmetic, and reads it.

PyTorch's own exporter takes seconds and needs another library, for a dozen kinds of nodes here; self-play
gets a new file after each step of training.
"""

# onnx has incomplete type information.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from arena_bots.alphazero.network import GAME
from arena_bots.alphazero.train.nets import PolicyValueNet, ResidualBlock, Unit, deployed
from arena_plugins.errors import PluginError

if TYPE_CHECKING:
    from torch import nn

    from arena_bots.alphazero.train.nets import Design, Shape

_OPSET = 17
_IR = 8
"""The IR version of ONNX 1.12, which ONNX Runtime reads since 2022."""


def to_onnx(net: PolicyValueNet, game: str) -> bytes:
    """Return the ONNX file of a network; `game` is the spec stored in its metadata."""
    plain, shape = deployed(net), net.shape
    graph = _Graph()
    seen = "boards"
    for part in plain.trunk:
        seen = graph.block(part, seen) if isinstance(part, ResidualBlock) else graph.unit(_unit(part), seen)
    policy = graph.node("Flatten", graph.unit(plain.policy_unit, seen))
    graph.dense(plain.policy, policy, "policy")
    value = graph.node("Flatten", graph.unit(plain.value_unit, seen))
    hidden = graph.node("Relu", graph.dense(plain.hidden, value))
    graph.result(graph.dense(plain.value, hidden), wdl=net.design.wdl)
    single = TensorProto.FLOAT
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "alphazero",
            [helper.make_tensor_value_info("boards", single, ["batch", *shape[:3]])],
            [
                helper.make_tensor_value_info("policy", single, ["batch", shape.logits]),
                helper.make_tensor_value_info("value", single, ["batch"]),
            ],
            graph.weights,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
    )
    helper.set_model_props(model, {GAME: game})
    return bytes(model.SerializeToString())


def from_onnx(model: bytes, design: Design, shape: Shape) -> PolicyValueNet:
    """Return the network of a file of `to_onnx`, as `deployed` returns it: the weights are exactly the same.

    Raises:
        PluginError: the file has other weights than such a network.
    """
    plain = deployed(PolicyValueNet(design, shape))
    graph = onnx.load_from_string(model).graph
    weights = [
        numpy_helper.to_array(each) for each in graph.initializer if each.data_type == TensorProto.FLOAT16
    ]
    # Modules are registered in the order in which `to_onnx` writes them.
    places = list(plain.parameters())
    if [each.shape for each in weights] != [tuple(each.shape) for each in places]:
        raise PluginError(f"the weights of the network are not those of {design.trunk}")
    with torch.no_grad():
        for place, weight in zip(places, weights, strict=True):
            place.copy_(torch.from_numpy(weight.astype(np.float32)))
    return plain


def _unit(part: nn.Module) -> Unit:
    if not isinstance(part, Unit):
        raise TypeError(part)
    return part


class _Graph:
    """The nodes and weights of a graph, in order of creation."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def node(self, kind: str, *taken: str, name: str = "", **attributes: Any) -> str:  # noqa: ANN401 # as in ONNX
        """Add a node; return the name of its output."""
        given = name or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, taken, [given], **attributes))
        return given

    def weight(self, tensor: torch.Tensor) -> str:
        """Add a half precision weight and the node that widens it, which is evaluated once at loading."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(tensor.detach().numpy().astype(np.float16), name))
        return self.node("Cast", name, to=TensorProto.FLOAT)

    def unit(self, unit: Unit, taken: str) -> str:
        """Add a convolution and its activation."""
        side = unit.conv.kernel_size[0] // 2
        bias = unit.conv.bias
        if bias is None:
            raise ValueError("a net that plays has no normalisation, so biases")
        out = self.node("Conv", taken, self.weight(unit.conv.weight), self.weight(bias), pads=[side] * 4)
        return self.node("Relu", out) if unit.relu else out

    def block(self, block: ResidualBlock, taken: str) -> str:
        """Add a residual block."""
        return self.node(
            "Relu", self.node("Add", taken, self.unit(block.second, self.unit(block.first, taken)))
        )

    def dense(self, layer: nn.Linear, taken: str, name: str = "") -> str:
        """Add a dense layer."""
        return self.node(
            "Gemm", taken, self.weight(layer.weight), self.weight(layer.bias), name=name, transB=1
        )

    def result(self, out: str, *, wdl: bool) -> None:
        """Add the nodes that turn the last layer into a value."""
        if wdl:
            worth = numpy_helper.from_array(np.array([1, 0, -1], np.float32), "worth")
            self.weights.append(worth)
            self.node("MatMul", self.node("Softmax", out, axis=1), "worth", name="value")
        else:
            axis = numpy_helper.from_array(np.array([1], np.int64), "axis")
            self.weights.append(axis)
            self.node("Squeeze", self.node("Tanh", out), "axis", name="value")
