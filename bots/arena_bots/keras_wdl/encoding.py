"""What the network sees of a position, and what it answers: always for the player who has just moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arena_plugins.contract import Game, State

LOSS, DRAW, WIN = range(3)
"""The classes: how the game ends for who has just moved."""
PLANES = 2
"""Stones of who has just moved, stones of the other."""
_POINTS = np.array([0.0, 0.5, 1.0], np.float32)
"""Of each class; the article's mapping took a win of one side for a draw."""


def planes_of(states: Sequence[State], shape: tuple[int, int]) -> NDArray[np.float32]:
    """Give what the network sees of states, at least one, of a game of `shape`: `[n, 2, rows, columns]`."""
    cells = np.array([state.cells for state in states], np.uint8)
    movers = np.array([2 - state.current_player for state in states], np.uint8)[:, None]
    planes = np.empty((len(states), PLANES, cells.shape[1]), np.float32)
    planes[:, 0] = cells == movers
    planes[:, 1] = cells == 3 - movers
    return planes.reshape(len(states), PLANES, *shape)


def worth_of(chances: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give the expected points, P(win) + P(draw) / 2, of chances of the classes: `[..., 3]` to `[...]`."""
    return chances @ _POINTS


def images_of(game: Game) -> NDArray[np.intp]:
    """Give for each symmetry the cell that comes to lie on each cell; `[symmetries, cells]`."""
    return np.array([np.argsort(symmetry.cells) for symmetry in game.symmetries], np.intp)


def full_spec(game: Game) -> str:
    """Write the game with every parameter, as `gomoku:exact=off,k=4,size=6`: what weights are made for."""
    return str(Spec(game.name, {key: str(value) for key, value in game.params.items()}))
