"""The game tic-tac-toe: three in a row on a board of three by three cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from arena.games.placement import Placement
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping


class TicTacToe(Placement):
    """Three in a row on a board of three by three cells."""

    name = "tic-tac-toe"
    defaults: ClassVar = {}

    def __init__(self) -> None:
        super().__init__(3, 3, {})


@hookimpl
def make_game(options: Mapping[str, str]) -> TicTacToe:
    """Make the game; it has no options."""
    OptionReader(TicTacToe.name, options).done()
    return TicTacToe()
