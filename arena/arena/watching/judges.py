"""Who can judge matches of a game: the exact solver, where it knows the game, and every installed bot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.analysis import SOLVER, has_solver
from arena.watching.answers import Rows
from arena_plugins import load_game
from arena_plugins.errors import PluginError

if TYPE_CHECKING:
    from arena.watching.query import Query


class Judges(msgspec.Struct, frozen=True):
    """Who can be asked."""

    game: str
    """Canonical spec."""
    is_solvable: bool
    """Whether the exact solver knows the game."""
    bots: tuple[str, ...]
    """Names of installed bots, in order; none of them has been loaded."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names to choose from, the solver first."""
        return (SOLVER, *self.bots) if self.is_solvable else self.bots


def read_judges(query: Query, game: str) -> Rows[Judges]:
    """Return who can judge matches of a game, given by its canonical spec."""
    # Metadata of packages is large, and a viewer who asks no judge has no use for it.
    from arena.shelf.listing import list_bots

    query.check()
    try:
        is_solvable = has_solver(load_game(game))
    except PluginError:
        is_solvable = False
    return Rows(Judges(game, is_solvable, tuple(sorted(set(list_bots().entries) - {SOLVER}))))


def grading_words(match: str, by: str = "", nodes: str = "") -> list[str]:
    """Return the command that judges a match, as what stands behind `arena`.

    Args:
        match: its address, or the store's number of it.
        by: the judge; empty for the solver.
        nodes: searched for each ply at most; empty for the judge's own limit.
    """
    # One word an option: a value that begins with - is then none of its own.
    options = [f"--by={by}"] if by else []
    options += [f"--nodes={nodes}"] if nodes else []
    return ["grade", *options, "--", match]
