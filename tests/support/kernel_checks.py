"""Compares kernels with the plain states of random matches, position by position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from arena.games.connect_four import ConnectFour
from arena.games.k_in_a_row import KInARowState
from arena.games.kernels.bits import bit_number
from arena.games.kernels.cell_playouts import landing, list_landings, makes_line
from arena.games.kernels.cell_tactics import find_threats, note_threats, urgent
from arena.games.kernels.cells import EMPTY, MOVER, OTHER, cell_layout_of, new_board, set_board
from arena.games.kernels.layout import layout_of, words_of
from arena.games.kernels.rules import completing, has_line, land, landings
from game_samples import seeded

if TYPE_CHECKING:
    from random import Random

    from numpy.typing import NDArray

    from arena.games.k_in_a_row import KInARow
    from arena.games.kernels.cells import CellLayout
    from arena.games.kernels.layout import Layout

_BIT = np.uint64(1)


class _OtherState(KInARowState):
    """A state that may have rules of its own."""


class Unusual(ConnectFour):
    """Connect Four with overridden rules, for which the kernels would be wrong."""

    @override
    def initial_state(self) -> KInARowState:
        return _OtherState.start(self)


def check_words(game: KInARow, positions: int, *, seed: int) -> int:
    """Compare at least `positions` positions of random matches; return how many there were."""
    layout = layout_of(game)
    assert layout is not None
    rng, done = seeded(seed), 0
    while done < positions:
        state = game.initial_state()
        while not state.is_terminal:
            action = rng.choice(state.legal_actions)
            _check_word(game, state, action, layout)
            state = state.child(action)
            done += 1
        own, opp = words_of(state)
        assert has_line(opp, layout) == any(state.returns)
        assert not has_line(own, layout)
    return done


def _check_word(game: KInARow, state: KInARowState, action: int, layout: Layout) -> None:
    board = game.board
    own, opp = words_of(state)
    assert not has_line(own, layout)
    assert not has_line(opp, layout)
    cells = landings(own | opp, layout)
    assert _actions(cells, layout) == list(state.legal_actions)
    bit = int(land(own | opp, action, layout))
    assert bit == int(own | opp) + board.lows[action] & board.columns[action]
    assert bit & int(cells)
    # The plain rules decide cell by cell whether a stone completes a line, for either side.
    for stones in (own, opp):
        found = int(completing(stones, layout))
        assert not found & (int(stones) | ~int(layout.full))
        for cell in (bit, 1 << int(board.bits[len(state.history) % game.max_length])):
            if not cell & int(stones):
                assert bool(found & cell) == board.has_line(int(stones) | cell)


def _actions(cells: np.uint64, layout: Layout) -> list[int]:
    actions: list[int] = []
    while cells:
        actions.append(int(layout.actions[bit_number(cells)]))
        cells &= cells - _BIT
    return sorted(actions)


def check_cells(game: KInARow, positions: int, *, seed: int) -> int:
    """Compare at least `positions` positions of random matches; return how many there were."""
    layout = cell_layout_of(game)
    assert layout is not None
    rng, done = seeded(seed), 0
    while done < positions:
        done += _check_match(game, layout, rng)
    return done


def _check_match(game: KInARow, layout: CellLayout, rng: Random) -> int:
    board = new_board(layout)
    fresh, kept = (np.zeros((3, 1 + game.max_length), np.uint16) for _ in range(2))
    free = np.zeros(game.num_actions, np.uint16)
    state, stone = game.initial_state(), MOVER
    while not state.is_terminal:
        count = list_landings(board, free, layout)
        assert [int(layout.actions[place]) for place in free[:count]] == list(state.legal_actions)
        if not len(state.history) % 5:
            _check_threats(board, fresh, kept, layout)
            _check_urgent(state, board, stone, kept, layout)
        action = rng.choice(state.legal_actions)
        place = int(landing(board, action, layout))
        assert place in free[:count]
        board[place] = stone
        state = state.child(action)
        wins = note_threats(board, place, stone, kept, layout)
        assert wins == makes_line(board, place, stone, layout) == any(state.returns)
        stone = MOVER + OTHER - stone
    again = new_board(layout)
    assert set_board(again, state, layout) == state.cells.count(0)
    # There the stones are the mover's and the other's, here the first player's and the second's.
    swapped = {EMPTY: EMPTY, MOVER: OTHER, OTHER: MOVER}
    shown = again[layout.cells].tolist()
    assert board[layout.cells].tolist() == ([swapped[cell] for cell in shown] if stone == OTHER else shown)
    return len(state.history)


def _check_threats(
    board: NDArray[np.uint8], fresh: NDArray[np.uint16], kept: NDArray[np.uint16], layout: CellLayout
) -> None:
    """Check that the noted threats include all true ones; extra ones are taken cells or overlong rows."""
    find_threats(board, fresh, layout)
    for stone in (MOVER, OTHER):
        found = set(fresh[stone, 1 : 1 + int(fresh[stone, 0])].tolist())
        noted = set(kept[stone, 1 : 1 + int(kept[stone, 0])].tolist())
        assert found <= noted
        assert all(board[place] != EMPTY or layout.exact for place in noted - found)


def _check_urgent(
    state: KInARowState,
    board: NDArray[np.uint8],
    stone: int,
    threats: NDArray[np.uint16],
    layout: CellLayout,
) -> None:
    """Check that the immediate wins are those of the plain rules."""
    player = state.current_player
    wins = {action for action in state.legal_actions if state.child(action).returns[player] > 0}
    found, place = urgent(board, stone, threats, layout)
    assert found == min(len(wins), 2)
    assert not found or int(layout.actions[place]) in wins
