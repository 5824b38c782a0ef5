"""What positions are worth by weights: features, tables, and files that hold neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from arena_bots.td_lambda.features import LINES, NUM_FEATURES, WINDOWS, features_of
from arena_bots.td_lambda.tuples import draw_tuples, parts_of
from arena_bots.td_lambda.values import LinearValue, TupleValue, load_value
from arena_plugins.errors import PluginError
from brute_force import random_states
from game_samples import make, seeded

if TYPE_CHECKING:
    from pathlib import Path

    from arena.games.k_in_a_row import KInARowState

CONNECT_FOUR = make("connect-four")


def states(seed: int) -> list[KInARowState]:
    rng = seeded(seed)
    found = [state for plies in range(1, 30) for state in random_states(CONNECT_FOUR, rng, 2, plies)]
    return cast("list[KInARowState]", found)


def lines_of(state: KInARowState) -> list[list[int]]:
    """Give the stones of every window of four by the plain board."""
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
    # Four look-ups of a tenth: good for the first player, so bad for the second, who has just moved.
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
