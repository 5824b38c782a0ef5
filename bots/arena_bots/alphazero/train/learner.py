"""The learning step: losses, optimiser, learning rate schedules, and an average of the weights."""

# PyTorch's type information is incomplete.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import copy
import io
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from arena_bots.alphazero.train.nets import PolicyValueNet, expected, new_net
from arena_bots.alphazero.train.torch_net import halves, spread_channels

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from numpy.typing import NDArray

    from arena_bots.alphazero.train.buffer import TrainingBatch
    from arena_bots.alphazero.train.nets import Design, Shape
    from arena_bots.alphazero.train.plan import LearnPlan

_BARRED = -1e4
"""Logit of illegal actions; representable in half precision."""
_CLIP = 5.0
"""Maximum norm of a gradient."""
# The values below are those of AlphaZero_Gomoku (J. Song), which the paper of the recipe `article` follows.
_TOO_FAR, _FAR, _NEAR = 4, 2, 0.5
"""Multiples of the wanted divergence: no further step is made, the rate falls, or it rises."""
_FACTOR = 1.5
"""Change of the learning rate after an update."""
_LEAST, _MOST = 0.1, 10
"""Bounds of the factor between the learning rate and that of the plan."""


class Losses(NamedTuple):
    """Mean values over a batch."""

    policy: float
    """Cross entropy between the network's policy and the search's policy."""
    value: float
    """Cross entropy of the chances, or squared error of the value."""
    entropy: float
    """Entropy of the network's policy over the legal actions."""


class Learner:
    """A network in training, the running average of its weights, and the state of its optimiser."""

    def __init__(self, plan: LearnPlan, design: Design, shape: Shape, seed: int, device: str) -> None:
        torch.set_num_threads(1)
        self._plan = plan
        self._device = torch.device(device)
        self._is_halved = plan.schedule != "kl" and halves(device)
        self.net = new_net(design, shape, seed).to(self._device)
        spread_channels(self.net)
        self._mean = copy.deepcopy(self.net)
        kind = torch.optim.Adam if plan.schedule == "kl" else torch.optim.AdamW
        self._optimiser = kind(self.net.parameters(), lr=plan.rate, weight_decay=plan.decay)
        # A lower number is a higher priority: updates go before the batches of players.
        self._queue = torch.cuda.Stream(self._device, priority=-1) if device == "cuda" else None
        self._multiplier = 1.0
        self._updates = 0

    @property
    def player(self) -> PolicyValueNet:
        """The network for play: the average of the weights if one is kept, otherwise the network itself."""
        return self._mean if self._plan.average else self.net

    @property
    def rate(self) -> float:
        """The current learning rate."""
        return float(self._optimiser.param_groups[0]["lr"])

    @property
    def device(self) -> str:
        """Name of the computing device, for the provenance."""
        return "cpu" if self._queue is None else torch.cuda.get_device_name(self._device)

    @contextmanager
    def alone(self) -> Generator[None]:
        """Use a separate stream of the device in the `with` block, so learning does not wait for players."""
        if self._queue is None:
            yield
            return
        with torch.cuda.stream(self._queue):
            yield
        self._queue.synchronize()

    def learn(self, batch: TrainingBatch, progress: float) -> Losses:
        """Make one update; `progress` is the finished share of the training, from 0 to 1."""
        plan = self._plan
        if plan.schedule == "kl":
            return self._adapt(batch)
        # From 1 to 0 along half a cosine; Loshchilov and Hutter, SGDR (2017).
        falling = (1 + math.cos(math.pi * min(progress, 1))) / 2
        self._set_rate(plan.rate_end + (plan.rate - plan.rate_end) * falling)
        losses, _policy = self._step(batch)
        self._follow()
        return losses

    def _adapt(self, batch: TrainingBatch) -> Losses:
        """Make several steps on one batch, fewer if the policy moves far; adapt the learning rate to that."""
        plan, moved = self._plan, 0.0
        self._set_rate(plan.rate * self._multiplier)
        before, losses = None, Losses(0, 0, 0)
        for _ in range(plan.epochs):
            losses, policy = self._step(batch)
            # The policy before the first step, which that step returns without another evaluation.
            before = policy if before is None else before
            with torch.no_grad():
                after = self._policy_of(batch)
                # The Kullback-Leibler divergence of the new policy from the one before the update.
                moved = float((before.exp() * (before - after)).sum(dim=1).mean())
            # The rule resembles the adaptive penalty of PPO (Schulman et al., 2017, section 4): a policy that
            # moves far makes the next steps shorter.
            if moved > _TOO_FAR * plan.kl:
                break
        if moved > _FAR * plan.kl:
            self._multiplier = max(self._multiplier / _FACTOR, _LEAST)
        elif moved < _NEAR * plan.kl:
            self._multiplier = min(self._multiplier * _FACTOR, _MOST)
        self._follow()
        return losses

    def _step(self, batch: TrainingBatch) -> tuple[Losses, torch.Tensor]:
        """Make one step; return its losses, and the policy's log-probabilities before it, `[n, logits]`."""
        self.net.train()
        legal, policies = self._tensor(batch.legal), self._tensor(batch.policies)
        weights, chances = self._tensor(batch.weights), self._tensor(batch.chances)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._is_halved):
            logits, value = self.net(self._tensor(batch.planes))
        logs = functional.log_softmax(logits.float().masked_fill(~legal, _BARRED), dim=1)
        policy_loss = -(policies * logs).sum(dim=1) @ weights / weights.sum().clamp(min=1)
        value_loss = self._value_loss(value.float(), chances)
        self._optimiser.zero_grad(set_to_none=True)
        loss = policy_loss + value_loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), _CLIP)
        self._optimiser.step()
        logs = logs.detach()
        entropy = -(logs.exp() * logs).sum(dim=1).mean()
        # Read together: each read waits until the device has finished.
        told = torch.stack([policy_loss.detach(), value_loss.detach(), entropy])
        return Losses._make(told.tolist()), logs

    def _value_loss(self, value: torch.Tensor, chances: torch.Tensor) -> torch.Tensor:
        if self.net.design.wdl:
            return -(chances * functional.log_softmax(value, dim=1)).sum(dim=1).mean()
        return functional.mse_loss(expected(self.net, value), chances[:, 0] - chances[:, 2])

    def _policy_of(self, batch: TrainingBatch) -> torch.Tensor:
        logits, _value = self.net(self._tensor(batch.planes))
        return functional.log_softmax(logits.masked_fill(~self._tensor(batch.legal), _BARRED), dim=1)

    def _follow(self) -> None:
        """Update the average of the weights, which follows quickly at the beginning."""
        self._updates += 1
        # Much as TensorFlow's ExponentialMovingAverage with `num_updates`: with the full share from the
        # start, the average would consist of untrained weights for a hundred updates.
        kept = min(self._plan.average, self._updates / (self._updates + 10))
        with torch.no_grad():
            now = self.net.state_dict()
            for name, mean in self._mean.state_dict().items():
                if mean.is_floating_point():
                    mean.lerp_(now[name], 1 - kept)
                else:
                    mean.copy_(now[name])

    def _set_rate(self, rate: float) -> None:
        for group in self._optimiser.param_groups:
            group["lr"] = rate

    def _tensor(self, array: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that `restore` needs."""
        file = io.BytesIO()
        states = {
            "net": self.net.state_dict(),
            "mean": self._mean.state_dict(),
            "optimiser": self._optimiser.state_dict(),
        }
        torch.save(states, file)
        return {
            "learner": np.frombuffer(file.getvalue(), np.uint8),
            "learner.numbers": np.array([self._multiplier, self._updates], np.float64),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore a snapshot."""
        file = io.BytesIO(arrays["learner"].tobytes())
        states = torch.load(file, map_location=self._device, weights_only=True)
        self.net.load_state_dict(states["net"])
        self._mean.load_state_dict(states["mean"])
        self._optimiser.load_state_dict(states["optimiser"])
        self._multiplier, self._updates = (
            float(arrays["learner.numbers"][0]),
            int(arrays["learner.numbers"][1]),
        )
