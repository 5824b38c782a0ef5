"""Numerical frameworks start and compute in a host, in the tier that untrusted bots get."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from arena.match import MatchSetup, play_match
from arena.referee.hosted import HostedSeat
from arena.referee.timecontrol import TimeControl
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.readable import python_readable
from arena.sandbox.resources import Resources
from arena.sandbox.tier import Tier, tiers_to_try
from arena_plugins.command import host_command, host_path
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from pathlib import Path

TIER = max(tier for tier in tiers_to_try() if tier <= Tier.T2)
GAME = load_game("tic-tac-toe")
CONTROL = TimeControl(mode="move", move_ms=60_000)
PLUGIN = """
from arena_plugins import PlayResult, hookimpl, load_onnx
from pathlib import Path

class Bot:
    def __init__(self, found):
        self.found = found

    def play(self, state, limit):
        return PlayResult(state.legal_actions[0], text=str(self.found))

@hookimpl
def make_bot(game, seed, options):
    {compute}
    return Bot(found)
"""
NUMPY = "import numpy; found = (numpy.arange(6.0).reshape(2, 3) @ numpy.ones((3, 2))).sum()"
ONNX = """
    import numpy, onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model = load_onnx(Path(__file__).with_name("model.onnx"))
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    found = session.run(None, {"x": numpy.full((1, 3), 5, numpy.float32)})[0].sum()
"""
TORCH = """
    import torch
    torch.set_num_threads(1)
    found = (torch.ones(2, 3) @ torch.ones(3, 5)).sum().item()
"""
TENSORFLOW = """
    import tensorflow
    found = float(tensorflow.reduce_sum(tensorflow.ones((2, 3)) @ tensorflow.ones((3, 5))))
"""


def seat(entry: str, folder: Path, *, procfs: bool = False) -> HostedSeat:
    path = [*host_path(), str(folder)]
    command = host_command(
        sys.executable,
        entry=entry,
        name="bot",
        version="1",
        options={},
        games={"tic-tac-toe": "arena.games.tic_tac_toe"},
        path=path,
    )
    readable = python_readable(tuple(path)).with_files([str(folder)])
    resources = Resources(procfs=procfs)
    return HostedSeat(
        ProcessSettings(command, tier=TIER, resources=resources, readable=readable), name="bot", version="1"
    )


def compute(folder: Path, code: str, *, procfs: bool = False) -> tuple[str | None, object]:
    """Let a bot compute when it starts; return its report and, if it failed, the evidence."""
    (folder / "counting.py").write_text(PLUGIN.format(compute=code.strip()))
    setup = MatchSetup(id="m1", labels=("A", "B"), seeds=(1, 2), controls=(CONTROL, CONTROL))
    with (
        closing(seat("counting", folder, procfs=procfs)) as bot,
        closing(seat("arena_bots.random", folder)) as opponent,
    ):
        result = play_match(GAME, (bot, opponent), setup)
    thoughts = result.infos[0] if result.infos else None
    return (None if thoughts is None else thoughts.text), result.fault


def test_numpy(tmp_path: Path) -> None:
    assert compute(tmp_path, NUMPY) == ("30.0", None)


def test_onnx_runtime(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    line = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", line[:1], line[1:])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)])
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    assert compute(tmp_path, ONNX) == ("30.0", None)


def test_torch(tmp_path: Path) -> None:
    assert compute(tmp_path, TORCH) == ("30.0", None)


@pytest.mark.slow
def test_tensorflow(tmp_path: Path) -> None:
    assert compute(tmp_path, TENSORFLOW, procfs=True) == ("30.0", None)
