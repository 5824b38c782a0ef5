"""The solver of Connect Four: against brute force, within budgets, equal one by one and in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.errors import ArenaError
from arena.games.solver.book import shipped_book
from arena.games.solver.connect_four_solver import ConnectFourSolver, distance_of
from arena.games.solver.find import solver_for
from arena.games.solver.solved import ILLEGAL, UNSOLVED, Worth
from brute_force import Known, late_states, random_states, truth, truths
from game_samples import make, seeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.games.solver.solved import Solved
    from arena_plugins.contract import State

GAME = make("connect-four")


def after(actions: Sequence[int]) -> State:
    state: State = GAME.initial_state()
    for action in actions:
        state = state.child(action)
    return state


@pytest.fixture(scope="module")
def solver() -> ConnectFourSolver:
    return ConnectFourSolver(GAME, None, top_bits=16)


def test_every_position_near_the_end_is_as_brute_force_finds_it(solver: ConnectFourSolver) -> None:
    known: Known = {}
    states = list(late_states(GAME, seeded(1), 300, max_empty=10))
    assert len(states) > 50
    for state in states:
        solved = solver.solve(state)
        assert solved.is_complete
        assert solved.actions == truths(state, known)
        assert solved.worth == truth(state, known)
        assert solver.outcome(state) == solved.worth.outcome


def test_outcomes_in_bulk_are_those_one_by_one(solver: ConnectFourSolver) -> None:
    states = list(late_states(GAME, seeded(3), 200, max_empty=14))
    own, opp = (np.array([getattr(state, side) for state in states], np.uint64) for side in ("own", "opp"))
    found = solver.outcomes(own, opp, nodes=10**6)
    assert found.tolist() == [solver.outcome(state) for state in states]
    solver.clear()
    spent = solver.outcomes(own, opp, nodes=1)
    assert UNSOLVED in spent
    assert ((spent == found) | (spent == UNSOLVED)).all()


def test_best_are_the_actions_of_the_best_worth_and_optimal_those_of_the_best_outcome(
    solver: ConnectFourSolver,
) -> None:
    known: Known = {}
    for state in late_states(GAME, seeded(2), 300, max_empty=9):
        solved, found = solver.solve(state), truths(state, known)
        top = max(worth.merit for worth in found.values())
        assert solved.best == tuple(action for action, worth in found.items() if worth.merit == top)
        assert solved.optimal == tuple(action for action, worth in found.items() if worth.outcome == top[0])


@pytest.mark.parametrize("distances", [True, False])
def test_many_positions_in_one_call_are_as_one_by_one(solver: ConnectFourSolver, *, distances: bool) -> None:
    states = [state for plies in (20, 24, 33, 41) for state in random_states(GAME, seeded(plies), 10, plies)]
    states.append(after([3, 3, 3, 3, 3, 3, 0, 1, 0, 1, 0, 1, 0]))
    labels = solver.label(states, distances=distances)
    for state, outcomes, away in zip(states, labels.outcomes, labels.distances, strict=True):
        solved = solver.solve(state)
        for action in range(7):
            worth = solved.actions.get(action, Worth(ILLEGAL, 0))
            assert outcomes[action] == worth.outcome
            assert away[action] == worth.distance or (not distances and away[action] == 0)


def test_mirror_images_have_the_same_worth(solver: ConnectFourSolver) -> None:
    for state in random_states(GAME, seeded(3), 10, 22):
        mirrored = solver.solve(after([6 - action for action in state.history])).actions
        assert solver.solve(state).actions == {6 - action: worth for action, worth in mirrored.items()}


def test_a_win_now_a_block_and_a_lost_position(solver: ConnectFourSolver) -> None:
    won = solver.solve(after([0, 1, 0, 1, 0, 1]), nodes=0, distances=False)
    assert won.worth.outcome == 1
    assert won.actions[0] == Worth(1, 1)
    assert won.best == (0,)
    lost = solver.solve(after([3, 0, 4, 0, 5]))
    assert lost.worth == Worth(-1, 2)
    assert lost.actions[2] == lost.actions[6] == Worth(-1, 2)


def test_a_position_that_is_over(solver: ConnectFourSolver) -> None:
    state = after([0, 1, 0, 1, 0, 1, 0])
    solved = solver.solve(state)
    assert solved == (Worth(-1, 0), {}, 0, True)
    assert (solved.best, solved.optimal) == ((), ())
    assert solver.outcome(state) == -1
    assert (solver.label([state]).outcomes == ILLEGAL).all()


def test_a_budget_of_nodes_ends_the_search(solver: ConnectFourSolver) -> None:
    solver.clear()
    state = GAME.initial_state()
    solved = solver.solve(state, nodes=3_000)
    assert solved.nodes <= 3_001
    assert not solved.is_complete
    assert solved.worth == Worth(None, None)
    assert set(solved.actions) == set(range(7))
    assert (solver.label([state], nodes=3_000).outcomes == UNSOLVED).all()
    assert solver.outcome(state, nodes=3_000) is None


def test_a_budget_of_seconds_ends_the_search(
    solver: ConnectFourSolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(np.arange(0.0, 10.0, 0.3))
    monkeypatch.setattr("arena.games.solver._budget.perf_counter", lambda: float(next(clock)))
    solver.clear()
    heard: list[Solved] = []
    solved = solver.solve(GAME.initial_state(), seconds=1.0, on_progress=heard.append)
    assert not solved.is_complete
    assert 0 < solved.nodes < 5_000_000
    assert [found.is_complete for found in heard] == [False] * len(heard)
    assert heard


def test_what_is_interrupted_ends_all_the_same(
    solver: ConnectFourSolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    (state,) = random_states(GAME, seeded(9), 1, 16)
    whole = solver.solve(state)
    monkeypatch.setattr("arena.games.solver._budget._FIRST", 100)
    solver.clear()
    heard: list[Solved] = []
    assert solver.solve(state, on_progress=heard.append).actions == whole.actions
    for found in heard:
        for action, (outcome, distance) in found.actions.items():
            assert outcome in {None, whole.actions[action].outcome}
            assert distance in {None, whole.actions[action].distance}


def test_the_outcome_depends_on_the_position_alone(solver: ConnectFourSolver) -> None:
    states = random_states(GAME, seeded(4), 30, 15)
    found = [solver.outcome(state, nodes=20_000) for state in states]
    assert {None, -1, 1} <= set(found)
    assert found[::-1] == [solver.outcome(state, nodes=20_000) for state in reversed(states)]


def test_outcomes_without_distances_cost_less(solver: ConnectFourSolver) -> None:
    states = random_states(GAME, seeded(5), 20, 18)
    nodes = dict.fromkeys((True, False), 0)
    for distances in nodes:
        for state in states:
            solver.clear()
            nodes[distances] += solver.solve(state, distances=distances).nodes
    assert nodes[False] < 0.7 * nodes[True]


def test_the_best_actions_alone_cost_less(solver: ConnectFourSolver) -> None:
    spent = whole_spent = 0
    for state in random_states(GAME, seeded(6), 40, 20):
        solver.clear()
        whole = solver.solve(state)
        solver.clear()
        solved = solver.solve(state, distances="best")
        spent, whole_spent = spent + solved.nodes, whole_spent + whole.nodes
        assert solved.is_complete
        assert (solved.worth, solved.best) == (whole.worth, whole.best)
        # The known values of the other actions are correct.
        for action, (outcome, distance) in solved.actions.items():
            assert outcome in {None, whole.actions[action].outcome}
            assert distance in {None, whole.actions[action].distance}
    assert spent < 0.5 * whole_spent


def test_after_a_long_search_no_more_of_the_best_actions_are_looked_for() -> None:
    solver = ConnectFourSolver(GAME, None, top_bits=16)
    num_more = 0
    for state in random_states(GAME, seeded(8), 20, 16):
        spent: list[int] = []
        for usual in (0, 1, 2):
            # The first search has no usual number of nodes. The second takes twice the usual number, so no
            # more actions are searched; the third takes exactly the usual number, so they are.
            solver.usual_nodes = usual * spent[0] // 2 if spent else 0
            solver.clear()
            spent.append(solver.solve(state, distances="best").nodes)
        assert spent[1] == spent[0]
        num_more += spent[2] > spent[0]
    assert num_more > 5


@pytest.mark.parametrize("ply", [8, 9])
def test_what_the_book_tells_of_positions_behind_it_is_right_and_saves_work(ply: int) -> None:
    with_book, without = ConnectFourSolver(GAME, shipped_book()), ConnectFourSolver(GAME, None)
    spent = whole_spent = 0
    for state in random_states(GAME, seeded(ply), 6, ply):
        helped, whole = with_book.solve(state, distances="best"), without.solve(state, distances="best")
        assert helped.worth == whole.worth
        assert set(helped.best) & set(whole.best)
        spent, whole_spent = spent + helped.nodes, whole_spent + whole.nodes
    assert spent < whole_spent


def test_where_the_budget_ends_nothing_untrue_is_said_of_the_best_actions(solver: ConnectFourSolver) -> None:
    for state in random_states(GAME, seeded(7), 30, 18):
        whole = solver.solve(state)
        for nodes in (0, 10, 1_000, 10_000):
            solver.clear()
            solved = solver.solve(state, nodes=nodes, distances="best")
            # A search that is called once too often counts the node at which it stops.
            assert solved.nodes <= nodes + 1
            assert solved.worth.outcome in {None, whole.worth.outcome}
            for action, (outcome, _) in solved.actions.items():
                assert outcome in {None, whole.actions[action].outcome}
            if solved.is_complete:
                assert set(solved.best) <= set(whole.best)


def test_actions_that_lose_at_once_are_known_without_a_search(solver: ConnectFourSolver) -> None:
    known = 0
    for state in random_states(GAME, seeded(8), 60, 14):
        solver.clear()
        solved = solver.solve(state, nodes=0, distances="best")
        for action in state.legal_actions:
            child = state.child(action)
            if wins_at_once(child):
                assert solved.actions[action] == Worth(-1, 2)
                known += 1
    assert known > 50


def wins_at_once(state: State) -> bool:
    """Return whether the side to move can complete four with its next stone."""
    return any(state.child(action).returns[state.current_player] > 0 for action in state.legal_actions)


def test_the_only_answer_is_the_action_after_which_the_opponent_does_not_win_at_once(
    solver: ConnectFourSolver,
) -> None:
    forced = 0
    for ply in (9, 16, 30, 41):
        for state in random_states(GAME, seeded(ply), 60, ply):
            safe = [action for action in state.legal_actions if not wins_at_once(state.child(action))]
            expected = safe[0] if len(safe) == 1 and not wins_at_once(state) else None
            assert solver.only_answer(state) == expected
            forced += expected is not None
    assert forced > 20
    assert solver.only_answer(after([0, 1, 0, 1, 0, 1, 0])) is None


def test_a_state_of_another_game_is_refused(solver: ConnectFourSolver) -> None:
    for spec in ("tic-tac-toe", "connect-four:cols=8"):
        with pytest.raises(ArenaError, match="another game was given to the solver of connect-four"):
            solver.solve(make(spec).initial_state())


def test_scores_stand_for_the_ply_of_the_end() -> None:
    assert [distance_of(score, 0) for score in (18, 1, 0, -1, -18)] == [7, 41, 42, 42, 8]
    assert [distance_of(score, 41) for score in (1, 0)] == [1, 1]
    assert [distance_of(score, 40) for score in (0, -1)] == [2, 2]


@pytest.mark.parametrize("small", [True, False])
def test_the_solver_of_connect_four_is_found(*, small: bool) -> None:
    assert isinstance(solver_for(GAME, small=small), ConnectFourSolver)
