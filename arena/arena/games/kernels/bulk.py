"""Generates random matches as training data, millions per second, by the rules of the plain states."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.bits import bit_number
from arena.games.kernels.cell_playouts import list_landings as list_places
from arena.games.kernels.cell_playouts import makes_line, renew
from arena.games.kernels.cells import EMPTY, MOVER, OTHER, cell_layout_of, new_board
from arena.games.kernels.chance import draw, seeded
from arena.games.kernels.compiling import kernel
from arena.games.kernels.layout import layout_of
from arena.games.kernels.playouts import list_landings
from arena.games.kernels.rules import has_line
from arena.games.playout import random_match

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.cells import CellLayout
    from arena.games.kernels.layout import Layout
    from arena_plugins.contract import Game

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


class Matches(NamedTuple):
    """Complete matches, from the initial state to the terminal one."""

    actions: NDArray[np.uint8 | np.uint16]
    """The actions, padded with 0; `[n, max_length]`, uint16 if the game has more than 256 actions."""
    lengths: NDArray[np.uint16]
    """Number of actions; `[n]`."""
    outcomes: NDArray[np.int8]
    """1 if the first player won, -1 if the second player won, 0 for a draw; `[n]`."""


def random_matches(game: Game, n: int, seed: int) -> Matches:
    """Play `n` matches in which all actions are equally likely; equal seeds produce equal matches.

    Raises:
        ValueError: `n` is negative, or a result is neither a win nor a draw.
    """
    if n < 0:
        raise ValueError(f"cannot play {n} matches; n is 0 or more")
    kind = np.uint8 if game.num_actions <= 256 else np.uint16  # noqa: PLR2004 # number of values of a byte
    actions: NDArray[np.uint8 | np.uint16] = np.zeros((n, game.max_length), kind)
    matches = Matches(actions, np.zeros(n, np.uint16), np.zeros(n, np.int8))
    if layout := layout_of(game):
        # Kernels cannot allocate, so all arrays are made here.
        _fill(layout, np.zeros(game.num_actions, np.uint64), seeded(seed), *matches)
    elif cells := cell_layout_of(game):
        _fill_cells(cells, new_board(cells), np.zeros(game.num_actions, np.uint16), seeded(seed), *matches)
    else:
        _fill_plainly(game, Random(seed), matches)  # noqa: S311 # not used for secrets
    return matches


def _fill_plainly(game: Game, rng: Random, matches: Matches) -> None:
    for index in range(len(matches.lengths)):
        end = random_match(game, rng)
        if end.returns[0] not in {-1, 0, 1}:
            raise ValueError(f"a match of {game.name} ended with {end.returns[0]}; outcomes are -1, 0 and 1")
        matches.actions[index, : len(end.history)] = end.history
        matches.lengths[index] = len(end.history)
        matches.outcomes[index] = end.returns[0]


@kernel
def _fill(
    layout: Layout,
    free: NDArray[np.uint64],
    chance: NDArray[np.uint64],
    actions: NDArray[np.uint8 | np.uint16],
    lengths: NDArray[np.uint16],
    outcomes: NDArray[np.int8],
) -> None:
    state = chance[0]
    for match in range(len(lengths)):
        # `outcome` is the result if the side to move completes a line now; its sign changes with the side.
        own = opp = _ZERO
        ply, outcome = 0, 1
        count = list_landings(_ZERO, free, layout)
        while True:
            state, index = draw(state, count)
            bit = free[index]
            own |= bit
            actions[match, ply] = layout.actions[bit_number(bit)]
            ply += 1
            # Before that ply no line is possible, and testing for one is most of the work of a ply.
            if ply >= layout.min_length and has_line(own, layout):
                break
            # The column is full. Without gravity every cell is such a column, so a placed cell always leaves
            # `free`.
            if bit & layout.closing:
                count -= 1
                if not count:
                    outcome = 0
                    break
                # The last cell fills the gap: the order does not matter, because all cells are equally
                # likely.
                free[index] = free[count]
            else:
                free[index] = bit << _ONE
            own, opp, outcome = opp, own, -outcome
        # After a full board `outcome` is 0; after a line the sides were not exchanged, so its sign is the
        # winner's.
        lengths[match] = ply
        outcomes[match] = outcome
    chance[0] = state


@kernel
def _fill_cells(
    layout: CellLayout,
    board: NDArray[np.uint8],
    free: NDArray[np.uint16],
    chance: NDArray[np.uint64],
    actions: NDArray[np.uint8 | np.uint16],
    lengths: NDArray[np.uint16],
    outcomes: NDArray[np.int8],
) -> None:
    state = chance[0]
    for match in range(len(lengths)):
        for cell in layout.cells:
            board[cell] = EMPTY
        ply, stone, outcome = 0, MOVER, 0
        # The walls were written once by `new_board` and no stone lands there, so only the cells are cleared.
        count = list_places(board, free, layout)
        while count:
            state, index = draw(state, count)
            place = np.int64(free[index])
            board[place] = stone
            actions[match, ply] = layout.actions[place]
            ply += 1
            if makes_line(board, place, stone, layout):
                outcome = 1 if stone == MOVER else -1
                break
            count = renew(board, free, count, index, layout)
            stone = MOVER + OTHER - stone
        lengths[match] = ply
        outcomes[match] = outcome
    chance[0] = state
