"""Games that place a stone on any empty cell of a square board, with cells named like h8."""

from __future__ import annotations

import re
from string import ascii_lowercase
from typing import TYPE_CHECKING

from typing_extensions import override

from arena.games.bitboard import Bitboard
from arena.games.k_in_a_row import KInARow
from arena.games.symmetry import square_symmetries
from arena_plugins.errors import InvalidMoveError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_plugins.contract import State

_MOVE = re.compile(r"([A-Za-z])([1-9][0-9]?)")


class Placement(KInARow):
    """k in a row without gravity: action `row * size + column`, row 0 on top.

    A move is a column letter and a row number, rows counted from the bottom: a1 is the lower left corner.
    """

    def __init__(self, size: int, k: int, params: Mapping[str, int | str], *, exact: bool = False) -> None:
        super().__init__(Bitboard(size, size, k, exact=exact), params, square_symmetries(size))
        self._size = size

    @override
    def move(self, state: State, action: int) -> str:
        row, col = divmod(self.checked(action), self._size)
        return f"{ascii_lowercase[col]}{self._size - row}"

    @override
    def parse_move(self, state: State, text: str) -> int:
        found = _MOVE.fullmatch(text.strip())
        col = ascii_lowercase.index(found[1].lower()) if found else self._size
        row = self._size - int(found[2]) if found else self._size
        if not (0 <= row < self._size and col < self._size):
            last = f"{ascii_lowercase[self._size - 1]}{self._size}"
            raise InvalidMoveError(f'"{text}" is not a move of {self.name}; moves are the cells a1 to {last}')
        action = row * self._size + col
        if action not in state.legal_actions:
            raise self.illegal(state, action)
        return action
