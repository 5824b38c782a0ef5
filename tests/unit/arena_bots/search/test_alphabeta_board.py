"""The board of compiled alpha-beta: its score, gains and hash keys, compared with cells and plain rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_bots.search.alphabeta_board import (
    BIG,
    KEY,
    LINE,
    WORTH,
    AlphaBetaBoard,
    empty_board,
    geometry_of,
    replay,
)
from arena_bots.search.lines import OpenLines, line_length
from game_samples import GAMES, distinct_positions, games_with_play, lines_of_play, make, seeded

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARow, KInARowState
    from arena_plugins.contract import Game

LOW = (1 << 32) - 1


def board_of(game: Game, state: KInARowState) -> AlphaBetaBoard:
    geometry = geometry_of(game)
    assert geometry is not None
    board = empty_board(geometry)
    replay(geometry, board, np.array(state.history, np.int64))
    return board


def key_of(game: Game, state: KInARowState) -> int:
    return int(board_of(game, state).sums[KEY])


@settings(max_examples=150)
@given(games_with_play())
def test_worth_and_gains_are_those_of_the_cells(play: tuple[KInARow, list[KInARowState]]) -> None:
    game, states = play
    state = states[-2] if states[-1].is_terminal and len(states) > 1 else states[-1]
    points = OpenLines(game.shape, line_length(game))
    board = board_of(game, state)
    assert board.sums[WORTH] == points(state.cells)
    assert {a for a in range(game.num_actions) if board.landing[a] >= 0} == set(state.legal_actions)
    for action in state.legal_actions:
        child = state.child(action)
        cell = int(board.landing[action])
        assert child.cells[cell] == state.current_player + 1
        gain = int(board.gains[cell] >> 32 * state.current_player) & LOW
        if any(child.returns):
            assert gain >= LINE
            continue
        # A row that is too long, where only exact ones win, fills windows nevertheless.
        filled = (gain + LINE) // BIG
        sign = -1 if state.current_player else 1
        assert gain - filled * BIG == sign * (points(child.cells) - points(state.cells))
        assert not filled or game.board.exact


@pytest.mark.parametrize("spec", ["tic-tac-toe", "connect-four", "gomoku:k=4,size=6"])
def test_positions_have_the_same_key_only_if_they_are_the_same(spec: str) -> None:
    game = make(spec)
    keys: dict[int, tuple[int, ...]] = {}
    levels = distinct_positions(game, {"tic-tac-toe": 9, "connect-four": 4, "gomoku:k=4,size=6": 2}[spec])
    for state in (state for level in levels for state in level if not state.is_terminal):
        assert keys.setdefault(key_of(game, state), state.cells) == state.cells
    assert len(keys) > 500


@settings(max_examples=100)
@given(st.sampled_from(GAMES), st.data())
def test_the_order_of_the_stones_does_not_matter(game: KInARow, data: st.DataObject) -> None:
    states = data.draw(lines_of_play(game))
    state = states[-2] if states[-1].is_terminal and len(states) > 1 else states[-1]
    actions = list(state.history)
    rng = seeded(len(actions))
    for player in (0, 1):
        own = actions[player::2]
        rng.shuffle(own)
        actions[player::2] = own
    other = game.initial_state()
    for action in actions:
        if other.is_terminal:
            return
        other = other.child(action)
    assert (key_of(game, other) == key_of(game, state)) == (other.cells == state.cells)


def test_other_games_and_long_lines_have_no_board(pile: Game) -> None:
    assert geometry_of(pile) is None
    assert geometry_of(make("gomoku:k=11,size=15")) is None
    assert geometry_of(make("gomoku:k=10,size=26")) is not None
