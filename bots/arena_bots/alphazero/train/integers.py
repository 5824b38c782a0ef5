"""Quantises a network to 8-bit integers: half the size, faster on processors with integer dot products."""

# onnx and ONNX Runtime have incomplete type information.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

import logging
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from typing_extensions import override

from arena.games.kernels.layout import layout_of
from arena.games.notation import spec_of
from arena_bots.alphazero.network import GAME, OnnxNet
from arena_bots.alphazero.train.buffer import PositionEncoder
from arena_bots.alphazero.train.plan import TrainingPlan
from arena_bots.alphazero.train.selfplay import SelfPlay
from arena_plugins.errors import PluginError
from arena_plugins.manager import load_game
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from arena_plugins.contract import Game

_BATCH = 128
_PLAY = {"simulations": "16", "full_share": "1", "opening_plies": "24", "moves": "30"}
"""Settings of the self-play that provides calibration positions: some hundred short matches."""


def quantised(model: bytes, seed: int = 1) -> bytes:
    """Quantise the file of a network made by `to_onnx`.

    Activations have 8 bits and a range measured on positions of self-play. Weights have 7 bits and a range
    per filter, because processors without the newest instructions add products in 16 bits, which products of
    two 8-bit numbers would overflow.

    Raises:
        PluginError: the file is not such a network, or is already quantised.
    """
    plain = _widened(onnx.load_from_string(model))
    if any(node.op_type.startswith("QLinear") for node in plain.graph.node):
        raise PluginError("this network is already quantised")
    game = load_game({entry.key: entry.value for entry in plain.metadata_props}.get(GAME, ""))
    with TemporaryDirectory() as folder:
        before, after = Path(folder, "before.onnx"), Path(folder, "after.onnx")
        onnx.save(plain, before)
        with _no_advice():
            quantize_static(
                before,
                after,
                _Positions(_positions(game, OnnxNet(model, game), seed)),
                quant_format=QuantFormat.QOperator,
                op_types_to_quantize=["Conv", "Add", "Relu"],
                per_channel=True,
                reduce_range=True,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
            )
        made = onnx.load(after)
    helper.set_model_props(made, {GAME: str(spec_of(game))})
    return bytes(made.SerializeToString())


@contextmanager
def _no_advice() -> Generator[None]:
    """Suppress ONNX Runtime's advice to optimise the model first; it contains nothing to remove."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


class _Positions(CalibrationDataReader):
    """Positions, in the batches used for measuring the range of activations."""

    def __init__(self, boards: NDArray[np.float32]) -> None:
        parts = np.array_split(boards, max(1, len(boards) // _BATCH))
        self._batches = [{"boards": part} for part in parts]

    @override
    def get_next(self) -> dict[str, NDArray[np.float32]]:
        return self._batches.pop() if self._batches else {}


def _positions(game: Game, net: OnnxNet, seed: int) -> NDArray[np.float32]:
    """Play matches and return their positions as network input."""
    plan = TrainingPlan.read(OptionReader("quantise", _PLAY)).fitted(game)
    player = SelfPlay(game, net, plan.play, plan.lanes)
    samples = player.go_on(net, player.lanes, np.random.default_rng(seed)).samples
    layout = layout_of(game)
    if layout is None:
        raise AssertionError
    painter = PositionEncoder(game, layout, net.planes, by_cell=False)
    return painter.paint(samples, np.zeros(len(samples.own), np.int64)).planes


def _widened(model: onnx.ModelProto) -> onnx.ModelProto:
    """Replace half precision weights, and the nodes that widen them, by single precision weights."""
    graph = model.graph
    casts = {node.input[0]: node for node in graph.node if node.op_type == "Cast"}
    for weight in graph.initializer:
        if weight.data_type == TensorProto.FLOAT16:
            wide = numpy_helper.to_array(weight).astype(np.float32)
            weight.CopyFrom(numpy_helper.from_array(wide, casts[weight.name].output[0]))
    for node in casts.values():
        graph.node.remove(node)
    return model
