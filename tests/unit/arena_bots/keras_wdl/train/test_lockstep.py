from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena_bots.keras_wdl.train.array_rules import ArrayRules
from arena_bots.keras_wdl.train.lockstep import LockstepPlan, against_random, plain_plan, play
from game_samples import make

if TYPE_CHECKING:
    from numpy.typing import NDArray

GAMES = ("connect-four", "tic-tac-toe", "gomoku:k=4,size=6")


def careless(mine: NDArray[np.uint64], _other: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Judge all positions the same."""
    return np.full(len(mine), 0.5, np.float32)


@pytest.mark.parametrize("spec", GAMES)
def test_games_obey_the_rules(spec: str) -> None:
    game = make(spec)
    plan = LockstepPlan(
        np.arange(30) % 9, np.linspace(0, 1, 30), np.arange(30) % 3 - 1, np.full(30, 0.5), is_exact=True
    )
    games = play(ArrayRules(game), careless, plan, np.random.default_rng(1))
    for actions, length, outcome in zip(games.actions, games.lengths, games.outcomes, strict=True):
        state = game.initial_state()
        for action in actions[:length].tolist():
            state = state.child(action)
        assert state.is_terminal
        assert state.returns[0] == outcome


def test_the_same_seed_gives_the_same_games() -> None:
    rules = ArrayRules(make("connect-four"))
    first, again, other = (
        play(rules, careless, plain_plan(20), np.random.default_rng(seed)).actions for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_judge_is_believed() -> None:
    rules = ArrayRules(make("tic-tac-toe"))
    middle = np.uint64(1) << np.uint64(rules.bits[4])

    def central(mine: NDArray[np.uint64], _other: NDArray[np.uint64]) -> NDArray[np.float32]:
        return ((mine & middle) != 0).astype(np.float32)

    games = play(rules, central, plain_plan(10), np.random.default_rng(1))
    assert set(games.actions[:, 0].tolist()) == {4}


def test_wins_are_taken_and_so_random_play_is_beaten() -> None:
    (wins, _, losses), (other_wins, _, other_losses) = against_random(
        ArrayRules(make("connect-four")), careless, 400, np.random.default_rng(2)
    )
    # In play of random bots the sides win 55.6 and 44.1 %.
    assert wins > 260
    assert losses < 140
    assert other_wins > other_losses


def test_rivals_slip_as_often_as_their_game_says() -> None:
    rules = ArrayRules(make("tic-tac-toe"))
    middle = np.uint64(1) << np.uint64(rules.bits[4])

    def central(mine: NDArray[np.uint64], _other: NDArray[np.uint64]) -> NDArray[np.float32]:
        return ((mine & middle) != 0).astype(np.float32)

    count = 90
    slips = np.repeat([0.0, 1.0], count)
    none = np.zeros(2 * count, np.int64)
    plan = LockstepPlan(none, np.zeros(2 * count), none, slips, is_exact=False)
    firsts = play(rules, central, plan, np.random.default_rng(4)).actions[:, 0]
    assert set(firsts[:count].tolist()) == {4}
    assert set(firsts[count:].tolist()) == set(range(9))


def test_proofs_are_right() -> None:
    game = make("tic-tac-toe")
    rules = ArrayRules(game)
    plan = LockstepPlan(np.full(200, 9), np.ones(200), np.full(200, -1), np.ones(200), is_exact=True)
    proofs = play(rules, careless, plan, np.random.default_rng(3), proofs=1.0).proofs
    assert proofs.is_won.any()
    assert not proofs.is_won.all()
    look = rules.look(proofs.other, proofs.mine)
    # A side that is said to lose has no other way; a side that is said to win faces no win.
    assert np.array_equal((look.kinds == 2).any(axis=1), ~proofs.is_won)
