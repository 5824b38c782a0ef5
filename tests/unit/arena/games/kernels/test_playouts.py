"""Random playouts: their results are as likely as by the plain rules, and tactical ones see one ply ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.games.kernels.cell_playouts import uniform_cell_playout
from arena.games.kernels.cell_tactics import find_threats, tactical_cell_playout
from arena.games.kernels.cells import MOVER, cell_layout_of, new_board, set_board
from arena.games.kernels.chance import seeded as seeded_chance
from arena.games.kernels.layout import layout_of, words_of
from arena.games.kernels.playouts import tactical_playout, uniform_playout
from arena.games.playout import random_match
from game_samples import make, seeded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.games.k_in_a_row import KInARow, KInARowState
    from arena.games.kernels.compiling import Int

    Playout = Callable[[], Int]

SPECS = ("connect-four", "gomoku:k=4,size=6", "gomoku:exact=on,k=3,size=5", "tic-tac-toe")
COUNT = 3000


def word_playout(game: KInARow, state: KInARowState, *, tactical: bool) -> Playout:
    layout = layout_of(game)
    assert layout is not None
    own, opp = words_of(state)
    free, chance = np.zeros(game.num_actions, np.uint64), seeded_chance(5)
    if tactical:
        return lambda: tactical_playout(own, opp, layout, chance)
    return lambda: uniform_playout(own, opp, layout, free, chance)


def cell_playout(game: KInARow, state: KInARowState, *, tactical: bool) -> Playout:
    layout = cell_layout_of(game)
    assert layout is not None
    board, root = new_board(layout), new_board(layout)
    set_board(root, state, layout)
    threats = np.zeros((3, 1 + game.max_length), np.uint16)
    free, chance = np.zeros(game.num_actions, np.uint16), seeded_chance(6)

    def playout() -> Int:
        board[:] = root
        if not tactical:
            return uniform_cell_playout(board, MOVER, layout, free, chance)
        find_threats(board, threats, layout)
        return tactical_cell_playout(board, MOVER, threats, layout, free, chance)

    return playout


def after(game: KInARow, actions: Sequence[int]) -> KInARowState:
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    return state


def share(results: Sequence[Int | float], result: int) -> float:
    return sum(found == result for found in results) / len(results)


def assert_alike(some: Sequence[Int | float], others: Sequence[Int | float]) -> None:
    """Assert that each result is equally frequent in both samples, within five standard errors."""
    for result in (-1, 0, 1):
        one, other = share(some, result), share(others, result)
        mean = (one + other) / 2
        error = (mean * (1 - mean) * (1 / len(some) + 1 / len(others))) ** 0.5
        assert abs(one - other) <= 5 * error


@pytest.mark.parametrize("spec", SPECS)
def test_uniform_playouts_end_as_the_rules_do(spec: str) -> None:
    game, rng = make(spec), seeded(4)
    plain = [random_match(game, rng).returns[0] for _ in range(COUNT)]
    for make_playout in (word_playout, cell_playout):
        playout = make_playout(game, game.initial_state(), tactical=False)
        assert_alike([playout() for _ in range(COUNT)], plain)


@pytest.mark.parametrize("spec", SPECS)
def test_both_boards_play_the_same_tactics(spec: str) -> None:
    game = make(spec)
    state = game.initial_state()
    word, cell = (make_one(game, state, tactical=True) for make_one in (word_playout, cell_playout))
    assert_alike([word() for _ in range(COUNT)], [cell() for _ in range(COUNT)])


@pytest.mark.parametrize("make_playout", [word_playout, cell_playout])
@pytest.mark.parametrize(
    ("actions", "result"),
    [
        pytest.param((0, 1, 0, 1, 0, 1), 1, id="a win at hand"),
        pytest.param((3, 0, 3, 0, 4, 1, 5), -1, id="two threats"),
        pytest.param((2, 2, 3, 3, 4), -1, id="an open three"),
    ],
)
def test_what_is_decided_at_once(
    make_playout: Callable[..., Playout], actions: tuple[int, ...], result: int
) -> None:
    game = make("connect-four")
    playout = make_playout(game, after(game, actions), tactical=True)
    assert {playout() for _ in range(50)} == {result}


@pytest.mark.parametrize("make_playout", [word_playout, cell_playout])
def test_no_win_is_left_on_top(make_playout: Callable[..., Playout]) -> None:
    # The other side wins on the second row of each column that is not full.
    game = make("connect-four:cols=3,k=3,rows=2")
    state = after(game, (0, 1, 1, 0))
    playout = make_playout(game, state, tactical=True)
    # Only column 3 is left, and the side that fills it first makes no difference.
    assert {playout() for _ in range(20)} == {outcome(state)}


def outcome(state: KInARowState) -> float:
    """Return the result of the only possible continuation, for the side to move."""
    player = state.current_player
    while not state.is_terminal:
        (action,) = state.legal_actions
        state = state.child(action)
    return state.returns[player]


@pytest.mark.parametrize("spec", ["connect-four", "gomoku"])
def test_the_same_chance_plays_the_same(spec: str) -> None:
    game = make(spec)
    ends = [
        [playout() for _ in range(40)]
        for playout in (cell_playout(game, game.initial_state(), tactical=True) for _ in range(2))
    ]
    assert ends[0] == ends[1]
