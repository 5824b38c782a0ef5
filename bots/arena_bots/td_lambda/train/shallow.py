"""The corrected opponent of the TD(lambda) notebook: a minimax of three plies that sees wins and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.games.kernels.chance import draw
from arena.games.kernels.compiling import inline_kernel, kernel
from arena.games.kernels.rules import completing, has_line, land, landings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout

_WIN, _FORCED, _OPEN, _LOSS = 2, 1, 0, -1


@inline_kernel
def shallow_action(state: np.uint64, own: np.uint64, opp: np.uint64, layout: Layout) -> tuple[np.uint64, Int]:
    """Return the next random state and an action: a win, else a forced win, else one that does not lose.

    Ties are broken at random.
    """
    best, score, count = -1, _LOSS - 1, 0
    for action in range(layout.num_actions):
        stone = land(own | opp, action, layout)
        if not stone:
            continue
        worth = _worth(own | stone, opp, layout)
        if worth > score:
            best, score, count = action, worth, 1
        elif worth == score:
            count += 1
            state, number = draw(state, count)
            if number == 0:
                best = action
    return state, best


@inline_kernel
def _worth(own: np.uint64, opp: np.uint64, layout: Layout) -> Int:
    """Evaluate the position after a stone of `own` by the next two plies."""
    if has_line(own, layout):
        return _WIN
    replies = landings(own | opp, layout)
    if completing(opp, layout) & replies:
        return _LOSS
    wins = completing(own, layout)
    if not replies or not wins:
        return _OPEN
    for action in range(layout.num_actions):
        reply = land(own | opp, action, layout)
        if reply and not wins & landings(own | opp | reply, layout):
            return _OPEN
    return _FORCED


@kernel
def choose_shallow(own: np.uint64, opp: np.uint64, layout: Layout, chance: NDArray[np.uint64]) -> Int:
    """Return the action of this opponent for the side to move."""
    chance[0], action = shallow_action(chance[0], own, opp, layout)
    return action
