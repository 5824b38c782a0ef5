"""The bot `td-lambda`: its answers, its options, and what it refuses.

What positions are worth by weights: features, tables, and files that hold neither.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from arena_bots.td_lambda.bot import RECIPES, LinearValue, TupleValue, load_value, make_bot
from arena_bots.td_lambda.features import LINES, NUM_FEATURES, WINDOWS, features_of
from arena_bots.td_lambda.tuples import draw_tuples, parts_of
from arena_plugins.contract import Limit
from arena_plugins.errors import OptionError, PluginError
from brute_force import random_states
from game_samples import make, seeded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arena.games.k_in_a_row import KInARowState
    from arena_plugins.contract import PlayResult, State

CONNECT_FOUR = make("connect-four")


def after(actions: Sequence[int]) -> State:
    state = CONNECT_FOUR.initial_state()
    for action in actions:
        state = state.child(action)
    return state


def answer(actions: Sequence[int], seed: int = 1, **options: str) -> PlayResult:
    return make_bot(CONNECT_FOUR, seed, options).play(after(actions), Limit())


@pytest.fixture
def blank(tmp_path: Path) -> str:
    """Return a file of weights for which all positions have the same value."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, linear=np.zeros(87), squashed=np.array(0))
    (tmp_path / "blank.npz").write_bytes(file.getvalue())
    return str(tmp_path / "blank.npz")


@pytest.mark.parametrize("rules", ["off", "on", "notebook"])
@pytest.mark.parametrize(("actions", "winning"), [((0, 1, 0, 1, 0, 1), 0), ((6, 0, 6, 0, 5, 0, 3), 0)])
def test_a_win_comes_first(actions: tuple[int, ...], winning: int, rules: str, blank: str) -> None:
    result = answer(actions, weights=blank, rules=rules)
    assert (result.action, result.value) == (winning, 1.0)


def test_a_block_comes_next_where_rules_are_on(blank: str) -> None:
    actions = (0, 6, 0, 5, 0)
    assert {answer(actions, seed, weights=blank, rules="on").action for seed in range(9)} == {0}
    assert len({answer(actions, seed, weights=blank, rules="off").action for seed in range(20)}) > 1


def test_ties_are_drawn_by_the_seed_but_the_notebook_takes_the_middle(blank: str) -> None:
    played = [answer((), seed, weights=blank).action for seed in range(40)]
    assert set(played) == set(range(7))
    assert played == [answer((), seed, weights=blank).action for seed in range(40)]
    assert {answer((), seed, weights=blank, rules="notebook").action for seed in range(20)} == {3}


def test_the_last_cell_is_a_draw_or_a_win(blank: str) -> None:
    # A full board except for one cell.
    rows = [0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 2, 3, 2, 3, 2, 3, 3, 2, 3, 2, 3, 2]
    rest = [4, 5, 4, 5, 4, 5, 5, 4, 5, 4, 5, 4, 6, 6, 6, 6, 6]
    result = answer([*rows, *rest], weights=blank)
    assert result.action == 6
    assert result.value == 0.0


def test_an_answer_says_what_it_is_worth(blank: str) -> None:
    result = answer((3, 3), weights=blank)
    assert result.policy == dict.fromkeys(range(7), pytest.approx(1 / 7))
    assert (result.nodes, result.depth, result.pv) == (7, 0, (result.action,))


@pytest.mark.parametrize(
    ("game", "options", "complaint"),
    [
        ("tic-tac-toe", {}, "plays connect-four on 6 rows and 7 columns, not tic-tac-toe"),
        ("connect-four:cols=8", {}, "plays connect-four on 6 rows and 7 columns"),
        ("connect-four", {"recipe": "bets"}, 'did you mean "best"?'),
        ("connect-four", {"rules": "of"}, "rules=of is not one of off, on, notebook"),
        ("connect-four", {"recipe": "best", "weights": "x"}, "recipe or weights, not both"),
        ("connect-four", {"depth": "3"}, 'td-lambda has no option "depth"'),
    ],
)
def test_what_it_cannot_do_is_refused(game: str, options: dict[str, str], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint.replace("?", r"\?")):
        make_bot(make(game), 1, options)


def test_missing_weights_are_named() -> None:
    with pytest.raises(PluginError, match=r"nowhere\.npz"):
        make_bot(CONNECT_FOUR, 1, {"weights": "nowhere.npz"})


def test_recipes_are_told() -> None:
    assert RECIPES[0] == "best"


def states(seed: int) -> list[KInARowState]:
    rng = seeded(seed)
    found = [state for plies in range(1, 30) for state in random_states(CONNECT_FOUR, rng, 2, plies)]
    return cast("list[KInARowState]", found)


def lines_of(state: KInARowState) -> list[list[int]]:
    """Return the cells of every window of four, read from the plain board."""
    found: list[list[int]] = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for row in range(6):
            for column in range(7):
                cells = [(row + n * down, column + n * right) for n in range(4)]
                if all(0 <= r < 6 and 0 <= c < 7 for r, c in cells):
                    found.append([state.cells[r * 7 + c] for r, c in cells])
    return found


def test_there_are_69_windows() -> None:
    assert len({int(window) for window in WINDOWS}) == 69
    assert all(int(window).bit_count() == 4 for window in WINDOWS)


def test_features_are_those_of_the_plain_board() -> None:
    for state in states(1):
        own, other = 2 - state.current_player, 1 + state.current_player
        found = features_of(np.array([state.opp], np.uint64), np.array([state.own], np.uint64))[0]
        cells = np.array(state.cells).reshape(6, 7)[::-1].ravel()
        assert (found[:42] == (cells == own)).all()
        assert (found[42:84] == (cells == other)).all()
        assert found[84] == pytest.approx((cells[3::7] == own).sum() / 6)
        lines = lines_of(state)
        assert found[85] * LINES == pytest.approx(sum(own in line and other not in line for line in lines))
        assert found[86] * LINES == pytest.approx(sum(other in line and own not in line for line in lines))


def test_a_linear_value_is_a_sum_bounded_where_it_was_learnt_so() -> None:
    weights = np.zeros(NUM_FEATURES)
    weights[84] = 12.0
    state = CONNECT_FOUR.initial_state().child(3)
    assert LinearValue(weights, squashed=False).of([state]) == pytest.approx([2.0])
    assert LinearValue(weights, squashed=True).of([state]) == pytest.approx([np.tanh(2.0)])


def test_tables_speak_for_the_first_player_and_count_units() -> None:
    tuples = draw_tuples(2, 3, 1)
    entries = int(parts_of(tuples).starts[-1])
    tables = np.ones((2, entries), np.int8)
    value = TupleValue(tuples, tables, np.full((2, 2), 0.1, np.float32))
    start = CONNECT_FOUR.initial_state()
    # Four look-ups of 0.1: good for the first player, so bad for the second, who has just moved.
    assert value.of([start.child(0), start.child(0).child(1)]) == pytest.approx([np.tanh(0.4), -np.tanh(0.4)])


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"other": np.zeros(3)}, "contains no weights of td-lambda"),
        ({"linear": np.zeros(86), "squashed": np.array(0)}, "87 finite numbers"),
        ({"linear": np.full(87, np.nan), "squashed": np.array(0)}, "87 finite numbers"),
        ({"linear": np.zeros(87)}, "contains no weights of td-lambda"),
        ({"tuples": np.zeros((2, 3), np.uint8)}, "contains no weights of td-lambda"),
        (
            {
                "tuples": np.full((1, 3), 42, np.uint8),
                "tables": np.zeros((2, 9), np.int8),
                "scales": np.ones((2, 1)),
            },
            "cells below 42",
        ),
        (
            {
                "tuples": np.array([[0, 1, 2]], np.uint8),
                "tables": np.zeros((2, 9), np.int8),
                "scales": np.ones((2, 1)),
            },
            "tables and scales of these tuples are",
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, arrays: dict[str, np.ndarray], complaint: str) -> None:
    np.savez(tmp_path / "x.npz", allow_pickle=False, **arrays)
    with pytest.raises(PluginError, match=complaint):
        load_value(tmp_path / "x.npz")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(PluginError, match=r"nowhere\.npz"):
        load_value("nowhere.npz")
