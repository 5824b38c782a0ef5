"""Text forms of positions and matches: written text is read back, other text is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.games.notation import Position, format_moves, parse_moves, parse_position, position_of, spec_of
from arena_plugins.errors import IllegalMoveError, InvalidMoveError, PluginError
from arena_plugins.spec import Spec
from game_samples import games_with_play, make

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARow, KInARowState


@st.composite
def positions(draw: st.DrawFn) -> Position:
    rows, cols = draw(st.tuples(st.integers(1, 5), st.integers(1, 30)))
    cells = draw(st.lists(st.integers(0, 2), min_size=rows * cols, max_size=rows * cols))
    options = draw(st.dictionaries(st.sampled_from("abc"), st.text('xo /,1"\\=', max_size=4), max_size=2))
    return Position(
        Spec("some-game", options),
        (rows, cols),
        tuple(cells),
        draw(st.integers(0, 1)),
        draw(st.integers(0, 999)),
    )


@given(positions())
def test_positions_are_read_as_they_are_written(position: Position) -> None:
    assert parse_position(str(position)) == position
    assert parse_position(f" {position}\n") == position


@given(games_with_play())
def test_positions_of_states_are_read_as_they_are_written(
    sample: tuple[KInARow, list[KInARowState]],
) -> None:
    game, states = sample
    position = position_of(game, states[-1])
    assert parse_position(str(position)) == position
    assert position.cells == states[-1].cells
    assert position.ply == len(states) - 1
    assert make(str(position.spec)).params == game.params


@pytest.mark.parametrize(
    ("spec", "moves", "text"),
    [
        ("connect-four", "4", "connect-four 7/7/7/7/7/3x3 o 1"),
        ("connect-four", "", "connect-four 7/7/7/7/7/7 x 0"),
        ("tic-tac-toe", "b2 a1 c3", "tic-tac-toe 2x/1x1/o2 o 3"),
        ("gomoku:size=6,k=4", "a6 b6", "gomoku:k=4,size=6 xo4/6/6/6/6/6 x 2"),
        ("gomoku:size=12", "l12", "gomoku:size=12 11x/12/12/12/12/12/12/12/12/12/12/12 o 1"),
    ],
)
def test_positions_look_as_the_conventions_say(spec: str, moves: str, text: str) -> None:
    game = make(spec)
    state = game.initial_state()
    for action in parse_moves(game, moves):
        state = state.child(action)
    assert str(position_of(game, state)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a position"),
        ("connect-four 7/7 x", "not a position"),
        ("connect-four 7//7 x 0", "not a row"),
        ("connect-four 7/7/ x 0", "not a row"),
        ("connect-four 7/43 x 0", "differ in length"),
        ("connect-four 3x3/3x4 x 0", "differ in length"),
        ("connect-four 07 x 0", "not a row"),
        ("connect-four 0x x 0", "not a row"),
        ("connect-four 7X x 0", "not a row"),
        ("connect-four 99999999 x 0", "not a row"),
        ("connect-four 7 X 0", "not a side"),
        ("connect-four 7 xo 0", "not a side"),
        ("connect-four 7 x -1", "not a number of plies"),
        ("connect-four 7 x 01", "not a number of plies"),
        ("connect-four 7 x ٤", "not a number of plies"),
    ],
)
def test_what_is_not_a_position_is_refused(text: str, message: str) -> None:
    with pytest.raises((InvalidMoveError, PluginError), match=message):
        parse_position(text)


def test_the_game_of_a_position_must_be_a_spec() -> None:
    with pytest.raises(PluginError):
        parse_position("-x 7/7 x 0")


@given(games_with_play())
def test_matches_are_read_as_they_are_written(sample: tuple[KInARow, list[KInARowState]]) -> None:
    game, states = sample
    actions = states[-1].history
    assert parse_moves(game, format_moves(game, actions)) == actions


def test_matches_of_connect_four_are_columns_without_blanks() -> None:
    game = make("connect-four")
    assert format_moves(game, [3, 3, 4, 2]) == "4453"
    assert parse_moves(game, "44 5\n3") == parse_moves(game, "ddec") == (3, 3, 4, 2)
    assert parse_moves(game, "") == ()


def test_other_matches_have_blanks() -> None:
    assert format_moves(make("connect-four:cols=10"), [3, 9]) == "4 10"
    assert format_moves(make("connect-four:cols=9"), [3, 8]) == "49"
    assert format_moves(make("gomoku"), [112, 97]) == "h8 h9"
    assert parse_moves(make("gomoku"), " h8  H9 ") == (112, 97)


def test_errors_name_the_ply() -> None:
    with pytest.raises(InvalidMoveError, match='at ply 3: "8" is not a move'):
        parse_moves(make("connect-four"), "448")
    with pytest.raises(IllegalMoveError, match="at ply 7: move 4 is not allowed"):
        parse_moves(make("connect-four"), "4444444")
    with pytest.raises(IllegalMoveError, match="over by three in a row"):
        parse_moves(make("tic-tac-toe"), "a1 b1 a2 b2 a3 b3")
    with pytest.raises(IllegalMoveError):
        format_moves(make("tic-tac-toe"), [4, 4])


def test_specs_leave_defaults_out() -> None:
    assert str(spec_of(make("connect-four:rows=6,cols=8"))) == "connect-four:cols=8"
    assert str(spec_of(make("gomoku:exact=off,k=5"))) == "gomoku"
    assert str(spec_of(make("tic-tac-toe"))) == "tic-tac-toe"
