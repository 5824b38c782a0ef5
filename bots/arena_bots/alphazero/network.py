"""The network for play: an ONNX model, run by ONNX Runtime on one thread."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.games.notation import spec_of
from arena.games.symmetry import mirror_symmetries
from arena_bots.search.lockstep.batches import PLANES
from arena_plugins.errors import PluginError
from arena_plugins.weights import load_onnx

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from arena_plugins.contract import Game

MAX_BYTES = 1 << 25
"""Maximum size of a weights file in bytes; the shipped ones have at most 3 MB."""
GAME = "game"
"""Key in the model's metadata that names the game it was trained for."""
_AXES = 4
"""Number of axes of the input: batch, planes, rows, columns."""


class OnnxNet:
    """A policy-value network in its own session; implements `arena_bots.search.lockstep.batches.Net`."""

    def __init__(self, model: bytes, game: Game) -> None:
        """Create a session.

        Raises:
            PluginError: the model is not a network for `game`.
        """
        # ONNX Runtime has no type information.
        onnxruntime: Any = import_module("onnxruntime")
        options = onnxruntime.SessionOptions()
        # With two threads beside a busy process it was a hundred times slower; see
        # docs/reference/performance.md.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            # ONNX Runtime's exceptions have no other common base class.
            raise PluginError(f"ONNX Runtime refuses the model: {error}") from error
        self._run = session.run
        taken, given = session.get_inputs(), session.get_outputs()
        trained_for = session.get_modelmeta().custom_metadata_map.get(GAME, "")
        if trained_for != str(spec_of(game)):
            raise PluginError(f'the net was trained for "{trained_for}", not for {spec_of(game)}')
        shape: list[object] = taken[0].shape if len(taken) == 1 else []
        names = [output.name for output in given]
        sizes = {game.num_actions, game.shape[0] * game.shape[1]}
        planes = shape[1] if len(shape) == _AXES and tuple(shape[2:]) == game.shape else None
        if planes not in PLANES or names != ["policy", "value"] or given[0].shape[-1] not in sizes:
            raise PluginError(
                "the model does not accept boards of this game, or does not return a policy and a value"
            )
        self.planes = int(str(planes))
        self._name: str = taken[0].name

    def __call__(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Evaluate boards `[n, planes, rows, columns]`; return logits `[n, logits]` and values `[n]`."""
        logits, values = self._run(None, {self._name: planes})
        return logits, values


class MirroredNet:
    """A network that evaluates each board and its mirror image, and returns the mean of both."""

    def __init__(self, net: OnnxNet, game: Game) -> None:
        self.planes = net.planes
        self._net = net
        rows, columns = game.shape
        cells, actions = mirror_symmetries(rows, columns)[1]
        self._images = {len(cells): np.array(cells), len(actions): np.array(actions)}

    def __call__(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Evaluate boards `[n, planes, rows, columns]`; return logits `[n, logits]` and values `[n]`."""
        n = len(planes)
        logits, values = self._net(np.concatenate([planes, planes[..., ::-1]]))
        image = logits[n:, self._images[logits.shape[1]]]
        half = np.float32(0.5)
        return half * (logits[:n] + image), half * (values[:n] + values[n:])


def load_net(path: str | Path, game: Game) -> MirroredNet:
    """Read a network for play.

    Raises:
        PluginError: the file is missing or damaged, or is not a network for `game`.
    """
    try:
        return MirroredNet(OnnxNet(load_onnx(path, max_bytes=MAX_BYTES), game), game)
    except PluginError as error:
        text = str(error)
        raise PluginError(text if str(path) in text else f"{path}: {text}") from error
