"""The line heuristic, compared with a count of windows, and the games to which it applies."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_bots.search.lines import OpenLines, line_length
from game_samples import games_with_play, make

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARow, KInARowState
    from arena_plugins.contract import Game


def count_windows(columns: int, k: int, cells: tuple[int, ...]) -> int:
    """Return the heuristic value: the sum over all windows of k cells, counted cell by cell."""
    board = {divmod(index, columns): stone for index, stone in enumerate(cells)}
    total = 0
    for (row, column), (down, right) in product(board, ((0, 1), (1, 0), (1, 1), (1, -1))):
        window = [board.get((row + step * down, column + step * right)) for step in range(k)]
        for player, sign in ((1, 1), (2, -1)):
            if set(window) == {0, player}:
                total += sign * 4 ** (window.count(player) - 1)
    return total


@given(games_with_play())
def test_lines_are_counted_as_window_by_window(drawn: tuple[KInARow, list[KInARowState]]) -> None:
    game, states = drawn
    k = line_length(game)
    assert OpenLines(game.shape, k)(states[-1].cells) == count_windows(game.shape[1], k, states[-1].cells)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.data())
def test_any_board_is_counted(rows: int, columns: int, k: int, data: st.DataObject) -> None:
    cells = tuple(data.draw(st.lists(st.integers(0, 2), min_size=rows * columns, max_size=rows * columns)))
    lines = OpenLines((rows, columns), k)
    assert lines(cells) == count_windows(columns, k, cells)
    assert abs(lines(cells)) <= lines.bound


@pytest.mark.parametrize(
    ("spec", "k"), [("connect-four", 4), ("connect-four:cols=5,k=3", 3), ("gomoku", 5), ("tic-tac-toe", 3)]
)
def test_length_of_a_line(spec: str, k: int) -> None:
    assert line_length(make(spec)) == k


def test_a_game_without_lines_is_worth_nothing(pile: Game) -> None:
    lines = OpenLines(pile.shape, line_length(pile))
    assert line_length(pile) == 0
    assert lines(pile.initial_state().cells) == 0


def test_a_k_longer_than_the_board_is_no_line(pile: Game) -> None:
    pile.params = {"k": 13}
    assert line_length(pile) == 0
