"""Nets and their files: PyTorch and ONNX Runtime give the same answers for every architecture."""

# PyTorch leaves parts of its types unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import numpy as np
import pytest
import torch

from arena.games.notation import spec_of
from arena_bots.alphazero.network import OnnxNet
from arena_bots.alphazero.train.nets import Design, Shape, deployed, expected, new_net
from arena_bots.alphazero.train.onnx_file import to_onnx
from arena_bots.alphazero.train.torch_net import TorchNet
from arena_plugins.errors import PluginError
from game_samples import make

FORMS = [
    ("connect-four", Design("3x32", wdl=True), 3, 7),
    ("connect-four", Design("2x32", wdl=False), 2, 42),
    ("gomoku:k=4,size=6", Design("article", wdl=False), 4, 36),
    ("tic-tac-toe", Design("1x8", wdl=True), 3, 9),
]


@pytest.mark.parametrize(("spec", "design", "planes", "logits"), FORMS)
def test_the_file_says_what_the_net_says(spec: str, design: Design, planes: int, logits: int) -> None:
    game = make(spec)
    net = new_net(design, Shape(planes, *game.shape, logits), 1)
    rng = np.random.default_rng(1)
    boards = rng.integers(0, 2, (1000, planes, *game.shape)).astype(np.float32)
    net.train()
    with torch.no_grad():
        # Other statistics than 0 and 1, so that folding the normalisation changes weights.
        net(torch.from_numpy(boards[:200]) * 2)
    model = to_onnx(net, str(spec_of(game)))
    policy, value = OnnxNet(model, game)(boards)
    plain = deployed(net)
    with torch.no_grad():
        wanted, said = plain(torch.from_numpy(boards))
    assert np.abs(policy - wanted.numpy()).max() < 1e-4
    assert np.abs(value - expected(plain, said).numpy()).max() < 1e-4
    assert np.abs(value).max() <= 1
    for ours, theirs in zip((policy, value), TorchNet(net, "cpu", is_half=False)(boards), strict=True):
        assert np.abs(ours - theirs).max() < 1e-4
    assert len(model) < 2 * sum(weight.numel() for weight in plain.parameters()) + 10_000


@pytest.mark.parametrize(("spec", "design", "planes", "logits"), FORMS)
def test_rounding_and_folding_change_little(spec: str, design: Design, planes: int, logits: int) -> None:
    game = make(spec)
    net = new_net(design, Shape(planes, *game.shape, logits), 1).eval()
    boards = torch.from_numpy(
        np.random.default_rng(2).integers(0, 2, (50, planes, *game.shape)).astype(np.float32)
    )
    with torch.no_grad():
        for one, other in zip(net(boards), deployed(net)(boards), strict=True):
            assert (one - other).abs().max() < 1e-2


def test_the_papers_net_has_its_size() -> None:
    net = new_net(Design("article", wdl=False), Shape(4, 6, 6, 36), 1)
    assert sum(weight.numel() for weight in net.parameters()) == 104_267


def test_the_seed_decides_the_first_weights() -> None:
    nets = [new_net(Design("1x4", wdl=True), Shape(3, 3, 3, 9), seed) for seed in (1, 1, 2)]
    first, same, other = (to_onnx(net, "tic-tac-toe") for net in nets)
    assert first == same != other


def test_a_model_of_another_form_is_refused() -> None:
    net = new_net(Design("1x4", wdl=True), Shape(3, 3, 3, 8), 1)
    with pytest.raises(
        PluginError, match="does not accept boards of this game, or does not return a policy and a value"
    ):
        OnnxNet(to_onnx(net, "tic-tac-toe"), make("tic-tac-toe"))
