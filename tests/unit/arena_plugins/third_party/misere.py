"""A third-party game: tic-tac-toe on a square of any size, where a full line loses."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from typing_extensions import override

from arena_plugins import (
    Game,
    IllegalMoveError,
    InvalidMoveError,
    OptionReader,
    State,
    Symmetry,
    hookimpl,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


class Position(State):
    def __init__(self, game: Misere, history: tuple[int, ...]) -> None:
        cells = [0] * game.num_actions
        for ply, action in enumerate(history):
            cells[action] = 1 + ply % 2
        last = 2 - len(history) % 2
        lost = any(all(cells[cell] == last for cell in line) for line in game.lines)
        self._game = game
        self.history = history
        self.cells = tuple(cells)
        self.current_player = len(history) % 2
        self.is_terminal = lost or len(history) == game.num_actions
        self.legal_actions = () if self.is_terminal else tuple(i for i, cell in enumerate(cells) if not cell)
        self.returns = ((-1.0, 1.0) if last == 1 else (1.0, -1.0)) if lost else (0.0, 0.0)

    @property
    @override
    def observation(self) -> NDArray[np.float32]:
        board = np.array(self.cells).reshape(self._game.shape)
        stones = (1 + self.current_player, 2 - self.current_player)
        return np.stack([board == stone for stone in stones]).astype(np.float32)

    @override
    def child(self, action: int) -> Position:
        if type(action) is not int or not 0 <= action < self._game.num_actions:
            raise InvalidMoveError(f"{action!r} is no action of misere")
        if action not in self.legal_actions:
            raise IllegalMoveError(f"{self._game.move(self, action)} is not free")
        return Position(self._game, (*self.history, action))


class Line(NamedTuple):
    start: int
    step: int


class Misere(Game):
    name = "misere"

    def __init__(self, size: int) -> None:
        self.size = size
        self.params = {"size": size}
        self.shape = (size, size)
        self.num_actions = self.max_length = size * size
        starts = [Line(row * size, 1) for row in range(size)] + [Line(column, size) for column in range(size)]
        starts += [Line(0, size + 1), Line(size - 1, size - 1)]
        self.lines = [tuple(start + i * step for i in range(size)) for start, step in starts]

    @cached_property
    def symmetries(self) -> list[Symmetry]:  # pyright: ignore[reportIncompatibleVariableOverride] - made once
        grid = np.arange(self.num_actions).reshape(self.shape)
        turned = [np.rot90(board, turns) for board in (grid, grid.T) for turns in range(4)]
        cells = [tuple(np.argsort(board.reshape(-1)).tolist()) for board in turned]
        return [Symmetry(permutation, permutation) for permutation in cells]

    @override
    def initial_state(self) -> Position:
        return Position(self, ())

    @override
    def move(self, state: State, action: int) -> str:
        row, column = divmod(action, self.size)
        return f"{'abcd'[column]}{self.size - row}"

    @override
    def parse_move(self, state: State, text: str) -> int:
        found = re.fullmatch(r"([a-d])([1-4])", text.strip().lower())
        column, row = ("abcd".index(found[1]), self.size - int(found[2])) if found else (-1, -1)
        if not (0 <= row < self.size and 0 <= column < self.size):
            raise InvalidMoveError(f'"{text}" is no move of misere')
        if row * self.size + column not in state.legal_actions:
            raise IllegalMoveError(f"{text} is not free")
        return row * self.size + column


@hookimpl
def make_game(options: Mapping[str, str]) -> Misere:
    reader = OptionReader("misere", options)
    size = reader.integer("size", 3, low=2, high=4)
    reader.done()
    return Misere(size)
