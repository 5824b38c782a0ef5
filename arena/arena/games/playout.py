"""A random match, played to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from arena_plugins.contract import Game, State


def random_match(game: Game, rng: Random) -> State:
    """Play uniformly random actions drawn from `rng` and return the terminal state."""
    state = game.initial_state()
    while not state.is_terminal:
        state = state.child(rng.choice(state.legal_actions))
    return state
