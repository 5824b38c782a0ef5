"""The trainer of `alphazero`: every recipe at a small size; exact resumption; refused options."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from typing import TYPE_CHECKING

import pytest

from arena.training import metrics
from arena.training.training_matches import play
from arena_bots.alphazero.bot import make_bot
from arena_plugins.contract import Limit
from command_line import CommandLine
from game_samples import make

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {
    "best": (
        "net=1x4 lanes=4 moves=6 simulations=6 small=3 batch=16 steps=4 test_every=2 test_matches=4"
        " rival_matches=4 test_simulations=2 opponent=random window_most=500 window_least=50"
    ),
    "gpu": (
        "device=cpu threads=2 net=1x4 lanes=4 moves=12 simulations=6 small=3 batch=16 steps=3 test_every=0"
        " window_most=500 window_least=50"
    ),
    "article": (
        "lanes=2 moves=12 simulations=5 batch=8 steps=3 test_every=2 test_matches=2 test_simulations=2"
        " rival_matches=2 opponent=random reuse=5"
    ),
    "article-selfplay": (
        "net=1x4 lanes=3 simulations=6 batch=16 steps=3 test_every=2 test_matches=4 opponent=random"
    ),
}
"""Options that make each recipe a matter of seconds."""


@pytest.fixture
def arena(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "home" / "runs"


def words(recipe: str, *more: object) -> list[object]:
    return ["train", "alphazero", *SMALL[recipe].split(), "--recipe", recipe, "--quiet", *more]


@pytest.mark.parametrize("recipe", SMALL)
def test_a_run_that_is_cut_in_two_ends_with_the_same_weights(
    arena: CommandLine, runs: Path, recipe: str
) -> None:
    arena(*words(recipe, "--name", "whole"))
    arena(*words(recipe, "--name", "cut", "--budget", 1e-9))
    arena("train", "--resume", "cut", "--budget", 1000, "--quiet")
    told = tomllib.loads((runs / "cut" / "weights.provenance.toml").read_text())
    assert (told["is_complete"], told["resumed_from_step"]) == (True, 1)
    assert told["data"]["matches"] > 0
    # The seed of a measurement depends on the name of the run, because the name is part of the path of the
    # weights.
    whole, parts = (
        [
            (figure.step, figure.name, figure.value)
            for figure in metrics.read(runs / name)
            if not figure.name.startswith("score vs")
        ]
        for name in ("whole", "cut")
    )
    assert whole == parts
    names = {name for _step, name, _value in whole}
    assert {"loss", "policy loss", "value loss", "entropy", "rate", "positions", "matches"} <= names
    assert (runs / "whole" / "weights.onnx").read_bytes() == (runs / "cut" / "weights.onnx").read_bytes()


@pytest.mark.parametrize("recipe", ["article", "article-selfplay"])
def test_its_weights_are_entered(arena: CommandLine, runs: Path, recipe: str) -> None:
    arena(*words(recipe, "--name", "r", "--store"))
    run = runs / "r"
    game = make(
        tomllib.loads((run / "weights.provenance.toml").read_text())["game"].replace(
            "size=6,k=4", "k=4,size=6"
        )
    )
    bot = make_bot(game, 1, {"weights": str(run / "weights.onnx"), "simulations": "4"})
    assert bot.play(game.initial_state(), Limit()).action in range(game.num_actions)
    assert "train-r-1" in str(arena.objects("show", "train-r-1"))


def test_players_in_processes_and_in_threads_play_the_same(arena: CommandLine, runs: Path) -> None:
    in_threads = words("gpu")
    in_processes = ["processes=2" if word == "threads=2" else word for word in in_threads]
    for name, call in (("one", in_processes), ("two", in_processes), ("three", in_threads)):
        arena(*call, *(["threads=1"] if call is in_processes else []), "--name", name)
    one, two, three = ((runs / name / "weights.onnx").read_bytes() for name in ("one", "two", "three"))
    assert one == two == three


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("net=4by48",), "net=4by48 is neither article nor BLOCKSxFILTERS"),
        (("lanes=5", "processes=2"), "lanes=5 cannot be shared among processes=2"),
        (("lanes=5", "threads=2"), "lanes=5 cannot be shared among threads=2"),
        (("processes=2", "threads=2"), "players are processes or threads; give one of the two"),
        (("device=cuda", "processes=2", "lanes=4"), "with device=cuda one process plays"),
        (("search=uct",), "search=uct is not one of gumbel, puct, table"),
        (("simulation=5",), 'has no option "simulation"; did you mean "simulations"?'),
    ],
)
def test_options_are_refused(
    arena: CommandLine, tmp_path: Path, options: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "empty.toml").write_text("")
    said = arena("train", "alphazero", *options, "--recipe", tmp_path / "empty.toml", status=2).stderr
    assert complaint in " ".join(said.split())


def test_another_game_is_refused(arena: CommandLine) -> None:
    said = arena(*words("best", "--game", "gomoku"), status=2).stderr
    assert "alphazero learns connect-four, gomoku:k=4,size=6, tic-tac-toe, not gomoku" in " ".join(
        said.split()
    )


def test_a_killed_run_goes_on_and_leaves_no_player(arena: CommandLine, runs: Path, tmp_path: Path) -> None:
    endless = [word.replace("steps=4", "steps=500") for word in map(str, words("best"))]
    call = [*endless, "processes=2", "--name", "k"]
    code = f"from arena.cli.main import main; main({call})"
    home = {**os.environ, "ARENA_HOME": str(tmp_path / "home"), "ARENA_DB": str(tmp_path / "arena.db")}
    with subprocess.Popen([sys.executable, "-c", code], env=home, stdout=subprocess.PIPE) as process:  # noqa: S603 # our own
        while not [figure for figure in metrics.read(runs / "k") if figure.name == "loss"]:
            assert process.poll() is None
            # Without a pause the loop would take seconds of CPU, and slow down the run.
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        # The player processes have the same output pipe, so its end shows that they have ended.
        process.communicate(timeout=60)
    arena("train", "--resume", "k", "--budget", 1e-9, "--quiet")
    assert (runs / "k" / "weights.onnx").exists()


def test_it_learns_tic_tac_toe(arena: CommandLine, runs: Path) -> None:
    few = (
        "net=1x16 lanes=64 moves=5 simulations=16 small=8 steps=30 batch=128 reuse=6 window_least=3000"
        " test_every=0"
    )
    call = ["train", "alphazero", *few.split(), "--game", "tic-tac-toe", "--seed", 1, "--name", "t"]
    arena(*call, "--quiet")
    figures = [figure.value or 0 for figure in metrics.read(runs / "t") if figure.name == "policy loss"]
    assert figures[-1] < figures[0] - 0.2
    # With a fixed seed: that of --evaluate depends on the path of the weights, which is new in each run.
    spec = f"alphazero:weights={runs / 't' / 'weights.onnx'}"
    measured, _ = play(make("tic-tac-toe"), (spec, "random"), 100, plies=2, seed=1)
    # Random openings of two plies: a few of them are lost for the second player.
    assert measured.first[2] + measured.second[2] <= 3
