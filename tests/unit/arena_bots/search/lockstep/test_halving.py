"""Sequential halving: its schedules, and the remaining actions."""

from __future__ import annotations

from collections import Counter
from math import ceil, log, log2
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.games.kernels.layout import words_of
from arena_bots.search.lockstep.forest import Rule
from arena_bots.search.lockstep.search import LockstepSearch, LockstepSettings
from arena_bots.search.lockstep.selecting import DONE, schedule, schedules
from game_samples import make
from plain_trees import PlainTree, WaveNet, random_states

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARowState

GUMBEL = Rule(is_gumbel=True, c_puct=0.0, cautious=False)
SIMULATIONS = 48
"""For 4 and 8 actions each phase has whole rounds, so all remaining actions have equally many visits."""


@pytest.mark.parametrize("considered", [2, 3, 5, 7, 16])
@pytest.mark.parametrize("simulations", [1, 7, 32, 100])
def test_visits_can_be_played_as_they_are_planned(considered: int, simulations: int) -> None:
    visits: Counter[int] = Counter(dict.fromkeys(range(considered), 0))
    for wanted in schedule(considered, simulations):
        chosen = next(action for action in visits if visits[action] == wanted)
        visits[chosen] += 1
    assert visits.total() == simulations


def test_halves_are_left_one_after_the_other() -> None:
    wanted = schedule(4, 16)
    # Two rounds for all four actions, then four rounds for the better two.
    assert wanted == (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5)
    assert schedule(1, 3) == (0, 1, 2)


def test_lanes_end_when_their_budgets_do() -> None:
    wanted = schedules(np.array([2, 4]), np.array([3, 5]))
    assert wanted.shape == (2, 5)
    assert wanted[0].tolist() == [*schedule(2, 3), DONE, DONE]


def test_two_actions_are_left_to_the_end() -> None:
    # By the rule of figure 1: four actions once, two of them twice, and the same two for the rest.
    assert schedule(4, 10) == (0, 0, 0, 0, 1, 1, 2, 2, 3, 3)
    for considered in range(2, 9):
        visited = Counter(schedule(considered, 60))
        # The last two actions have been visited at every number of visits except the last.
        assert min(visited[count] for count in range(max(visited))) >= 2


def halved(tree: PlainTree, gumbel: list[float], considered: int) -> int:
    """Search by algorithm 1 of Danihelka et al. (2022), with sets of actions; return the chosen action."""
    priors = tree.root.priors
    logits = {action: gumbel[action] + log(prior) for action, prior in priors.items()}
    left = sorted(logits, key=lambda action: -logits[action])[:considered]
    phases = ceil(log2(len(left)))
    used = 0
    while used < SIMULATIONS:
        for _ in range(max(1, SIMULATIONS // (phases * len(left)))):
            for action in left:
                tree.step(action)
            used += len(left)
        scores = tree.root.scores(GUMBEL)
        # The noise is the same in every phase; sigma(q) is part of the scores.
        left.sort(key=lambda action: -(gumbel[action] + scores[action]))
        left = left[: max(2, len(left) // 2)]
    return left[0]


@pytest.mark.parametrize(("spec", "considered"), [("connect-four", 4), ("gomoku:k=4,size=6", 8)])
def test_the_actions_with_the_best_noise_logits_and_values_remain(spec: str, considered: int) -> None:
    game = make(spec)
    states = [state for state in random_states(game, 40, seed=4) if len(state.history) < 9]
    trees = [PlainTree(state, WaveNet(game.num_actions), GUMBEL) for state in states]
    wide = [tree for tree in trees if tree.root.proof is None and len(tree.root.priors) >= considered]
    assert len(wide) >= 4
    search = planted([tree.root.state for tree in wide])
    noise = np.random.default_rng(2).gumbel(size=(len(wide), game.num_actions)).astype(np.float32)
    wanted = schedules(np.full(len(wide), considered), np.full(len(wide), SIMULATIONS))
    for number in range(SIMULATIONS):
        firsts = search.halve(noise, wanted[:, number].copy())
        search.step(search.is_open, firsts)
    chosen = search.halve(noise, search.results().visits.max(axis=1).astype(np.int32))
    compared = 0
    for lane, tree in enumerate(wide):
        best = halved(tree, noise[lane].tolist(), considered)
        if tree.root.proof is not None:
            continue
        compared += 1
        visits = dict.fromkeys(range(game.num_actions), 0) | tree.root.visits
        assert search.results().visits[lane].tolist() == list(visits.values())
        assert chosen[lane] == best
    assert compared >= 4


def planted(states: list[KInARowState]) -> LockstepSearch:
    game = states[0].game
    search = LockstepSearch(
        game, WaveNet(game.num_actions), LockstepSettings(GUMBEL, lanes=len(states), nodes=SIMULATIONS + 2)
    )
    words = [words_of(state) for state in states]
    own, opp = (np.array([pair[side] for pair in words], np.uint64) for side in (0, 1))
    search.plant(own, opp, np.array([state.last for state in states], np.uint64))
    return search


def test_without_values_an_action_is_drawn_by_its_prior() -> None:
    """Taking the maximum of logit plus Gumbel noise samples from the policy (Gumbel, 1954)."""
    game = make("connect-four")
    search = planted([game.initial_state()] * 4000)
    noise = np.random.default_rng(3).gumbel(size=(4000, 7)).astype(np.float32)
    drawn = np.bincount(search.halve(noise, np.zeros(4000, np.int32)), minlength=7)
    priors = search.forest.prior[0, 0].astype(np.float64)
    # A chi-square variable with six degrees of freedom exceeds 22.5 with probability 0.001.
    assert (((drawn - 4000 * priors) ** 2) / (4000 * priors)).sum() < 22.5
