"""The network for self-play in PyTorch, for devices that are fast in half precision."""

# PyTorch's type information is incomplete.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from typing_extensions import override

from arena_bots.alphazero.train.nets import ResidualBlock, Unit, deployed, expected

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from arena_bots.alphazero.train.nets import PolicyValueNet


_IMAGE = 4
"""Number of dimensions of a convolution's input."""


def halves(device: str) -> bool:
    """Return whether a device is faster in half precision than in single precision."""
    return device == "cuda" or bool(torch.cpu.get_capabilities().get("avx512_bf16"))


def spread_channels(net: nn.Module) -> None:
    """Store convolution weights with channels last, which is the fastest layout."""
    for weight in net.parameters():
        if weight.dim() == _IMAGE:
            weight.data = weight.data.contiguous(memory_format=torch.channels_last)


class FusedUnit(nn.Module):
    """A unit of a deployed network as one cuDNN call; PyTorch makes three calls, which take twice as long."""

    def __init__(self, unit: Unit) -> None:
        super().__init__()
        self.conv = unit.conv

    @override
    def forward(self, boards: torch.Tensor, added: torch.Tensor | None = None) -> torch.Tensor:
        weight, bias = self.conv.weight, self.conv.bias
        side = weight.shape[-1] // 2
        pads, ones = (side, side), (1, 1)
        if added is None:
            return torch.cudnn_convolution_relu(boards, weight, bias, ones, pads, ones, 1)
        return torch.cudnn_convolution_add_relu(boards, weight, added, 1.0, bias, ones, pads, ones, 1)


class FusedBlock(nn.Module):
    """A residual block as two fused cuDNN calls."""

    def __init__(self, block: ResidualBlock) -> None:
        super().__init__()
        self.first = FusedUnit(block.first)
        self.second = FusedUnit(block.second)

    @override
    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(boards), boards)


def _fused(net: PolicyValueNet) -> PolicyValueNet:
    """Return a deployed network whose trunk consists of fused cuDNN calls."""
    parts = [FusedBlock(part) if isinstance(part, ResidualBlock) else part for part in net.trunk]
    net.trunk = nn.Sequential(*(FusedUnit(part) if isinstance(part, Unit) else part for part in parts))
    return net


class _Judging(nn.Module):
    """A network with one output `[n, logits + 1]`: the logits, then the value."""

    def __init__(self, net: PolicyValueNet) -> None:
        super().__init__()
        self.net = net

    @override
    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        logits, value = self.net(boards)
        return torch.cat([logits.float(), expected(self.net, value.float())[:, None]], dim=1)


def _traced(net: _Judging, device: torch.device, kind: torch.dtype) -> Callable[[torch.Tensor], torch.Tensor]:
    """Trace the network into a single call, so that player threads need not wait for each other per layer."""
    shape = net.net.shape
    boards = torch.zeros(2, shape.planes, shape.rows, shape.columns, device=device, dtype=kind)
    with torch.inference_mode():
        return torch.jit.freeze(torch.jit.trace(net, boards.to(memory_format=torch.channels_last)))


class TorchNet:
    """A network for play on a device; implements `arena_bots.search.lockstep.batches.Net`."""

    def __init__(self, net: PolicyValueNet, device: str, *, is_half: bool) -> None:
        self.planes = net.shape.planes
        self._device = torch.device(device)
        self._type = torch.bfloat16 if is_half else torch.float32
        self._layout = torch.channels_last if is_half else torch.preserve_format
        plain = deployed(net)
        ready = _Judging(_fused(plain) if device == "cuda" else plain).to(self._device, self._type).eval()
        if is_half:
            spread_channels(ready)
        self._judge = _traced(ready, self._device, self._type) if device == "cuda" else ready

    def __call__(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Evaluate boards `[n, planes, rows, columns]`; return logits `[n, logits]` and values `[n]`."""
        with torch.inference_mode():
            boards = torch.from_numpy(planes).to(self._device, self._type, memory_format=self._layout)
            answers = self._judge(boards).cpu().numpy()
        return answers[:, :-1].copy(), answers[:, -1].copy()
