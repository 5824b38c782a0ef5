"""Replays large numbers of matches by the rules of the plain states, to check their legality and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from arena.games.kernels.cell_playouts import landing, makes_line
from arena.games.kernels.cells import EMPTY, MOVER, OTHER, cell_layout_of, new_board
from arena.games.kernels.compiling import kernel
from arena.games.kernels.layout import layout_of
from arena.games.kernels.rules import has_line, land

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.cells import CellLayout
    from arena.games.kernels.layout import Layout
    from arena_plugins.contract import Game

OPEN: Final = 2
"""The result of a match that is not over."""
BROKEN: Final = 3
"""The result of a match with an illegal action, or with an action after its end."""

_ZERO = np.uint64(0)


def replayed_ends(
    game: Game, actions: NDArray[np.uint16], starts: NDArray[np.int64]
) -> NDArray[np.int8] | None:
    """Return the result of each match, or None if the kernels do not implement the game's rules.

    Args:
        game: the rules.
        actions: the actions of all matches, concatenated; `[n]`.
        starts: the index at which each match begins, followed by `n`; `[num_matches + 1]`.

    Returns:
        1 if the first player has won, -1 if the second player has won, 0 for a draw, `OPEN` or `BROKEN`;
        `[num_matches]`.
    """
    ends = np.empty(len(starts) - 1, np.int8)
    if layout := layout_of(game):
        _replay(layout, actions, starts, ends)
    elif cells := cell_layout_of(game):
        _replay_cells(cells, new_board(cells), actions, starts, ends)
    else:
        return None
    return ends


@kernel
def _replay(
    layout: Layout, actions: NDArray[np.uint16], starts: NDArray[np.int64], ends: NDArray[np.int8]
) -> None:
    for match in range(len(ends)):
        own = opp = _ZERO
        end, mover = OPEN, 1
        for row in range(starts[match], starts[match + 1]):
            action = np.int64(actions[row])
            # Files may contain any number, and compiled code checks no index, so the action is compared
            # first.
            bit = _ZERO
            if end == OPEN and action < layout.num_actions:
                bit = land(own | opp, action, layout)
            if not bit:
                end = BROKEN
                break
            own |= bit
            if has_line(own, layout):
                end = mover
            elif own | opp == layout.full:
                end = 0
            # Also after the end, so that a further action finds `end` set and breaks the match.
            own, opp, mover = opp, own, -mover
        ends[match] = end


@kernel
def _replay_cells(
    layout: CellLayout,
    board: NDArray[np.uint8],
    actions: NDArray[np.uint16],
    starts: NDArray[np.int64],
    ends: NDArray[np.int8],
) -> None:
    for match in range(len(ends)):
        for cell in layout.cells:
            board[cell] = EMPTY
        # Counted, because there is no mask of all cells to compare with.
        end, stone, num_free = OPEN, MOVER, len(layout.cells)
        for row in range(starts[match], starts[match + 1]):
            action = np.int64(actions[row])
            place = np.int64(0)
            if end == OPEN and action < layout.num_actions:
                place = np.int64(landing(board, action, layout))
            # Place 0 is a wall, so an action that was not looked up counts as illegal.
            if board[place] != EMPTY:
                end = BROKEN
                break
            board[place] = stone
            num_free -= 1
            if makes_line(board, place, stone, layout):
                end = 1 if stone == MOVER else -1
            elif not num_free:
                end = 0
            stone = MOVER + OTHER - stone
        ends[match] = end
