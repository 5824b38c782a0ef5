"""Properties of the three games, and the options that they refuse."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING

import pytest

from arena.games.connect_four import ConnectFour
from arena.games.gomoku import Gomoku
from arena.games.tic_tac_toe import TicTacToe
from arena_plugins.contract import Game, State
from arena_plugins.errors import OptionError
from game_samples import MODULES, make

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARow


def states_along(game: Game, moves: str) -> list[State]:
    states = [game.initial_state()]
    for move in moves.split():
        states.append(states[-1].child(game.parse_move(states[-1], move)))
    return states


FACTS: list[tuple[str, tuple[object, ...]]] = [
    ("connect-four", ({"cols": 7, "k": 4, "rows": 6}, (6, 7), 7, 42, 2)),
    ("connect-four:rows=4,cols=10,k=5", ({"cols": 10, "k": 5, "rows": 4}, (4, 10), 10, 40, 2)),
    ("tic-tac-toe", ({}, (3, 3), 9, 9, 8)),
    ("gomoku", ({"exact": "off", "k": 5, "size": 15}, (15, 15), 225, 225, 8)),
    ("gomoku:size=6,k=4,exact=on", ({"exact": "on", "k": 4, "size": 6}, (6, 6), 36, 36, 8)),
]
"""For each game: parameters, shape, and the numbers of actions, plies and symmetries."""


@pytest.mark.parametrize(("spec", "facts"), FACTS)
def test_games_say_what_they_are(spec: str, facts: tuple[object, ...]) -> None:
    game = make(spec)
    assert isinstance(game, Game)
    assert isinstance(game.initial_state(), State)
    assert game.name == spec.partition(":")[0]
    found = (game.params, game.shape, game.num_actions, game.max_length, len(game.symmetries))
    assert found == facts


@pytest.mark.parametrize("game", [ConnectFour(), Gomoku(), TicTacToe()])
def test_classes_without_arguments_are_games_without_options(game: KInARow) -> None:
    assert game.params == game.defaults


@pytest.mark.parametrize("name", MODULES)
def test_defaults_are_the_parameters_of_a_game_without_options(name: str) -> None:
    game = make(name)
    assert game.params == game.defaults


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("connect-four:k=8", "connect-four: k=8 does not fit on 6 rows and 7 columns; k is at most 7"),
        ("gomoku:size=4", "gomoku: k=5 does not fit on 4 rows and 4 columns; k is at most 4"),
        ("connect-four:rows=0", "rows=0 is not a whole number from 1 to 26"),
        ("connect-four:cols=27", "cols=27 is not a whole number from 1 to 26"),
        ("connect-four:k=1", "k=1 is not a whole number from 2 to 26"),
        ("connect-four:rows=six", "rows=six is not a whole number"),
        ("connect-four:row=6", 'has no option "row"; did you mean "rows"'),
        ("gomoku:size=1", "size=1 is not a whole number from 2 to 26"),
        ("gomoku:size=27", "size=27 is not a whole number from 2 to 26"),
        ("gomoku:k=1", "k=1 is not a whole number from 2 to 26"),
        ("gomoku:exact=yes", "exact=yes is not one of on, off"),
        ("gomoku:rows=15", 'gomoku has no option "rows"'),
        ("tic-tac-toe:size=3", r"tic-tac-toe has no option \"size\" \(options: none\)"),
    ],
)
def test_impossible_options_are_refused(spec: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make(spec)


TWENTY_SIX = " ".join(f"{letter}1 {letter}3" for letter in ascii_lowercase).removesuffix(" z3")


@pytest.mark.parametrize(
    ("game", "moves", "returns", "ending"),
    [
        (ConnectFour(), "4 1 4 1 4 1 4", (1.0, -1.0), "four in a row"),
        (ConnectFour(), "1 2 1 3 1 4 2 5", (-1.0, 1.0), "four in a row"),
        (ConnectFour(4, 3, 3), "1 2 2 3 3 1 3", (1.0, -1.0), "three in a row"),
        (ConnectFour(2, 2, 2), "1 2 2", (1.0, -1.0), "two in a row"),
        (ConnectFour(1, 3, 3), "1 2 3", (0.0, 0.0), "full board"),
        (TicTacToe(), "b2 a1 a3 c1 b1 b3 c3 a2 c2", (0.0, 0.0), "full board"),
        (TicTacToe(), "a1 a2 b2 a3 c3", (1.0, -1.0), "three in a row"),
        (TicTacToe(), "b3 c1 a2 b2 c2 a3", (-1.0, 1.0), "three in a row"),
        (Gomoku(), "h8 a1 i9 a2 j10 a3 k11 a4 l12", (1.0, -1.0), "five in a row"),
        (Gomoku(6, 4), "a6 a1 b6 b1 d6 d1 f3 c1", (-1.0, 1.0), "four in a row"),
        (Gomoku(26, 26), TWENTY_SIX, (1.0, -1.0), "twenty-six in a row"),
    ],
)  # fmt: skip
def test_matches_end_as_they_should(game: Game, moves: str, returns: object, ending: str) -> None:
    *before, last = states_along(game, moves)
    assert not any(state.is_terminal for state in before)
    assert last.is_terminal
    assert last.returns == returns
    assert game.ending(last) == ending


@pytest.mark.parametrize(("exact", "is_over"), [(False, True), (True, False)])
def test_an_overline_wins_unless_lines_must_be_exact(exact: bool, is_over: bool) -> None:  # noqa: FBT001 # a table
    game = Gomoku(6, 4, exact=exact)
    *before, last = states_along(game, "a1 a3 b1 c3 d1 e3 e1 f5 c1")
    assert not any(state.is_terminal for state in before)
    assert last.is_terminal == is_over


def test_an_exact_line_beside_an_overline_wins() -> None:
    game = Gomoku(6, 3, exact=True)
    *before, last = states_along(game, "a1 a3 b1 e3 d1 f5 c2 f6 c3 e5 c1")
    assert not any(state.is_terminal for state in before)
    assert last.returns == (1.0, -1.0)


def test_moves_of_connect_four_are_columns_by_number_or_letter() -> None:
    game = ConnectFour()
    state = game.initial_state()
    assert [game.move(state, action) for action in range(7)] == list("1234567")
    assert [game.parse_move(state, letter) for letter in "abcdefg"] == list(range(7))
    assert game.parse_move(state, "D") == game.parse_move(state, " 4 ") == 3
    wide = ConnectFour(cols=12)
    assert wide.parse_move(wide.initial_state(), "12") == 11


def test_moves_of_placement_games_count_rows_from_the_bottom() -> None:
    game = Gomoku()
    state = game.initial_state()
    assert game.move(state, 0) == "a15"
    assert game.move(state, 224) == "o1"
    assert game.parse_move(state, "H8") == 7 * 15 + 7
    assert TicTacToe().move(state, 4) == "b2"
