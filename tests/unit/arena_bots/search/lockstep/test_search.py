"""The compiled search of many games equals the plain one: visits, proofs and policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.games.kernels.layout import words_of
from arena_bots.search.lockstep.forest import DRAW, NOWHERE, UNKNOWN, Rule
from arena_bots.search.lockstep.search import LockstepSearch, LockstepSettings
from brute_force import Known, truth
from game_samples import make
from plain_trees import PlainTree, WaveNet, random_states

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARowState
    from arena_plugins.contract import State

GAMES = ("connect-four", "gomoku:k=4,size=6")
PUCT = Rule(is_gumbel=False, c_puct=1.5, cautious=False)
CAUTIOUS = Rule(is_gumbel=False, c_puct=5.0, cautious=True)
GUMBEL = Rule(is_gumbel=True, c_puct=0.0, cautious=False)


def planted(spec: str, states: list[KInARowState], rule: Rule, **settings: int) -> LockstepSearch:
    game = make(spec)
    net = WaveNet(game.num_actions)
    search = LockstepSearch(game, net, LockstepSettings(rule, lanes=len(states), **settings))
    plant(search, states)
    return search


def plant(search: LockstepSearch, states: list[KInARowState]) -> None:
    words = [words_of(state) for state in states]
    own, opp = (np.array([pair[side] for pair in words], np.uint64) for side in (0, 1))
    search.plant(own, opp, np.array([state.last for state in states], np.uint64))


@pytest.mark.parametrize("rule", [PUCT, CAUTIOUS, GUMBEL])
@pytest.mark.parametrize("spec", GAMES)
def test_it_is_the_plain_search(spec: str, rule: Rule) -> None:
    game = make(spec)
    states = [game.initial_state(), *random_states(game, 11, seed=3)]
    search = planted(spec, states, rule)
    plain = [PlainTree(state, WaveNet(game.num_actions), rule) for state in states]
    for _ in range(90):
        active = search.is_open
        search.step(active)
        for tree, is_active in zip(plain, active.tolist(), strict=True):
            if is_active:
                tree.step()
    found = search.results()
    for lane, tree in enumerate(plain):
        visits = dict.fromkeys(range(game.num_actions), 0) | tree.root.visits
        assert found.visits[lane].tolist() == list(visits.values())
        proof = int(search.forest.proof[lane, 0])
        assert (None if proof == UNKNOWN else DRAW - proof) == tree.root.proof
        improved = tree.root.improved(rule)
        assert found.policy[lane, list(improved)] == pytest.approx(list(improved.values()), abs=1e-3)
        assert found.policy[lane].sum() == pytest.approx(1, abs=1e-5)
        value = tree.root.value() if tree.root.proof is None else tree.root.proof
        assert found.values[lane] == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("rule", [PUCT, GUMBEL])
def test_what_is_proven_is_the_result_of_perfect_play(rule: Rule) -> None:
    """A node is a proven draw only when no child can be better, so open children must be proven first."""
    game = make("tic-tac-toe")
    states = [game.initial_state(), *random_states(game, 30, seed=6)]
    search = planted("tic-tac-toe", states, rule, nodes=600)
    known: Known = {}
    # The improved policy may visit a proven draw for ever, so not every root gets proven.
    for _ in range(400):
        search.step(search.is_open)
    assert (~search.is_open).sum() > len(states) / 2
    forest = search.forest
    for lane, state in enumerate(states):
        reached: list[tuple[int, State]] = [(0, state)]
        while reached:
            node, position = reached.pop()
            if (proof := int(forest.proof[lane, node])) != UNKNOWN:
                assert DRAW - proof == truth(position, known).outcome
            children = forest.child[lane, node].tolist()
            reached += [(child, position.child(action)) for action, child in enumerate(children) if child]


@pytest.mark.parametrize("spec", GAMES)
def test_first_actions_are_obeyed_and_visits_add_up(spec: str) -> None:
    game = make(spec)
    states = random_states(game, 8, seed=5)
    search = planted(spec, states, PUCT)
    made = np.zeros(len(states), np.int64)
    for number in range(40):
        active = search.is_open & (np.arange(len(states)) % 3 != number % 3)
        legal = [state.legal_actions for state in states]
        firsts = np.array([some[number % len(some)] for some in legal], np.int32)
        firsts[search.forest.prior[np.arange(len(states)), 0, firsts] < 0] = NOWHERE
        before = search.results().visits
        search.step(active, firsts)
        gained = search.results().visits - before
        made += active
        for lane in np.flatnonzero(active & (firsts != NOWHERE)).tolist():
            assert gained[lane, firsts[lane]] == 1
    visits = search.results().visits
    assert visits.sum(axis=1).tolist() == made.tolist()
    for lane, state in enumerate(states):
        assert not visits[lane, [a for a in range(game.num_actions) if a not in state.legal_actions]].any()


@pytest.mark.parametrize("spec", GAMES)
def test_what_is_kept_is_what_was_found(spec: str) -> None:
    game = make(spec)
    states = random_states(game, 10, seed=7)
    search = planted(spec, states, PUCT, nodes=130)
    for _ in range(120):
        search.step(search.is_open)
    forest, found = search.forest, search.results()
    moves = found.visits.argmax(axis=1).astype(np.int32)
    moves[0] = NOWHERE
    below = [int(forest.child[lane, 0, move]) for lane, move in enumerate(moves.tolist())]
    visits = [forest.visits[lane, node].copy() for lane, node in enumerate(below)]
    priors = [forest.prior[lane, node].copy() for lane, node in enumerate(below)]
    open_below = [bool(node) and forest.proof[lane, node] == UNKNOWN for lane, node in enumerate(below)]
    kept = search.advance(moves)
    assert kept.tolist() == [True, *open_below[1:]]
    assert any(open_below[1:])
    assert (found.visits[0] == search.results().visits[0]).all()
    for lane in np.flatnonzero(kept[1:]).tolist():
        assert (forest.visits[lane + 1, 0] == visits[lane + 1]).all()
        assert (forest.prior[lane + 1, 0] == priors[lane + 1]).all()
        own, opp = words_of(states[lane + 1].child(int(moves[lane + 1])))
        assert (forest.own[lane + 1, 0], forest.opp[lane + 1, 0]) == (own, opp)
        assert forest.size[lane + 1] <= 1 + visits[lane + 1].sum()
    # The kept trees can be searched further, and full trees still count visits.
    for _ in range(200):
        search.step(search.is_open & kept)
    assert forest.size.max() == 130
    again = search.results().visits
    assert all(
        again[lane].sum() == visits[lane].sum() + 200
        for lane in np.flatnonzero(kept).tolist()[1:]
        if search.is_open[lane]
    )


def test_the_net_is_asked_once_for_a_position() -> None:
    state = make("connect-four").initial_state()
    search = planted("connect-four", [state], PUCT)
    for _ in range(50):
        search.step(search.is_open)
    asked = search.num_asked
    plant(search, [state])
    for _ in range(50):
        search.step(search.is_open)
    assert search.num_asked - asked < 8
    asked = search.num_asked
    search.change_net(WaveNet(7))
    plant(search, [state])
    assert search.num_asked > asked


@pytest.mark.parametrize(
    ("spec", "cells"),
    [("connect-four", 12), ("connect-four", 20), ("gomoku:k=4,size=6", 12), ("tic-tac-toe", 12)],
)
def test_last_cells_are_solved_rightly(spec: str, cells: int) -> None:
    from arena.games.solver.find import solver_for

    game = make(spec)
    solver = solver_for(game)
    assert solver is not None
    states = [
        state for state in random_states(game, 1500, seed=11) if game.max_length - len(state.history) <= cells
    ][:40]
    assert len(states) > 10
    search = planted(spec, states, PUCT, ending_cells=cells)
    for action in range(game.num_actions):
        firsts = np.full(len(states), action, np.int32)
        firsts[search.forest.prior[:, 0, action] < 0] = NOWHERE
        search.step(search.is_open, firsts)
    for lane, state in enumerate(states):
        assert DRAW - int(search.forest.proof[lane, 0]) == solver.outcome(state)


def test_only_connect_four_has_long_endings() -> None:
    with pytest.raises(ValueError, match="tic-tac-toe is solved with up to 12 empty cells, not 13"):
        LockstepSearch(make("tic-tac-toe"), WaveNet(9), LockstepSettings(PUCT, ending_cells=13))


def test_noise_is_a_share_of_the_priors() -> None:
    search = planted("connect-four", [make("connect-four").initial_state()], PUCT)
    before = search.forest.prior[0, 0].copy()
    noise = np.array([[1, 0, 0, 0, 0, 0, 3]], np.float32)
    search.mix_priors(noise, 0.2)
    assert search.forest.prior[0, 0] == pytest.approx(0.8 * before + 0.2 * noise[0] / 4, abs=1e-6)


def test_a_game_without_kernels_is_refused() -> None:
    game = make("gomoku")
    with pytest.raises(ValueError, match="there are no kernels for gomoku of this size"):
        LockstepSearch(game, WaveNet(225), LockstepSettings(PUCT))
