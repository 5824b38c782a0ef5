"""The commands of the lesson on training a net, as they are written, with smaller numbers."""

from __future__ import annotations

import re
import shlex
import tomllib
from typing import TYPE_CHECKING

import pytest

from arena.home import open_store
from arena_db.records import MatchFilter
from command_line import CommandLine
from source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "tutorials" / "train-your-first-net.md"
SMALLER = (
    ("--rounds 1000", "--rounds 40"),
    ("--rounds 50", "--rounds 4"),
    ("--matches 200", "--matches 4"),
    ("train keras", "train keras layers=16 epochs=2 per_epoch=2000 measured=0"),
)
"""What is written there, and what is run here."""


@pytest.fixture
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine(tmp_path)


def commands() -> list[str]:
    """Give the commands of the page, in order, with smaller numbers."""
    text = PAGE.read_text(encoding="utf-8")
    for written, run in SMALLER:
        assert written in text, f"{PAGE.name} no longer says {written}"
        text = text.replace(written, run)
    return re.findall(r"^\$ arena (.*)$", text, re.MULTILINE)


def test_the_way_of_the_lesson(arena: CommandLine) -> None:
    said = {words: arena(*shlex.split(words)).output for words in commands()}
    train, leaderboard = (
        next(text for words, text in said.items() if words.startswith(name))
        for name in ("train", "leaderboard")
    )
    assert "% of 4 matches; first " in train
    assert "keras:weights=first-net.onnx" in leaderboard
    told = tomllib.loads((arena.folder / "first-net.provenance.toml").read_text(encoding="utf-8"))
    assert (told["data"]["source"], told["data"]["matches"]) == ("export lessons", 80)
    with open_store(str(arena.db), read_only=True) as store:
        exam = store.matches(MatchFilter(tournament="exam"), limit=1000)
    assert len(exam) == 3 * 4 * 2
    assert {match.termination for match in exam} == {"rules"}
