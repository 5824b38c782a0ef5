"""The judges for matches of a game: the exact solver, if it supports the game, and all installed bots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.analysis import SOLVER, has_solver
from arena.watching.query_answers import Rows
from arena_plugins import load_game
from arena_plugins.errors import PluginError

if TYPE_CHECKING:
    from arena.watching.query import Query


class Judges(msgspec.Struct, frozen=True):
    """The judges for a game."""

    game: str
    """Canonical spec."""
    is_solvable: bool
    """Whether the exact solver supports the game."""
    bots: tuple[str, ...]
    """Names of installed bots in order; none has been loaded."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names to choose from, the solver first."""
        return (SOLVER, *self.bots) if self.is_solvable else self.bots


def read_judges(query: Query, game: str) -> Rows[Judges]:
    """Return the judges for a game, given by its canonical spec."""
    # Imported late: package metadata is large, and only viewers that choose a judge need it.
    from arena.shelf.listing import list_bots

    query.check()
    try:
        is_solvable = has_solver(load_game(game))
    except PluginError:
        is_solvable = False
    return Rows(Judges(game, is_solvable, tuple(sorted(set(list_bots().entries) - {SOLVER}))))


def grading_words(match: str, by: str = "", nodes: str = "") -> list[str]:
    """Return the command, without `arena`, that judges a match.

    Args:
        match: its address, or its id in the store.
        by: the judge; empty for the solver.
        nodes: node limit per ply; empty for the judge's default.
    """
    # `--name=value` in one word, so that a value that starts with - is not parsed as an option.
    options = [f"--by={by}"] if by else []
    options += [f"--nodes={nodes}"] if nodes else []
    return ["grade", *options, "--", match]
