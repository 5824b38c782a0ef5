"""The rules before the value: blocks, and the notebook's rule against two open ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena_bots.td_lambda.bot import urgent
from game_samples import make

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARowState


def after(moves: str) -> KInARowState:
    """Return the state after moves in columns written 1 to 7."""
    state = make("connect-four").initial_state()
    for move in moves:
        state = state.child(int(move) - 1)
    return state


@pytest.mark.parametrize(
    ("moves", "rules", "asked"),
    [
        ("", "on", []),
        # Three in a row, but the fourth cell is not playable yet.
        ("112233", "on", []),
        ("1122337", "off", []),
        ("1122337", "on", [3]),
        ("12131", "on", [0]),
        # Both ends: no block prevents the loss, so either is taken.
        ("22334", "on", [0, 4]),
    ],
)
def test_wins_of_the_opponent_are_blocked(moves: str, rules: str, asked: list[int]) -> None:
    assert list(urgent(after(moves), rules)) == asked


@pytest.mark.parametrize(
    ("moves", "asked"),
    [
        # A stone in the middle: with a second one beside it, both ends would be open.
        ("4", [2, 4]),
        # At the edge one end is off the board.
        ("1", []),
        ("2", [2]),
        # Blocks come first.
        ("1122337", [3]),
    ],
)
def test_the_notebook_keeps_twos_from_opening(moves: str, asked: list[int]) -> None:
    assert list(urgent(after(moves), "notebook")) == asked
