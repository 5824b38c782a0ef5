"""`arena train keras`, small: playable weights, resumed runs, games from the store and from an export."""

from __future__ import annotations

import hashlib
import json
import tomllib
from typing import TYPE_CHECKING

import pytest

from command_line import FAST, CommandLine

if TYPE_CHECKING:
    from pathlib import Path

SMALL = (
    *("train", "keras", "layers=8c2 8", "games=200", "epochs=1", "per_epoch=500", "batch=100", "rounds=2"),
    *("round_games=20", "per_round=300", "opening=6", "proofs=0.3", "rivals=0.3", "average=0.9"),
    *("measured=20", "every=2", "--game", "tic-tac-toe", "--seed", 5),
)


@pytest.fixture
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine(tmp_path)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_run_ends_with_weights_that_play_and_say_where_they_come_from(arena: CommandLine) -> None:
    arena(*SMALL, "--out", "small.onnx", "--store")
    assert len(arena.objects("matches", "--unrated", "--limit", 100)) == 40
    told = tomllib.loads((arena.folder / "small.provenance.toml").read_text())
    assert told["sha256"] == digest(arena.folder / "small.onnx")
    assert told["data"]["matches"] == 200
    assert told["data"]["own_matches"] == 40
    assert told["data"]["source"] == "random play"
    lines = (arena.folder / "home" / "runs" / "keras-1" / "metrics.jsonl").read_text().splitlines()
    names = {json.loads(line)["name"] for line in lines}
    assert names == {
        "loss",
        "validation loss",
        "validation right %",
        "wins first vs random %",
        "wins second vs random %",
    }
    played = arena.lines("match", "keras:weights=small.onnx", "random", *FAST, "--rounds", "1")
    assert any(line.startswith("Score of keras:weights=small.onnx vs random") for line in played)
    refused = arena("match", "keras:weights=small.onnx", "random", "--game", "connect-four", status=5)
    assert "holds weights for tic-tac-toe, not for connect-four" in refused.stderr


def test_a_run_that_was_cut_short_goes_on_as_if_it_had_not_been(arena: CommandLine) -> None:
    arena(*SMALL, "--name", "whole")
    arena(*SMALL, "--name", "parts", "--budget", 0.001)
    runs = arena.folder / "home" / "runs"
    assert digest(runs / "parts" / "weights.onnx") != digest(runs / "whole" / "weights.onnx")
    refused = arena(*SMALL, "--game", "connect-four", "--from", "parts", status=2)
    assert "the checkpoint is of tic-tac-toe, not of connect-four" in refused.stderr
    other = ["train", "keras", "layers=8", *SMALL[3:]]
    refused = arena(*other, "--from", "parts", status=2)
    assert "begin with the same layers and optimizer" in refused.stderr
    arena("train", "--resume", "parts", "--budget", 1000)
    assert digest(runs / "parts" / "weights.onnx") == digest(runs / "whole" / "weights.onnx")


def test_it_learns_from_the_store_and_from_an_export(arena: CommandLine) -> None:
    few = ("train", "keras", "layers=8", "epochs=1", "per_epoch=100", "measured=0", "--game", "tic-tac-toe")
    arena("tournament", "random", "minimax:depth=2", *FAST, "--rounds", "20", "--srand", "1", "--quiet")
    arena(*few, "source=store", "--out", "stored.onnx")
    told = tomllib.loads((arena.folder / "stored.provenance.toml").read_text())
    assert (told["data"]["source"], told["data"]["matches"]) == ("store", 40)
    arena("export", "positions", "--format", "npz", "--split", "0.8", "--quiet")
    arena(*few, "--data", "positions", "--out", "exported.onnx")
    told = tomllib.loads((arena.folder / "exported.provenance.toml").read_text())
    assert (told["data"]["source"], told["data"]["matches"]) == ("export positions", 40)
    for words, complaint in (
        (("--data", "positions"), "positions holds tic-tac-toe, not connect-four"),
        (("source=store",), "the store holds no finished match of connect-four to learn from"),
    ):
        assert complaint in arena("train", "keras", *words, "--game", "connect-four", status=2).stderr
