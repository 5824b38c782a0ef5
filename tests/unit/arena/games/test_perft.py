"""Published counts: sequences of n plies (none beyond an end) and distinct positions after n plies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.games.connect_four import ConnectFour
from arena.games.gomoku import Gomoku
from arena.games.tic_tac_toe import TicTacToe
from game_samples import distinct_positions

if TYPE_CHECKING:
    from arena_plugins.contract import Game, State


def perft(state: State, plies: int) -> int:
    if plies == 1:
        return len(state.legal_actions)
    return sum(perft(state.child(action), plies - 1) for action in state.legal_actions)


def walk(state: State) -> list[int]:
    """Count the sequences of each length from this state, in one walk through all of them."""
    counts = [1]
    for action in state.legal_actions:
        for ply, count in enumerate(walk(state.child(action)), start=1):
            if ply == len(counts):
                counts.append(0)
            counts[ply] += count
    return counts


@pytest.mark.parametrize(
    ("plies", "sequences"), [(1, 7), (2, 49), (3, 343), (4, 2401), (5, 16807), (6, 117649), (7, 823536)]
)
def test_connect_four_sequences(plies: int, sequences: int) -> None:
    assert perft(ConnectFour().initial_state(), plies) == sequences


@pytest.mark.slow
def test_connect_four_sequences_of_eight_plies() -> None:
    assert perft(ConnectFour().initial_state(), 8) == 5673234


def test_connect_four_positions() -> None:
    levels = distinct_positions(ConnectFour(), 8)
    assert [len(level) for level in levels] == [1, 7, 49, 238, 1120, 4263, 16422, 54859, 184275]
    ongoing = [sum(not state.is_terminal for state in level) for level in levels]
    assert ongoing == [1, 7, 49, 238, 1120, 4263, 16422, 54131, 182383]


def test_tic_tac_toe_sequences() -> None:
    assert walk(TicTacToe().initial_state()) == [1, 9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]


def test_tic_tac_toe_positions() -> None:
    levels = distinct_positions(TicTacToe(), 9)
    assert [len(level) for level in levels] == [1, 9, 72, 252, 756, 1260, 1520, 1140, 390, 78]
    ends = [state.returns[0] for level in levels for state in level if state.is_terminal]
    # 626 wins of the first player, 316 of the second and 16 draws, of 5,478 positions.
    assert [ends.count(result) for result in (1.0, -1.0, 0.0)] == [626, 316, 16]


@pytest.mark.parametrize(
    ("game", "sequences"), [(Gomoku(), [225, 50400]), (Gomoku(6, 4), [36, 1260, 42840, 1413720])]
)
def test_gomoku_sequences_before_a_line_is_possible(game: Game, sequences: list[int]) -> None:
    # n (n - 1) (n - 2) ... for n cells.
    assert [perft(game.initial_state(), plies) for plies in range(1, len(sequences) + 1)] == sequences
