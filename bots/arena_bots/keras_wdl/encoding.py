"""Input and output of the network, always from the view of the player who has just moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arena_plugins.contract import Game, State

LOSS, DRAW, WIN = range(3)
"""The classes: the result for the player who has just moved."""
PLANES = 2
"""Number of planes: stones of the player who has just moved, stones of the other player."""
_POINTS = np.array([0.0, 0.5, 1.0], np.float32)
"""Points for each class; the original article's mapping mistook a win of one side for a draw."""


def planes_of(states: Sequence[State], shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return the network's input for at least one state of a game with `shape`: `[n, 2, rows, columns]`."""
    cells = np.array([state.cells for state in states], np.uint8)
    movers = np.array([2 - state.current_player for state in states], np.uint8)[:, None]
    planes = np.empty((len(states), PLANES, cells.shape[1]), np.float32)
    planes[:, 0] = cells == movers
    planes[:, 1] = cells == 3 - movers
    return planes.reshape(len(states), PLANES, *shape)


def worth_of(chances: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the expected points P(win) + P(draw) / 2 for class probabilities; `[..., 3]` to `[...]`."""
    return chances @ _POINTS


def images_of(game: Game) -> NDArray[np.intp]:
    """Return, for each symmetry, the cell that moves to each cell; `[symmetries, cells]`."""
    return np.array([np.argsort(symmetry.cells) for symmetry in game.symmetries], np.intp)


def full_spec(game: Game) -> str:
    """Return the spec of a game with every parameter, as in `gomoku:exact=off,k=4,size=6`."""
    return str(Spec(game.name, {key: str(value) for key, value in game.params.items()}))
