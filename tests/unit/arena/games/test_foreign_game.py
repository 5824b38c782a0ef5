"""Canonical forms and notation of a game that implements only the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from arena.games.notation import format_moves, parse_moves, parse_position, position_of, spec_of
from arena.games.playout import random_match
from arena.games.symmetry import canonical, canonical_actions, match_hash
from arena_plugins.contract import Game, State, Symmetry
from game_samples import seeded

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Strip(State):
    """Two cells in a row, filled in turn; every match is a draw."""

    def __init__(self, history: tuple[int, ...]) -> None:
        self.history = history
        self.cells = tuple(history.index(cell) + 1 if cell in history else 0 for cell in (0, 1))
        self.current_player = len(history) % 2
        self.legal_actions = tuple(cell for cell in (0, 1) if cell not in history)
        self.is_terminal = not self.legal_actions
        self.returns = (0.0, 0.0)

    @property
    @override
    def observation(self) -> NDArray[np.float32]:
        return np.array(self.cells, np.float32).reshape(1, 1, 2)

    @override
    def child(self, action: int) -> Strip:
        return Strip((*self.history, action))


class StripGame(Game):
    name = "strip"
    num_actions = max_length = 2
    shape = (1, 2)
    symmetries = (Symmetry((0, 1), (0, 1)), Symmetry((1, 0), (1, 0)))

    def __init__(self) -> None:
        self.params = {"length": 2}

    @override
    def initial_state(self) -> Strip:
        return Strip(())

    @override
    def move(self, state: State, action: int) -> str:
        return ("left", "right")[action]

    @override
    def parse_move(self, state: State, text: str) -> int:
        return ("left", "right").index(text)


def test_canonical_forms() -> None:
    game = StripGame()
    left, right = (game.initial_state().child(action) for action in (0, 1))
    assert canonical(game, left) == ((0, 1), 1, 1)
    assert canonical(game, right) == ((0, 1), 1, 0)
    assert canonical_actions(game, [1, 0]) == (0, 1)
    assert match_hash(game, [1, 0]) == match_hash(game, [0, 1])


def test_notation() -> None:
    game = StripGame()
    state = random_match(game, seeded(1))
    assert parse_moves(game, format_moves(game, state.history)) == state.history
    # Without `defaults` every parameter is written.
    assert str(spec_of(game)) == "strip:length=2"
    position = position_of(game, game.initial_state().child(1))
    assert str(position) == "strip:length=2 1x o 1"
    assert parse_position(str(position)) == position
