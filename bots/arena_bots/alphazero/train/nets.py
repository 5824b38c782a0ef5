"""Policy-value networks in PyTorch: the paper's architecture, and residual networks."""

# PyTorch's type information is incomplete.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import copy
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Sequence

HIDDEN = 64
"""Number of units between the value head's convolution and its output."""


class Shape(NamedTuple):
    """The input and output sizes of a network."""

    planes: int
    rows: int
    columns: int
    logits: int
    """Number of outputs of the policy head: one per action, or per cell with the option `cells`."""


class Design(NamedTuple):
    """The architecture of a network."""

    trunk: str
    """`article`: three convolutions with 32, 64 and 128 filters; `BxF`: B residual blocks with F filters."""
    wdl: bool
    """Whether the value head predicts chances of a win, a draw and a loss; otherwise a number, by tanh."""

    @property
    def is_article(self) -> bool:
        """Whether it is the paper's architecture."""
        return self.trunk == "article"

    @property
    def width(self) -> int:
        """Number of filters of a residual network; 0 for the paper's."""
        return 0 if self.is_article else int(self.trunk.split("x")[1])


class Unit(nn.Module):
    """A convolution with optional batch normalisation and activation."""

    def __init__(self, taken: int, given: int, size: int, *, norm: bool, relu: bool = True) -> None:
        super().__init__()
        self.conv = nn.Conv2d(taken, given, size, padding=size // 2, bias=not norm)
        self.norm = nn.BatchNorm2d(given) if norm else None
        self.relu = relu

    @override
    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        out = self.conv(boards)
        if self.norm is not None:
            out = self.norm(out)
        return torch.relu(out) if self.relu else out

    def folded(self) -> Unit:
        """Return an equivalent unit without normalisation, folded into the convolution as for inference."""
        unit = Unit(
            self.conv.in_channels,
            self.conv.out_channels,
            self.conv.kernel_size[0],
            norm=False,
            relu=self.relu,
        )
        weight, bias = self.conv.weight.detach(), self.conv.bias
        # The norm is linear once its statistics are fixed: weights take its scale, and its shift becomes the
        # bias, which a unit with a norm does not have.
        if self.norm is None:
            shift = torch.zeros(len(weight)) if bias is None else bias.detach()
        else:
            mean, spread = self.norm.running_mean, self.norm.running_var
            if mean is None or spread is None:
                raise AssertionError
            scale = self.norm.weight.detach() / torch.sqrt(spread + self.norm.eps)
            weight = weight * scale[:, None, None, None]
            shift = self.norm.bias.detach() - mean * scale
        unit.conv.load_state_dict({"weight": weight, "bias": shift})
        return unit


class ResidualBlock(nn.Module):
    """A residual block of two convolutions; He et al., Deep residual learning (2016)."""

    def __init__(self, first: Unit, second: Unit) -> None:
        super().__init__()
        self.first = first
        self.second = second

    @override
    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        return torch.relu(boards + self.second(self.first(boards)))


class PolicyValueNet(nn.Module):
    """Evaluates boards `[n, planes, rows, columns]`; returns policy logits `[n, logits]` and a value output.

    The value output is `[n, 3]`, logits of win, draw and loss for the side to move, or `[n, 1]` in [-1, 1].
    """

    def __init__(self, design: Design, shape: Shape) -> None:
        super().__init__()
        self.design = design
        self.shape = shape
        if design.is_article:
            # The net of AlphaZero_Gomoku (J. Song), which the article uses.
            widths: Sequence[int] = (shape.planes, 32, 64, 128)
            self.trunk = nn.Sequential(
                *(Unit(taken, given, 3, norm=False) for taken, given in pairwise(widths))
            )
            width, norm = widths[-1], False
            policy_planes, value_planes = 4, 2
        else:
            blocks, width = map(int, design.trunk.split("x"))
            norm = True
            stem = Unit(shape.planes, width, 3, norm=True)
            self.trunk = nn.Sequential(stem, *(_new_block(width) for _ in range(blocks)))
            policy_planes, value_planes = 4, 4
        cells = shape.rows * shape.columns
        self.policy_unit = Unit(width, policy_planes, 1, norm=norm)
        self.policy = nn.Linear(policy_planes * cells, shape.logits)
        self.value_unit = Unit(width, value_planes, 1, norm=norm)
        self.hidden = nn.Linear(value_planes * cells, HIDDEN)
        self.value = nn.Linear(HIDDEN, 3 if design.wdl else 1)

    @override
    def forward(self, boards: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen = self.trunk(boards)
        policy = self.policy(self.policy_unit(seen).flatten(1))
        value = self.value(torch.relu(self.hidden(self.value_unit(seen).flatten(1))))
        return policy, value if self.design.wdl else torch.tanh(value)


def expected(net: PolicyValueNet, value: torch.Tensor) -> torch.Tensor:
    """Convert a value output, `[n, 3]` or `[n, 1]`, to expected results in [-1, 1]; `[n]`."""
    if not net.design.wdl:
        return value[:, 0]
    chances = torch.softmax(value, dim=1)
    return chances[:, 0] - chances[:, 2]


def new_net(design: Design, shape: Shape, seed: int) -> PolicyValueNet:
    """Make a network; its initial weights depend only on `seed`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return PolicyValueNet(design, shape)


def deployed(net: PolicyValueNet) -> PolicyValueNet:
    """Return the network for play: normalisation folded into convolutions, half precision weights."""
    plain = copy.deepcopy(net).cpu().float().eval()
    plain.policy_unit, plain.value_unit = plain.policy_unit.folded(), plain.value_unit.folded()
    plain.trunk = nn.Sequential(*(_folded(part) for part in plain.trunk))
    with torch.no_grad():
        for weight in plain.parameters():
            weight.copy_(weight.half().float())
    return plain.eval()


def _folded(part: nn.Module) -> nn.Module:
    if isinstance(part, ResidualBlock):
        return ResidualBlock(part.first.folded(), part.second.folded())
    if isinstance(part, Unit):
        return part.folded()
    raise TypeError(part)


def _new_block(width: int) -> ResidualBlock:
    return ResidualBlock(Unit(width, width, 3, norm=True), Unit(width, width, 3, norm=True, relu=False))
