"""Random, untrained weights for networks of `keras`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena_bots.keras_wdl.train.options import map_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arena_bots.keras_wdl.train.options import HiddenLayer


def drawn_weights(
    layers: Sequence[HiddenLayer], shape: tuple[int, int], seed: int = 1
) -> list[NDArray[np.float32]]:
    """Draw weights as Keras lays them out, kernel and bias of each layer and of the last one."""
    rng = np.random.default_rng(seed)
    weights: list[NDArray[np.float32]] = []
    rows, columns = map_shape(layers, shape)
    cells, depth = rows * columns, 2
    for layer in (*layers, None):
        if layer and layer.kernel:
            sides = (layer.kernel, layer.kernel, depth, layer.units)
        else:
            sides = (cells * depth, layer.units if layer else 3)
            cells = 1
        depth = sides[-1]
        weights += [
            rng.normal(0, 0.3, sides).astype(np.float32),
            rng.normal(0, 0.1, depth).astype(np.float32),
        ]
    return weights
