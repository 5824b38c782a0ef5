"""The solver of all other small games: against brute force, and known values."""

from __future__ import annotations

import pytest

from arena.games.solver.find import solver_for
from arena.games.solver.line_games import LinesSolver
from arena.games.solver.solved import Worth
from brute_force import Known, late_states, truth, truths
from game_samples import make, seeded


@pytest.mark.parametrize(
    ("spec", "num_matches", "max_empty"),
    [
        ("tic-tac-toe", 60, 9),
        ("connect-four:cols=4,k=3,rows=4", 40, 10),
        ("connect-four:cols=8,rows=4", 80, 8),
        ("gomoku:k=3,size=4", 60, 7),
        ("gomoku:exact=on,k=3,size=4", 60, 7),
        ("gomoku:k=4,size=6", 80, 6),
    ],
)
def test_every_position_near_the_end_is_as_brute_force_finds_it(
    spec: str, num_matches: int, max_empty: int
) -> None:
    game = make(spec)
    solver = solver_for(game)
    assert isinstance(solver, LinesSolver)
    known: Known = {}
    states = list(late_states(game, seeded(1), num_matches, max_empty))
    assert len(states) > 20
    for state in states:
        solved = solver.solve(state)
        assert solved.is_complete
        assert solved.actions == truths(state, known)
        assert solved.worth == truth(state, known)
        assert solver.outcome(state) == solved.worth.outcome


@pytest.mark.parametrize(
    ("spec", "worth"),
    [
        ("tic-tac-toe", Worth(0, 9)),
        ("gomoku:k=3,size=4", Worth(1, 5)),
        ("gomoku:k=4,size=4", Worth(0, 16)),
        ("gomoku:k=4,size=5", Worth(0, 25)),
        ("connect-four:cols=4,rows=4", Worth(0, 16)),
        ("connect-four:cols=5,rows=4", Worth(0, 20)),
        ("connect-four:cols=5,rows=5", Worth(0, 25)),
    ],
)
def test_known_values_of_small_games(spec: str, worth: Worth) -> None:
    game = make(spec)
    solver = solver_for(game)
    assert solver is not None
    solved = solver.solve(game.initial_state())
    assert solved.is_complete
    assert solved.worth == worth


def test_symmetric_actions_have_the_same_worth() -> None:
    game = make("gomoku:k=3,size=4")
    solver = solver_for(game)
    assert solver is not None
    actions = solver.solve(game.initial_state()).actions
    for symmetry in game.symmetries:
        assert all(actions[action] == actions[symmetry.actions[action]] for action in actions)


def test_a_game_that_is_too_large_stays_unknown_within_the_budget() -> None:
    game = make("gomoku:k=4,size=6")
    solver = solver_for(game, small=True)
    assert solver is not None
    solved = solver.solve(game.initial_state(), nodes=2_000)
    assert solved.worth == Worth(None, None)
    assert solved.nodes <= 2_001
    assert not solved.is_complete


@pytest.mark.parametrize("spec", ["gomoku", "connect-four:cols=10,k=3,rows=6"])
def test_a_board_beyond_a_word_has_no_solver(spec: str) -> None:
    assert solver_for(make(spec)) is None
