"""The network of `keras`: an ONNX model, run by ONNX Runtime on one thread."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from arena_bots.keras_wdl.encoding import PLANES, full_spec, images_of
from arena_plugins.errors import PluginError
from arena_plugins.weights import load_onnx

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from arena_plugins.contract import Game

MAX_BYTES = 1 << 25
"""Maximum size of a weights file in bytes; the shipped ones have 3 MB together."""
_CLASSES = 3
_SILENT = 4
"""Log level of ONNX Runtime that suppresses messages; problems with a model are raised as exceptions."""
_NEAR = 1e-3
"""Tolerance for the sum of the class probabilities."""


class Network:
    """Predicts the chances of loss, draw and win for the player who has just moved."""

    def __init__(self, content: bytes, game: Game, source: str) -> None:
        """Load a model from bytes; `source` names it in error messages.

        Raises:
            PluginError: it is not a model of `keras`, is for another game, or is damaged.
        """
        self._session = _session(content, source)
        told: dict[str, str] = self._session.get_modelmeta().custom_metadata_map
        if told.get("bot") != "keras":
            raise PluginError(f"{source} contains no weights of keras; arena train keras creates some")
        wanted = full_spec(game)
        if told.get("game") != wanted:
            raise PluginError(f"{source} holds weights for {told.get('game')}, not for {wanted}")
        self._images = images_of(game) if told.get("images") == "all" else images_of(game)[:1]
        self._shape = (PLANES, *game.shape)
        self._check(source)

    def chances(self, planes: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the chances of positions with one call, `[n, 2, rows, columns]` to `[n, 3]`.

        A network trained on all symmetric images of positions is evaluated on all of them, and the mean is
        returned.
        """
        count, images = len(planes), len(self._images)
        flat = planes.reshape(count, PLANES, -1)
        turned = flat[:, :, self._images].transpose(2, 0, 1, 3) if images > 1 else flat
        batch = np.ascontiguousarray(turned).reshape(images * count, *self._shape)
        answer: NDArray[np.float32] = self._session.run(["chances"], {"planes": batch})[0]
        return answer.reshape(images, count, _CLASSES).mean(axis=0)

    def _check(self, source: str) -> None:
        """Evaluate an empty board as a test.

        Raises:
            PluginError: the result is not a set of probabilities.
        """
        planes = np.zeros((2, *self._shape), np.float32)
        try:
            chances = self.chances(planes)
        except Exception as error:
            # A broken model can raise any exception.
            raise PluginError(f"{source} cannot be evaluated: {_first_line(error)}") from error
        if not np.allclose(chances.sum(axis=1), 1, atol=_NEAR) or (chances < 0).any():
            raise PluginError(f"{source} does not return probabilities: {chances[0].tolist()}")


def load_network(path: str | Path, game: Game) -> Network:
    """Read a weights file.

    Raises:
        PluginError: the file is missing or damaged, or is not for this bot and game.
    """
    return Network(load_onnx(path, max_bytes=MAX_BYTES), game, str(path))


def _session(content: bytes, source: str) -> Any:  # noqa: ANN401 - ONNX Runtime has no types
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _SILENT
    # The arena allocator reserves memory in advance, which counts against the sandbox's limit.
    options.enable_cpu_mem_arena = False
    try:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        # ONNX Runtime's exceptions have no common base class.
        raise PluginError(f"{source} is a damaged ONNX model: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
