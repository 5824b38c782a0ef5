"""A store with tournaments that were really played, for the screens to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from command_line import FAST, CommandLine

if TYPE_CHECKING:
    from pathlib import Path

BOTS = ("random", "minimax:depth=1", "minimax:depth=2", "mcts:playouts=20")


@pytest.fixture(scope="session")
def shown_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play `spring` (24 matches of tic-tac-toe) and the match `duel` (2) once for all tests."""
    arena = CommandLine(tmp_path_factory.mktemp("shown"))
    arena("tournament", *BOTS, *FAST, "--rounds", 2, "--srand", 1, "--name", "spring", "--quiet")
    arena("match", *BOTS[:2], *FAST, "--rounds", 1, "--srand", 2, "--name", "duel", "--quiet")
    return arena.db
