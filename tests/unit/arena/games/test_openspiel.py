"""Equality with OpenSpiel, move by move, on random matches; the script used here plays many more."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[4] / "benchmarks" / "openspiel_equality.py"


@pytest.fixture(scope="module")
def script() -> Any:  # noqa: ANN401 # a module loaded by its path
    spec = importlib.util.spec_from_file_location("openspiel_equality", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("game", "matches"),
    [
        ("connect-four", 300),
        ("connect-four:cols=9,k=3,rows=5", 100),
        ("tic-tac-toe", 300),
        ("gomoku", 60),
        ("gomoku:k=4,size=6", 300),
        ("gomoku:k=3,size=9", 100),
    ],
)
def test_matches_are_as_in_openspiel(script: Any, game: str, matches: int) -> None:  # noqa: ANN401
    comparison = script.compare(game, matches, seed=3)
    assert comparison.mismatches == []
    assert sum(comparison.results.values()) == matches
    assert comparison.plies > matches


def test_a_difference_is_found(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401
    def five_instead_of_four(_game: object) -> str:
        return "gomoku(size=6,connect=5)"

    monkeypatch.setattr(script, "opponent_name", five_instead_of_four)
    comparison = script.compare("gomoku:k=4,size=6", 20, seed=3)
    assert any(text.startswith("is_terminal after [") for text in comparison.mismatches)


def test_exact_lines_are_not_openspiels(script: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match="overlines"):
        script.compare("gomoku:exact=on", 1, seed=1)


def test_the_script_prints_one_json_line(script: Any, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ANN401
    assert script.main(["--game", "tic-tac-toe", "--matches", "5"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["matches"] == 5
    assert printed["mismatches"] == []
