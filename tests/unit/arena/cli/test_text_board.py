"""A board labels its columns and rows as the game's moves do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from arena.cli.text_board import draw_board
from arena.live.geometry import edges
from arena_plugins import Game, State, load_game

if TYPE_CHECKING:
    from collections.abc import Sequence


def test_tic_tac_toe() -> None:
    game = load_game("tic-tac-toe")
    before = game.initial_state().child(4)
    board = draw_board(game, before.child(8), before)
    assert board.plain == "3  .  .  . \n2  .  X  . \n1  .  . [O]\n   a  b  c \n"
    assert board.markup.count("bold") == 4


def test_a_winning_line_is_marked_and_its_last_stone_is_new() -> None:
    game = load_game("tic-tac-toe")
    before = game.initial_state().child(0).child(3).child(1).child(4)
    assert draw_board(game, before.child(2), before).plain.startswith("3 *X**X*[X]\n2  O  O  . \n")


def test_connect_four_has_columns_only() -> None:
    game = load_game("connect-four:cols=11,rows=4,k=3")
    lines = draw_board(game, game.initial_state().child(10)).plain.splitlines()
    assert lines[-1].split() == [str(column) for column in range(1, 12)]
    assert lines[-2].rstrip().endswith("X")
    assert lines[-2].index("X") == lines[-1].index("11") + 1


@pytest.mark.parametrize("spec", ["gomoku:size=15", "gomoku:size=26", "gomoku:size=6,k=4", "tic-tac-toe"])
def test_edges_make_up_every_move(spec: str) -> None:
    game = load_game(spec)
    columns, rows = edges(game)
    state = game.initial_state()
    for action in state.legal_actions:
        (cell,) = (place for place, stone in enumerate(state.child(action).cells) if stone)
        row, column = divmod(cell, game.shape[1])
        assert columns[column] + rows[row] == game.move(state, action)


class _Odd(State):
    """A state with four cells, of a third-party game."""

    current_player = 0
    is_terminal = False
    returns = (0.0, 0.0)

    def __init__(self, cells: tuple[int, ...], after: Sequence[tuple[int, ...]]) -> None:
        self.cells = cells
        self._after = after
        self.legal_actions = tuple(range(len(after)))
        self.history = ()

    @property
    @override
    def observation(self) -> object:  # pyright: ignore[reportIncompatibleMethodOverride] - nobody asks for it
        return None

    @override
    def child(self, action: int) -> State:
        return _Odd(self._after[action], ())


class _OddGame(Game):
    """A third-party game whose moves are numbers."""

    shape = (2, 2)

    def __init__(self, after: Sequence[tuple[int, ...]]) -> None:
        self._after = after

    @override
    def initial_state(self) -> State:
        return _Odd((0, 0, 0, 0), self._after)

    @override
    def move(self, state: State, action: int) -> str:
        return f"move {action}"

    @override
    def parse_move(self, state: State, text: str) -> int:
        return int(text)


EVERY = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]


@pytest.mark.parametrize(
    "after",
    [
        [(1, 1, 0, 0), (0, 1, 0, 0)],  # a move fills two cells
        EVERY[:3],  # neither columns nor all cells
        EVERY,  # every cell, but the moves are not made of columns and rows
        [],
    ],
)
def test_no_edges_where_moves_tell_no_place(after: list[tuple[int, ...]]) -> None:
    game = _OddGame(after)
    assert edges(game) == ((), ())
    assert draw_board(game, game.initial_state()).plain == " .  . \n .  . \n"
