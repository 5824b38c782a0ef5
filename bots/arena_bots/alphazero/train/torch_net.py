"""The net of self-play in PyTorch: on a device that computes quickly in half precision."""

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
"""Dimensions of what convolutions take."""


def halves(device: str) -> bool:
    """Tell whether a device computes faster in half precision than in single."""
    return device == "cuda" or bool(torch.cpu.get_capabilities().get("avx512_bf16"))


def spread_channels(net: PolicyValueNet) -> None:
    """Lay the weights of convolutions out with channels last: they are fastest so."""
    for weight in net.parameters():
        if weight.dim() == _IMAGE:
            weight.data = weight.data.contiguous(memory_format=torch.channels_last)


class TorchNet:
    """A net as it plays, on a device; see `arena_bots.search.lockstep.batches.Net`."""

    def __init__(self, net: PolicyValueNet, device: str, *, is_half: bool) -> None:
        self.planes = net.shape.planes
        self._device = torch.device(device)
        self._type = torch.bfloat16 if is_half else torch.float32
        self._net = deployed(net).to(self._device, self._type)
        if is_half:
            spread_channels(self._net)

    def __call__(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Judge boards; `[n, planes, rows, columns]` gives `[n, logits]` and `[n]`."""
        with torch.inference_mode():
            boards = torch.from_numpy(planes).to(self._device, self._type)
            logits, value = self._net(boards)
            worth = expected(self._net, value.float())
            return logits.float().cpu().numpy(), worth.cpu().numpy()
