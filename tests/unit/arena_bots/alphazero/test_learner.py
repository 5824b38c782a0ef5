"""Losses of the learner, compared with their formulas in NumPy, and the average of its weights."""

# PyTorch's type information is incomplete.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from arena_bots.alphazero.train.buffer import TrainingBatch
from arena_bots.alphazero.train.learner import Learner
from arena_bots.alphazero.train.nets import Design, Shape
from arena_bots.alphazero.train.plan import TrainingPlan
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHAPE = Shape(planes=2, rows=3, columns=3, logits=9)
NUM = 6


def made(*, wdl: bool, **options: str) -> Learner:
    """Return a learner that makes one step per batch in single precision."""
    plan = TrainingPlan.read(OptionReader("a test", {"schedule": "kl", "epochs": "1", **options}))
    return Learner(plan.learn, Design("article", wdl=wdl), SHAPE, 1, "cpu")


def batch() -> TrainingBatch:
    rng = np.random.default_rng(1)
    legal = rng.random((NUM, 9)) < 0.7
    legal[:, 0] = True
    policies = rng.random((NUM, 9)) * legal
    policies /= policies.sum(axis=1, keepdims=True)
    return TrainingBatch(
        rng.random((NUM, 2, 3, 3)).astype(np.float32),
        legal,
        policies.astype(np.float32),
        np.array([1, 0, 1, 1, 0, 1], np.float32),
        rng.dirichlet([1, 1, 1], NUM).astype(np.float32),
    )


def logs_of(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("wdl", [True, False])
def test_losses_are_their_formulas(wdl: bool) -> None:  # noqa: FBT001 # a parameter
    learner, shown = made(wdl=wdl), batch()
    with torch.no_grad():
        logits, value = (out.double().numpy() for out in learner.net(torch.from_numpy(shown.planes)))
    losses = learner.learn(shown, 0.0)
    logs = logs_of(np.where(shown.legal, logits, -1e4))
    # A policy of weight 0, from a small search, is not learnt, and does not reduce the weight of others.
    crossed = -(shown.policies * np.where(shown.legal, logs, 0)).sum(axis=1)
    assert losses.policy == pytest.approx((crossed * shown.weights).sum() / shown.weights.sum(), rel=1e-4)
    if wdl:
        wanted = -(shown.chances * logs_of(value)).sum(axis=1).mean()
    else:
        wanted = ((value[:, 0] - (shown.chances[:, 0] - shown.chances[:, 2])) ** 2).mean()
    assert losses.value == pytest.approx(wanted, rel=1e-4)
    entropy = -(np.exp(logs) * np.where(shown.legal, logs, 0)).sum(axis=1).mean()
    assert losses.entropy == pytest.approx(entropy, rel=1e-4)


@pytest.mark.parametrize("wdl", [True, False])
@pytest.mark.parametrize("result", [1, -1])
def test_values_move_towards_results(wdl: bool, result: int) -> None:  # noqa: FBT001 # a parameter
    learner = made(wdl=wdl, rate="0.01")
    chances = np.zeros((NUM, 3), np.float32)
    chances[:, 1 - result] = 1
    shown = batch()._replace(chances=chances)

    def valued() -> NDArray[np.float32]:
        with torch.no_grad():
            value = learner.net(torch.from_numpy(shown.planes))[1]
            shares = torch.softmax(value, dim=1) if wdl else value
        return (shares[:, 0] - shares[:, 2] if wdl else shares[:, 0]).numpy()

    before = valued()
    for _ in range(5):
        learner.learn(shown, 0.0)
    assert (result * (valued() - before) > 0).all()


def test_the_average_follows_quickly_at_the_beginning() -> None:
    learner = made(wdl=True, average="0.99")
    before = copy.deepcopy(learner.net.state_dict())
    learner.learn(batch(), 0.0)
    after, mean = learner.net.state_dict(), learner.player.state_dict()
    name = "value.bias"
    assert not torch.equal(before[name], after[name])
    # The first update keeps 1 / (1 + 10) of the value before it.
    assert mean[name].numpy() == pytest.approx((before[name] / 11 + 10 * after[name] / 11).numpy(), rel=1e-5)
    alone = made(wdl=True, average="0")
    assert alone.player is alone.net
