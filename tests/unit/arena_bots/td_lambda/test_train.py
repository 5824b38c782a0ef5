"""The trainer of `td-lambda`: its weights can enter a tournament; exact resumption; refused options."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from arena.training import metrics
from arena_bots.td_lambda.bot import make_bot
from arena_plugins import load_arrays
from arena_plugins.contract import Limit
from command_line import CommandLine
from game_samples import make

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {
    "best": ("tuples=8", "length=5", "games=600", "batch=20"),
    "linear": ("games=400", "batch=20"),
    "article": ("games=400", "batch=20"),
}
"""Options that make each recipe a matter of a second."""


@pytest.fixture
def arena(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "home" / "runs"


@pytest.mark.parametrize("recipe", SMALL)
def test_a_run_that_is_cut_in_two_ends_with_the_same_weights(
    arena: CommandLine, runs: Path, recipe: str
) -> None:
    arena("train", "td-lambda", *SMALL[recipe], "--recipe", recipe, "--name", "whole", "--quiet")
    cut = ("--recipe", recipe, "--name", "cut", "--quiet", "--budget", 1e-9)
    arena("train", "td-lambda", *SMALL[recipe], *cut)
    arena("train", "--resume", "cut", "--budget", 1000, "--quiet")
    whole, parts = ((runs / name / "weights.npz").read_bytes() for name in ("whole", "cut"))
    assert whole == parts
    told = tomllib.loads((runs / "cut" / "weights.provenance.toml").read_text())
    assert (told["is_complete"], told["resumed_from_step"]) == (True, 1)
    assert "self-play" in told["data"]["source"]
    for name in ("whole", "cut"):
        figures = [figure for figure in metrics.read(runs / name) if figure.name == "loss"]
        assert figures[-1].step == told["steps"]
        assert all(figure.value is not None and 0 < figure.value < 1 for figure in figures)


@pytest.mark.parametrize("recipe", SMALL)
def test_its_weights_are_entered_and_better_than_chance(arena: CommandLine, runs: Path, recipe: str) -> None:
    words = ("train", "td-lambda", *SMALL[recipe], "--recipe", recipe, "--name", "r", "--quiet")
    said = arena.lines(*words, "--evaluate", "random", "--matches", 60)
    [measured] = tomllib.loads((runs / "r" / "weights.provenance.toml").read_text())["measured"]
    assert measured["first_wins"] + measured["second_wins"] > 45
    assert " % of 60 matches; first " in said[0]
    weights = runs / "r" / "weights.npz"
    assert {array.dtype.kind for array in load_arrays(weights).values()} <= {"i", "u", "f", "b"}
    game = make("connect-four")
    bot = make_bot(game, 1, {"weights": str(weights)})
    assert bot.play(game.initial_state(), Limit()).action in range(7)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("value=net",), "value=net is not one of tuples, linear"),
        (("tuples=0",), "tuples=0 is not a whole number from 1 to 400"),
        (("value=linear", "tuples=5"), 'has no option "tuples"'),
        (("alpha=0",), "alpha=0 is not a number"),
    ],
)
def test_options_are_refused(
    arena: CommandLine, tmp_path: Path, options: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "empty.toml").write_text("")
    said = arena("train", "td-lambda", *options, "--recipe", tmp_path / "empty.toml", status=2).stderr
    assert complaint in said


def test_another_game_is_refused_and_leaves_no_run(arena: CommandLine, runs: Path) -> None:
    said = arena("train", "td-lambda", "--game", "tic-tac-toe", status=2).stderr
    assert "td-lambda learns connect-four on 6 rows and 7 columns, not tic-tac-toe" in said
    assert list(runs.iterdir()) == []
