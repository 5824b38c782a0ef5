"""The net of self-play on a graphics processor: PyTorch, thousands of boards at once."""

# PyTorch leaves parts of its types unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from arena_bots.alphazero.train.nets import deployed, expected

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from arena_bots.alphazero.train.nets import PolicyValueNet


_IMAGE = 4
"""Dimensions of what convolutions take; it is fastest with channels last."""


class TorchNet:
    """A net as it plays, on a device; see `arena_bots.search.lockstep.batches.Net`."""

    def __init__(self, net: PolicyValueNet, device: str) -> None:
        self.planes = net.shape.planes
        self._device = torch.device(device)
        self._type = torch.bfloat16 if self._device.type == "cuda" else torch.float32
        self._net = deployed(net).to(self._device, self._type)
        if self._device.type == "cuda":
            for weight in self._net.parameters():
                if weight.dim() == _IMAGE:
                    weight.data = weight.data.contiguous(memory_format=torch.channels_last)

    def __call__(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Judge boards; `[n, planes, rows, columns]` gives `[n, logits]` and `[n]`."""
        with torch.inference_mode():
            boards = torch.from_numpy(planes).to(self._device, self._type)
            logits, value = self._net(boards)
            worth = expected(self._net, value.float())
            return logits.float().cpu().numpy(), worth.cpu().numpy()
