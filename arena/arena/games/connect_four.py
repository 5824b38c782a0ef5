"""The game connect-four: stones drop to the lowest empty cell of a column; four in a row wins."""

from __future__ import annotations

import re
from string import ascii_lowercase
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from arena.games.bitboard import Bitboard
from arena.games.k_in_a_row import MAX_SIDE, KInARow
from arena.games.symmetry import mirror_symmetries
from arena_plugins.errors import InvalidMoveError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_plugins.contract import State

_MOVE = re.compile(r"[A-Za-z]|[1-9][0-9]?")


class ConnectFour(KInARow):
    """k in a row with gravity; action `a` is column `a` from the left and is written as the move `a + 1`."""

    name = "connect-four"
    defaults: ClassVar = {"cols": 7, "k": 4, "rows": 6}

    def __init__(self, rows: int = 6, cols: int = 7, k: int = 4) -> None:
        super().__init__(
            Bitboard(rows, cols, k, gravity=True),
            {"cols": cols, "k": k, "rows": rows},
            mirror_symmetries(rows, cols),
        )

    @override
    def move(self, state: State, action: int) -> str:
        return str(self.checked(action) + 1)

    @override
    def parse_move(self, state: State, text: str) -> int:
        """Read a column, given by its number from 1 ("4") or by its letter ("d")."""
        word = text.strip()
        action = -1
        if _MOVE.fullmatch(word):
            action = int(word) - 1 if word.isdigit() else ascii_lowercase.index(word.lower())
        if not 0 <= action < self.num_actions:
            last = ascii_lowercase[self.num_actions - 1]
            raise InvalidMoveError(
                f'"{text}" is not a move of {self.name};'
                f" moves are the columns 1 to {self.num_actions}, or a to {last}"
            )
        if action not in state.legal_actions:
            raise self.illegal(state, action)
        return action


@hookimpl
def make_game(options: Mapping[str, str]) -> ConnectFour:
    """Make the game; its options are `rows`, `cols` and `k`, the number of stones in a row that win."""
    reader = OptionReader(ConnectFour.name, options)
    rows = reader.integer("rows", 6, low=1, high=MAX_SIDE)
    cols = reader.integer("cols", 7, low=1, high=MAX_SIDE)
    k = reader.integer("k", 4, low=2, high=MAX_SIDE)
    reader.done()
    return ConnectFour(rows, cols, k)
