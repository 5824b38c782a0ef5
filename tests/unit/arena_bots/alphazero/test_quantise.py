"""Quantised nets: nearly the same answers, in half the bytes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena_bots.alphazero.bot import WEIGHTS, make_bot
from arena_bots.alphazero.network import OnnxNet
from arena_bots.alphazero.train import integers, quantise
from arena_plugins.contract import Limit
from game_samples import make

if TYPE_CHECKING:
    from pathlib import Path

NETS = [
    ("connect-four-article-selfplay", "connect-four"),
    ("gomoku-k4-size6-article", "gomoku:k=4,size=6"),
    ("tic-tac-toe-best", "tic-tac-toe"),
]


@pytest.mark.parametrize(("name", "spec"), NETS)
def test_it_says_nearly_the_same(name: str, spec: str) -> None:
    game, model = make(spec), (WEIGHTS / f"{name}.onnx").read_bytes()
    small = integers.quantised(model)
    whole, exact = OnnxNet(small, game), OnnxNet(model, game)
    boards = np.random.default_rng(1).integers(0, 2, (200, whole.planes, *game.shape)).astype(np.float32)
    for told, wanted in zip(whole(boards), exact(boards), strict=True):
        assert np.abs(told - wanted).mean() < 0.2 * wanted.std()
        assert (told != wanted).any()


def test_the_seed_decides_all() -> None:
    """Only the smallest net is tested: the others take seconds of CPU."""
    model = (WEIGHTS / "tic-tac-toe-best.onnx").read_bytes()
    assert integers.quantised(model) == integers.quantised(model)


def test_the_file_is_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, out = WEIGHTS / "gomoku-k4-size6-best.onnx", tmp_path / "small.onnx"
    monkeypatch.setattr(sys, "argv", ["quantise", str(file), str(out)])
    quantise.main()
    assert out.stat().st_size < 0.7 * file.stat().st_size
    game = make("gomoku:k=4,size=6")
    bot = make_bot(game, 1, {"weights": str(out), "simulations": "4"})
    assert bot.play(game.initial_state(), Limit()).action in range(game.num_actions)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("alphazero/weights/missing", "missing.onnx"),
        ("alphazero/weights/connect-four-best", "this network is already quantised"),
        ("keras_wdl/weights/connect-four-best", "the net was trained for"),
    ],
)
def test_other_files_are_refused(
    name: str,
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = WEIGHTS.parent.parent / f"{name}.onnx"
    monkeypatch.setattr(sys, "argv", ["quantise", str(file), str(tmp_path / "small.onnx")])
    with pytest.raises(SystemExit):
        quantise.main()
    assert complaint in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_without_onnx_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setattr(sys, "argv", ["quantise", "a.onnx", "b.onnx"])
    with pytest.raises(SystemExit):
        quantise.main()
    assert "quantise needs onnx: pip install 'bot-arena[train-torch]'" in capsys.readouterr().err
