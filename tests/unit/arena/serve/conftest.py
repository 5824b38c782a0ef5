"""Stores for the tests of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.coordinator.config import TournamentConfig
from arena_db.store import Store
from command_line import CommandLine
from live_samples import EVIL
from once import copy_of, make_once
from stores import add_cup
from tournaments import Sitting, config

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def league(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """Return a command line on a store: a round robin, graded and void matches, a knockout, hostile names."""
    made = run_folder / "league"
    make_once(made, lambda: _make_league(CommandLine(made)))
    return CommandLine(copy_of(made, tmp_path_factory.mktemp("league")))


def _make_league(arena: CommandLine) -> None:
    trio = ("random", "minimax:depth=1", "mcts:playouts=20")
    for settings in (
        config(*trio, rounds=2, name="spring"),
        config(
            "random",
            "mcts:playouts=20",
            type="knockout",
            pairs=1,
            rounds=TournamentConfig().rounds,
            name="cup",
        ),
    ):
        sitting = Sitting(arena.db, settings)
        sitting.play()
        sitting.store.close()
    with Store.open(arena.db) as store:
        evil = add_cup(
            store, *(f"bot{seat}/{name[:200]}" for seat, name in enumerate(EVIL)), num=6, name="e/vil \u202e"
        )
        store.matches.save([evil.match(number, reason="<b>\u202e\x1b]0;x\x07") for number in (1, 2, 3)])
        store.matches.save([evil.match(4, rated=False, outcome="second", termination="crash")])
    arena("void", "spring/2", "--reason", "a test")
    arena("show", "spring/1", "--grade")


@pytest.fixture(scope="session")
def league_path(league: CommandLine) -> Path:
    """Return the path of that store."""
    return league.db
