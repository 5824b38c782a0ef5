"""A game unlike the bundled ones: it has no lines, and a player may move twice in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from arena_plugins.contract import Game, State
from arena_plugins.errors import IllegalMoveError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOKENS = 12


class PileState(State):
    """A pile of tokens."""

    def __init__(self, history: tuple[int, ...], player: int) -> None:
        self.history = history
        self.left = _TOKENS - sum(history) - len(history)
        self.legal_actions = tuple(range(min(3, self.left)))
        self.is_terminal = not self.left
        # The player who takes the last token wins; half a point only when it was taken alone.
        won = (0.5 if history[-1] == 0 else 1.0) if self.is_terminal else 0.0
        self.returns = (-won, won) if player else (won, -won)
        self.current_player = player if history and history[-1] == 1 else 1 - player
        self.cells = tuple(int(cell < self.left) for cell in range(_TOKENS))

    @property
    @override
    def observation(self) -> NDArray[np.float32]:
        return np.array([[self.cells], [self.cells]], np.float32)

    @override
    def child(self, action: int) -> State:
        if action not in self.legal_actions:
            raise IllegalMoveError(f"cannot take {action + 1}")
        return PileState((*self.history, action), self.current_player)


class Pile(Game):
    """Remove one to three tokens; taking two gives another move."""

    name = "pile"
    num_actions = 3
    max_length = _TOKENS
    shape = (1, _TOKENS)
    symmetries = ()

    def __init__(self) -> None:
        self.params = {"tokens": _TOKENS}

    @override
    def initial_state(self) -> State:
        return PileState((), 1)

    @override
    def move(self, state: State, action: int) -> str:
        return str(action + 1)

    @override
    def parse_move(self, state: State, text: str) -> int:
        return int(text) - 1
