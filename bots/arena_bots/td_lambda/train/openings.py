"""Exploration in training games: random first plies, and random actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.games.kernels.bits import bit_number, nth_bit, num_bits
from arena.games.kernels.chance import draw
from arena.games.kernels.compiling import inline_kernel
from arena.games.kernels.rules import landings

if TYPE_CHECKING:
    import numpy as np

    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout

_PARTS = 1 << 20
"""Resolution of probabilities."""
_MOST = 8
"""Maximum number of random first plies."""


@inline_kernel
def happens(state: np.uint64, chance: float) -> tuple[np.uint64, bool | np.bool]:
    """Return the next random state, and whether an event of probability `chance` happens."""
    state, number = draw(state, _PARTS)
    return state, number < chance * _PARTS


@inline_kernel
def opening_length(state: np.uint64, chance: float) -> tuple[np.uint64, Int]:
    """Draw the number of random first plies: 1 to 8 with probability `chance`, else 0."""
    state, is_random = happens(state, chance)
    state, length = draw(state, _MOST)
    return state, (length + 1) * is_random


@inline_kernel
def random_action(state: np.uint64, occupied: np.uint64, layout: Layout) -> tuple[np.uint64, Int]:
    """Draw a legal action uniformly."""
    cells = landings(occupied, layout)
    state, number = draw(state, num_bits(cells))
    return state, layout.actions[bit_number(nth_bit(cells, number))]
