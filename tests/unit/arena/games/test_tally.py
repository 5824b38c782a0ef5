"""Line counts updated stone by stone, and what a state stores of its history."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.games.bitboard import Bitboard
from arena.games.gomoku import Gomoku
from arena.games.tally import LineTally
from arena_plugins.errors import IllegalMoveError
from game_samples import games_with_play, seeded

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARow, KInARowState

sides = st.integers(1, 9)
sizes = st.tuples(sides, sides, st.integers(2, 9)).filter(lambda size: size[2] <= max(size[:2]))
"""Rows, columns and k."""


@given(sizes, st.booleans(), st.booleans(), st.data())
def test_a_line_is_full_where_shifts_find_one(
    size: tuple[int, int, int],
    exact: bool,  # noqa: FBT001 # drawn by Hypothesis
    gravity: bool,  # noqa: FBT001 # drawn by Hypothesis
    data: st.DataObject,
) -> None:
    rows, cols, k = size
    board = Bitboard(rows, cols, k, exact=exact, gravity=gravity)
    tally = LineTally(board)
    own = tally.empty
    for bit in data.draw(st.lists(st.sampled_from(sorted(tally.places)), unique=True)):
        own += tally.places[bit][0]
        stones = own & tally.cells
        assert Bitboard(rows, cols, k, gravity=gravity).has_line(stones) == bool(own & tally.full)
        assert board.has_line(stones) == bool(own & tally.full and tally.is_won(own))


def test_a_tally_has_a_counter_for_each_line() -> None:
    tally = LineTally(Bitboard(6, 7, 4, gravity=True))
    assert tally.full.bit_count() == 69
    # A corner is part of three lines, the middle of the lowest row of seven.
    assert [(tally.places[1 << 7 * column][0] >> 49).bit_count() for column in (0, 3)] == [3, 7]


@given(games_with_play(), st.data())
def test_the_history_is_the_same_whoever_asks_first(
    sample: tuple[KInARow, list[KInARowState]], data: st.DataObject
) -> None:
    game, states = sample
    actions = states[-1].history
    state, line = game.initial_state(), [game.initial_state()]
    for action in actions:
        state = state.child(action)
        line.append(state)
    for ply in data.draw(st.permutations(range(len(line)))):
        assert line[ply].history == actions[:ply]


@given(games_with_play())
def test_states_can_be_copied_and_pickled(sample: tuple[KInARow, list[KInARowState]]) -> None:
    _, states = sample
    for twin in (copy.deepcopy(states[-1]), pickle.loads(pickle.dumps(states[-1])), copy.copy(states[-1])):  # noqa: S301 # our own bytes
        assert (twin.history, twin.cells) == (states[-1].history, states[-1].cells)
        assert twin.legal_actions == states[-1].legal_actions
        for action in twin.legal_actions[:2]:
            assert twin.child(action).returns == states[-1].child(action).returns


def test_the_longest_match_is_not_too_deep() -> None:
    game = Gomoku(26, 26)
    actions = seeded(1).sample(range(676), 676)
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    assert state.is_terminal
    twin = pickle.loads(pickle.dumps(state))  # noqa: S301 # our own bytes
    assert twin.history == tuple(actions)
    del state, twin


def test_nothing_is_placed_after_the_end() -> None:
    state = Gomoku(3, 2).initial_state().child(0).child(8).child(1)
    assert state.is_terminal
    for action in range(9):
        with pytest.raises(IllegalMoveError, match="the match is over"):
            state.child(action)
