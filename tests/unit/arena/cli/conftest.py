"""Command lines for tests: in an empty folder, and with a stored tournament and match."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from command_line import FAST, CommandLine
from once import make_once

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """Return a command line without a store, in its own folder."""
    monkeypatch.chdir(tmp_path)
    return CommandLine(tmp_path)


@pytest.fixture(scope="session")
def played_store(run_folder: Path) -> Path:
    """Play the round robin `spring` (12 matches) and the match `duel` (4) once for all tests of a run."""

    def make() -> None:
        arena = CommandLine(run_folder / "played")
        bots = ("random", "minimax:depth=1", "minimax:depth=2")
        arena("tournament", *bots, *FAST, "--rounds", 2, "--srand", 1, "--name", "spring", "--quiet")
        arena("match", *bots[:2], *FAST, "--rounds", 2, "--srand", 2, "--name", "duel", "--st", 2, "--quiet")

    make_once(run_folder / "played", make)
    return run_folder / "played" / "arena.db"


@pytest.fixture
def played(arena: CommandLine, played_store: Path) -> CommandLine:
    """Return a command line whose store has `spring` and `duel`."""
    shutil.copy(played_store, arena.db)
    return arena
