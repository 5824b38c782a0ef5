"""Classes of symmetric positions, forced wins and exact values: published figures and plain search."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.games.symmetry import canonical, canonical_actions
from arena.pairing.openings import enumerate_positions, is_enumerable
from arena.pairing.solve import can_force_win, exact_value, is_decided
from arena_plugins import Game, State, load_game

SIX = "gomoku:size=6,k=4"


def after(game: Game, actions: tuple[int, ...]) -> State:
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    return state


@pytest.mark.parametrize(
    ("spec", "plies", "num_all", "num_undecided"),
    [
        ("tic-tac-toe", 2, 12, 12),
        ("tic-tac-toe", 4, 108, 21),
        ("connect-four", 2, 25, 25),
        ("connect-four", 4, 568, 528),
        (SIX, 2, 165, 165),
    ],
)
def test_number_of_classes(spec: str, plies: int, num_all: int, num_undecided: int) -> None:
    game = load_game(spec)
    states = enumerate_positions(game, plies)
    assert len(states) == num_all
    assert sum(not is_decided(game, state) for state in states) == num_undecided


@pytest.mark.parametrize(("spec", "plies", "num_all"), [("connect-four", 6, 8231), (SIX, 4, 44_481)])
def test_number_of_classes_too_many_to_judge(spec: str, plies: int, num_all: int) -> None:
    assert len(enumerate_positions(load_game(spec), plies)) == num_all


@pytest.mark.parametrize(("spec", "plies"), [("tic-tac-toe", 4), ("connect-four", 3), (SIX, 2)])
def test_each_class_stands_once_with_its_least_sequence(spec: str, plies: int) -> None:
    game = load_game(spec)
    least: dict[tuple[tuple[int, ...], int], tuple[int, ...]] = {}
    for actions in product(range(game.num_actions), repeat=plies):
        if len(set(actions)) == plies or spec == "connect-four":
            least.setdefault(canonical(game, after(game, actions)).key, actions)
    states = enumerate_positions(game, plies)
    assert [canonical(game, state).key for state in states] == sorted(least)
    assert {state.history for state in states} == set(least.values())
    assert all(canonical_actions(game, state.history) == state.history for state in states)


def test_is_enumerable() -> None:
    assert is_enumerable(load_game(SIX), 4)
    assert is_enumerable(load_game("gomoku"), 2)
    assert not is_enumerable(load_game("gomoku"), 4)
    assert not is_enumerable(load_game("connect-four"), 8)


def test_positions_that_are_over_are_listed_and_decided() -> None:
    game = load_game("tic-tac-toe")
    over = [state for state in enumerate_positions(game, 5) if state.is_terminal]
    assert over
    assert all(is_decided(game, state) for state in over)


@pytest.mark.parametrize(
    ("spec", "actions", "player", "plies"),
    [
        ("connect-four", (3, 0, 3, 0, 3, 1), 0, 1),  # three on top of each other
        ("connect-four", (3, 3, 2, 2), 0, 3),  # an open two becomes an open three
        ("connect-four", (3, 0, 3, 0, 3), 1, 5),  # the second player must block, and never wins so soon
        ("tic-tac-toe", (0, 1), 0, 5),  # a fork
    ],
)
def test_length_of_a_forced_win(spec: str, actions: tuple[int, ...], player: int, plies: int) -> None:
    state = after(load_game(spec), actions)
    wins = [can_force_win(state, player, limit) for limit in range(plies + 1)]
    assert wins == [False] * plies + [player == 0]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 8), unique=True, min_size=4, max_size=8))
def test_forced_wins_agree_with_exact_values(actions: list[int]) -> None:
    game = load_game("tic-tac-toe")
    state = game.initial_state()
    for action in actions:
        if not state.is_terminal:
            state = state.child(action)
    value = exact_value(state, {})
    assert can_force_win(state, 0, 9) is (value > 0)
    assert can_force_win(state, 1, 9) is (value < 0)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=2))
def test_no_search_is_left_out_that_would_find_a_win(actions: list[int]) -> None:
    game = load_game("connect-four")
    state = after(game, tuple(actions))
    assert not is_decided(game, state)
    assert not any(can_force_win(state, player, 4) for player in (0, 1))


def test_tic_tac_toe_is_a_draw() -> None:
    assert exact_value(load_game("tic-tac-toe").initial_state(), {}) == 0
