"""The cell of each action is derived from the rules, for every game."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from arena.errors import IllegalMoveError, PluginError
from arena.games.notation import spec_of
from arena.live.geometry import changed_cells, geometry, position
from game_samples import games_with_play

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARow, KInARowState


def test_connect_four_goes_by_columns() -> None:
    shape = geometry("connect-four")
    assert (shape.kind, shape.rows, shape.columns) == ("columns", 6, 7)
    assert shape.column_names == ("1", "2", "3", "4", "5", "6", "7")
    assert shape.row_names == ("6", "5", "4", "3", "2", "1")
    assert [shape.action_at(row, 3) for row in (0, 5)] == [3, 3]


def test_gomoku_goes_by_cells() -> None:
    shape = geometry("gomoku")
    assert shape.kind == "cells"
    assert (shape.column_names[0], shape.column_names[-1], shape.row_names[0]) == ("a", "o", "15")
    assert shape.action_at(7, 7) == 112


@settings(max_examples=40)
@given(games_with_play())
def test_a_stone_lands_where_the_rules_put_it(drawn: tuple[KInARow, list[KInARowState]]) -> None:
    game, states = drawn
    shape = geometry(str(spec_of(game)))
    for state in states[:: max(1, len(states) // 4)]:
        for action in range(game.num_actions):
            cell = shape.landing(state.cells, action)
            if action in state.legal_actions:
                assert [cell] == changed_cells(state.cells, state.child(action).cells)
            elif not state.is_terminal:
                assert cell is None


def test_positions_are_those_of_the_rules() -> None:
    assert position("tic-tac-toe", (4, 0)).cells == (2, 0, 0, 0, 1, 0, 0, 0, 0)
    assert position("tic-tac-toe", (4, 0)) is position("tic-tac-toe", (4, 0))
    with pytest.raises(IllegalMoveError):
        position("tic-tac-toe", (4, 4))
    with pytest.raises(PluginError):
        position("no-such-game", ())


def test_old_positions_are_forgotten() -> None:
    first = position("gomoku", (0,))
    for action in range(1, 220):
        position("gomoku", (action, (action + 1) % 225))
    for action in range(1, 60):
        position("connect-four", (action % 7,) * (action % 5))
        position("gomoku", (action, 224))
    assert position("gomoku", (0,)) is not first
