"""The compiled trainers: they follow the formulas, equal their plain Python code, and learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from arena.games.kernels.chance import seeded as chance_of
from arena.games.kernels.layout import layout_of, words_of
from arena_bots.td_lambda.features import WINDOWS
from arena_bots.td_lambda.train import linear_kernels, tuple_kernels
from arena_bots.td_lambda.train.linear_kernels import choose_shallow
from arena_bots.td_lambda.train.training import geometric, linear, seed_of
from arena_bots.td_lambda.tuples import draw_tuples, parts_of
from brute_force import random_states
from game_samples import make, seeded
from plain_kernels import plain_kernels
from plain_td import LinearNumbers, PlainLinear, PlainTuples, SplitMix, TupleRates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.layout import Layout
    from arena_plugins import State

    Kernels = Any
    """A module of kernels, compiled or as it is written."""

CONNECT_FOUR = make("connect-four")
LAYOUT = cast("Layout", layout_of(CONNECT_FOUR))
RATES = np.array([0.05, 0.2, 0.8, 0.5, 0.0], np.float32)
RESULTS = 5


def learn_tuples(kernels: Kernels, games: int) -> tuple[Any, NDArray[np.int64]]:
    """Learn with a few small tuples; return the trained tables and the results."""
    parts, starts = parts_of(draw_tuples(6, 4, 1))
    memory, desk = kernels.new_memory(int(starts[-1])), kernels.new_desk(12)
    results = np.zeros(RESULTS, np.int64)
    kernels.learn(LAYOUT, parts, memory, desk, RATES, chance_of(1), games, results)
    return memory, results


def learn_linear(kernels: Kernels, games: int, **changed: float) -> tuple[Any, NDArray[np.float64]]:
    """Learn the linear value; return the learner and the results."""
    numbers = {"alpha": 0.003, "epsilon": 0.1, "trace": 0.8, "gamma": 0.9, "opening": 0.2, "rival": 0.5}
    numbers |= {"squashed": 0.0, "rules": 0.0} | changed
    learner, results = kernels.new_learner(), np.zeros(6)
    values = np.array(list(numbers.values()))
    kernels.learn_linear(LAYOUT, WINDOWS, learner, values, chance_of(1), games, results)
    return learner, results


def test_tuples_learn_as_they_are_written() -> None:
    compiled, results = learn_tuples(tuple_kernels, 6)
    with plain_kernels() as plain:
        written, same = learn_tuples(plain["tuple_kernels"], 6)
    assert results[:4].tolist() == same[:4].tolist()
    for name in ("weights", "sums", "sizes"):
        assert getattr(compiled, name) == pytest.approx(getattr(written, name), abs=1e-4)
    assert np.abs(compiled.weights).max() > 0


@pytest.mark.parametrize("changed", [{}, {"squashed": 1.0, "rules": 1.0}])
def test_the_linear_value_learns_as_it_is_written(changed: dict[str, float]) -> None:
    compiled, results = learn_linear(linear_kernels, 4, **changed)
    with plain_kernels() as plain:
        written, same = learn_linear(plain["linear_kernels"], 4, **changed)
    assert compiled.weights == pytest.approx(written.weights, abs=1e-9)
    assert results == pytest.approx(same)


def test_the_plain_twin_draws_the_published_numbers() -> None:
    rng = SplitMix(0)
    assert [rng.next() for _ in range(3)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize(
    ("numbers", "seed"),
    [
        (LinearNumbers(alpha=0.01, epsilon=0.3), 1),
        (LinearNumbers(alpha=0.05, gamma=0.7, opening=1.0, rival=1.0, squashed=1.0), 1),
        # Two of these games fill the board.
        (LinearNumbers(0.05, epsilon=0.2, trace=0.5, gamma=1.0, rival=0.0, squashed=1.0, rules=1.0), 8),
    ],
)
def test_the_linear_value_learns_by_the_formula(numbers: LinearNumbers, seed: int) -> None:
    weights = np.random.default_rng(3).normal(0, 0.1, 87)
    plain = PlainLinear(weights.tolist(), numbers, seed)
    for _ in range(6):
        plain.play()
    learner, results = linear_kernels.new_learner(weights), np.zeros(6)
    values = np.array(numbers)
    linear_kernels.learn_linear(LAYOUT, WINDOWS, learner, values, chance_of(seed), 6, results)
    assert learner.weights == pytest.approx(plain.weights, abs=1e-9)
    assert np.abs(learner.weights - weights).max() > 0.01
    told = [*plain.scores, plain.num_games, sum(plain.errors), len(plain.errors)]
    assert results == pytest.approx(told, abs=1e-9)


@pytest.mark.parametrize("rates", [TupleRates(), TupleRates(epsilon=0.5, trace=0.6, opening=0.0, alone=0.7)])
def test_tuples_learn_by_the_formula(rates: TupleRates) -> None:
    # With four tuples and their mirror images, sums of mirrored positions are equal to the last bit, so the
    # kernel finds the same ties as the exact sums.
    parts = parts_of(draw_tuples(4, 4, 1))
    entries = int(parts.starts[-1])
    weights = np.random.default_rng(3).integers(-128, 129, (2, entries)).astype(np.float32) / 1024
    plain = PlainTuples(parts, weights.tolist(), rates, 1)
    for _ in range(8):
        plain.play()
    memory, desk, results = (
        tuple_kernels.new_memory(entries),
        tuple_kernels.new_desk(8),
        np.zeros(5, np.int64),
    )
    memory.weights[:] = weights
    given = np.array(rates, np.float32)
    tuple_kernels.learn(LAYOUT, parts.parts, memory, desk, given, chance_of(1), 8, results)
    # The kernel computes in single precision.
    assert memory.weights == pytest.approx(np.array(plain.weights), abs=1e-6)
    assert memory.sums == pytest.approx(np.array(plain.sums), abs=1e-5)
    assert memory.sizes == pytest.approx(np.array(plain.sizes), abs=1e-5)
    assert np.abs(memory.weights - weights).max() > 0.01
    assert results[:4].tolist() == [*plain.outcomes, plain.num_plies]
    assert results[4] / 2**20 == pytest.approx(sum(plain.errors), abs=1e-4)


def test_games_of_tuples_are_games() -> None:
    _, (wins, draws, losses, plies, _) = learn_tuples(tuple_kernels, 300)
    assert wins + draws + losses == 300
    assert 300 * 7 <= plies <= 300 * 42


def test_tuples_come_to_foresee_results() -> None:
    parts, starts = parts_of(draw_tuples(20, 6, 1))
    memory, desk = tuple_kernels.new_memory(int(starts[-1])), tuple_kernels.new_desk(40)
    errors: list[float] = []
    for step in range(6):
        results = np.zeros(RESULTS, np.int64)
        tuple_kernels.learn(LAYOUT, parts, memory, desk, RATES, chance_of(step), 1000, results)
        errors.append(results[4] / results[3])
    assert errors[-1] < 0.9 * max(errors)


def test_of_two_players_one_alone_explores() -> None:
    parts, starts = parts_of(draw_tuples(6, 4, 1))
    chance, explorers = chance_of(2), set[int]()
    rates = np.array([0.05, 0.9, 0.8, 0.0, 1.0], np.float32)
    with plain_kernels() as plain:
        kernels = plain["tuple_kernels"]
        memory, desk = kernels.new_memory(int(starts[-1])), kernels.new_desk(12)
        for _ in range(8):
            _, last, _ = kernels._play(LAYOUT, parts, memory, desk, rates, chance)  # noqa: SLF001 # as below
            (player,) = {ply % 2 for ply in np.flatnonzero(desk.explored[:last]).tolist()}
            explorers.add(player)
    assert explorers == {0, 1}


def test_one_update_is_the_formula() -> None:
    """In a game with one own after-state, its weights change by alpha (target - value)(1 - value^2)."""
    memory, desk = tuple_kernels.new_memory(8), tuple_kernels.new_desk(2)
    desk.entries[1] = (3, 5)
    desk.greedy[1] = 0.5
    desk.explored[1] = True
    with plain_kernels() as plain:
        plain["tuple_kernels"]._learn_from(memory, desk, RATES, 1, 2, np.float32(-1))  # noqa: SLF001 # the step itself
    assert memory.weights[1, [3, 5]] == pytest.approx(0.05 * 0.5)
    assert memory.sums[1, [3, 5]] == pytest.approx(0.5)
    assert np.count_nonzero(memory.weights) == 2


def outlook(state: State) -> dict[int, int]:
    """Judge each action by the next two plies, by the plain rules: 2 wins, 1 forces a win, -1 loses."""
    found: dict[int, int] = {}
    for action in state.legal_actions:
        child = state.child(action)
        replies = [child.child(reply) for reply in child.legal_actions]
        if any(child.returns):
            found[action] = 2
        elif any(any(reply.returns) for reply in replies):
            found[action] = -1
        else:
            wins = [any(any(r.child(a).returns) for a in r.legal_actions) for r in replies]
            found[action] = 1 if wins and all(wins) else 0
    return found


def test_the_shallow_opponent_sees_three_plies() -> None:
    rng = seeded(1)
    chosen: set[int] = set()
    for plies in range(42):
        for state in random_states(CONNECT_FOUR, rng, 6, plies) if plies < 38 else []:
            worth = outlook(state)
            action = int(choose_shallow(*words_of(state), LAYOUT, chance_of(plies)))
            assert worth[action] == max(worth.values())
            chosen.add(worth[action])
    assert chosen == {2, 1, 0, -1}


def test_its_ties_are_drawn() -> None:
    start = words_of(CONNECT_FOUR.initial_state())
    assert {int(choose_shallow(*start, LAYOUT, chance_of(seed))) for seed in range(60)} == set(range(7))


def test_schedules_begin_and_end_where_they_say() -> None:
    assert geometric(0.1, 0.001, 0, 10) == pytest.approx(0.1)
    assert geometric(0.1, 0.001, 5, 10) == pytest.approx(0.01)
    assert geometric(0.1, 0.001, 20, 10) == pytest.approx(0.001)
    assert [linear(1.0, 0.0, step, 4) for step in (0, 1, 4, 9)] == [1.0, 0.75, 0.0, 0.0]
    assert len({seed_of(seed, step) for seed in range(5) for step in range(5)}) == 25
