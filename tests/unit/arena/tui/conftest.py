"""A store with played tournaments for the tests of screens."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.css.stylesheet import Stylesheet

import quiescence
from command_line import FAST, CommandLine
from once import copy_of, make_once

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.css.model import RuleSet

RECORDED = Path(__file__).parents[1] / "live" / "recorded_runs"
BOTS = ("random", "minimax:depth=1", "minimax:depth=2", "mcts:playouts=20")


@pytest.fixture(scope="package", autouse=True)
def quiet_pilots() -> Iterator[None]:
    """Make pilots wait until an app is idle: by default they guess from the processor time."""
    with pytest.MonkeyPatch.context() as patch:
        quiescence.install(patch)
        yield


@pytest.fixture(scope="package", autouse=True)
def style_sheets_parsed_once() -> Iterator[None]:
    """Parse the style sheets of each widget once per theme for all apps: a dashboard parses about fifty.

    Textual uses parsed rules again within an app, and forgets them with it.
    """
    parse = Stylesheet._parse_rules  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # no public way
    parsed: dict[tuple[object, ...], list[RuleSet]] = {}

    def parse_once(sheet: Stylesheet, css: str, *given: Any, **named: Any) -> list[RuleSet]:  # noqa: ANN401 # handed on
        variables = frozenset(sheet._variables.items())  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # colours of the theme
        key = (variables, css, given, frozenset(named.items()))
        if key not in parsed:
            parsed[key] = parse(sheet, css, *given, **named)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture(scope="session")
def shown_store(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play `spring` (24 matches of tic-tac-toe) and the match `duel` (2 matches) once per test run."""

    def make() -> None:
        arena = CommandLine(run_folder / "shown")
        arena("tournament", *BOTS, *FAST, "--rounds", 2, "--srand", 1, "--name", "spring", "--quiet")
        arena("match", *BOTS[:2], *FAST, "--rounds", 1, "--srand", 2, "--name", "duel", "--quiet")

    make_once(run_folder / "shown", make)
    return copy_of(run_folder / "shown", tmp_path_factory.mktemp("shown")) / "arena.db"


@pytest.fixture(autouse=True)
def a_home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep runs, checks and logs out of the user's home, and start no `arena`, which would load every bot."""
    folder = tmp_path / "home"
    monkeypatch.setenv("ARENA_HOME", str(folder))
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", (sys.executable, "-S", "-c", ""))
    return folder


@pytest.fixture(autouse=True)
def one_time_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Show dates in UTC, whatever the time zone of the machine."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def runs(a_home_of_its_own: Path) -> Path:
    """Copy the recorded training runs into the temporary home."""
    folder = a_home_of_its_own / "runs"
    shutil.copytree(RECORDED, folder)
    return folder
