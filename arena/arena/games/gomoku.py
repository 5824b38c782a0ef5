"""The game gomoku: five in a row on a large board, or k in a row on any square board."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from arena.games.k_in_a_row import MAX_SIDE
from arena.games.placement import Placement
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping


class Gomoku(Placement):
    """k in a row on a square board; with `exact`, a longer row (overline) does not win."""

    name = "gomoku"
    defaults: ClassVar = {"exact": "off", "k": 5, "size": 15}

    def __init__(self, size: int = 15, k: int = 5, *, exact: bool = False) -> None:
        super().__init__(size, k, {"exact": "on" if exact else "off", "k": k, "size": size}, exact=exact)


@hookimpl
def make_game(options: Mapping[str, str]) -> Gomoku:
    """Make the game; its options are `size`, `k` (stones in a row that win) and `exact` (on or off)."""
    reader = OptionReader(Gomoku.name, options)
    size = reader.integer("size", 15, low=2, high=MAX_SIDE)
    k = reader.integer("k", 5, low=2, high=MAX_SIDE)
    exact = reader.flag("exact", default=False)
    reader.done()
    return Gomoku(size, k, exact=exact)
