"""Compiled alpha-beta: scores, best actions and depths of the plain one, within its limits, in any slices."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numba.core import config

from arena_bots import search as package
from arena_bots.search.alphabeta import AlphaBeta, Verdict
from arena_bots.search.alphabeta_board import WON
from arena_bots.search.alphabeta_compiled import CompiledAlphaBeta, compiled_search
from arena_bots.search.alphabeta_table import MAX_AGE
from arena_bots.search.budget import Budget
from arena_bots.search.lines import OpenLines, line_length
from arena_plugins.contract import Limit
from game_samples import make, seeded

if TYPE_CHECKING:
    from random import Random

    from arena.games.k_in_a_row import KInARow, KInARowState

UNBOUND = Budget(math.inf, math.inf)
SPECS = {
    "tic-tac-toe": (9, 9, 50),
    "connect-four": (4, 42, 90),
    "connect-four:cols=10,k=3,rows=4": (4, 30, 40),
    "connect-four:cols=5,k=5,rows=3": (6, 15, 25),
    "connect-four:cols=9,rows=8": (3, 72, 40),
    "gomoku:k=4,size=6": (3, 36, 50),
    "gomoku:exact=on,k=3,size=6": (2, 30, 60),
    "gomoku:exact=on,size=15": (1, 120, 10),
    "gomoku": (1, 225, 15),
    "gomoku:k=2,size=3": (3, 4, 10),
}
"""Per game: maximum search depth in plies, maximum number of plies played before, number of positions."""


def search_of(game: KInARow, depth: int = 9) -> CompiledAlphaBeta:
    search = compiled_search(game, depth)
    assert search is not None
    return search


def searched(search: AlphaBeta | CompiledAlphaBeta, state: KInARowState, depth: int) -> Verdict:
    verdict = search.deepen(state, depth, UNBOUND)
    assert verdict is not None
    return verdict


def position(game: KInARow, rng: Random, plies: int) -> KInARowState:
    """Play at random, to a state that is not terminal."""
    while True:
        state = game.initial_state()
        for _ in range(rng.randint(0, plies)):
            if not state.is_terminal:
                state = state.child(rng.choice(state.legal_actions))
        if not state.is_terminal:
            return state


def check_line(game: KInARow, state: KInARowState, line: tuple[int, ...], verdict: Verdict) -> None:
    """Check that the principal variation leads to the result that the score gives."""
    player = state.current_player
    for action in line:
        state = state.child(action)
    if abs(verdict.score) > WON // 2:
        assert state.returns[player] == math.copysign(1, verdict.score)
        assert len(line) == WON - abs(verdict.score)
    elif state.is_terminal:
        assert verdict.score == state.returns[player] == 0
    else:
        assert len(line) == verdict.depth + 1
        points = OpenLines(game.shape, line_length(game))(state.cells)
        assert verdict.score == (-points if player else points)


@pytest.mark.parametrize("spec", SPECS)
def test_finds_what_plain_alpha_beta_finds(spec: str) -> None:
    deepest, plies, count = SPECS[spec]
    game, rng = make(spec), seeded(7)
    plain, compiled = AlphaBeta(game), search_of(game)
    for _ in range(count):
        state, depth = position(game, rng, plies), rng.randint(0, deepest)
        expected, found = searched(plain, state, depth), searched(compiled, state, depth)
        case = f"{spec} {state.history} to {depth}"
        assert set(found.best) == set(expected.best), case
        assert found.depth == expected.depth, case
        assert compiled.value(found.score) == plain.value(expected.score), case
        assert compiled.distance(found.score) == plain.distance(expected.score), case
        for line in found.best.values():
            check_line(game, state, line, found)


@pytest.mark.parametrize(("spec", "depth"), [("connect-four", 5), ("gomoku:k=4,size=6", 2), ("gomoku", 1)])
def test_the_empty_board_is_searched_once_for_all_its_images(spec: str, depth: int) -> None:
    game = make(spec)
    state = game.initial_state()
    found = searched(search_of(game), state, depth)
    assert set(found.best) == set(searched(AlphaBeta(game), state, depth).best)
    for action, line in found.best.items():
        assert line[0] == action
        check_line(game, state, line, found)


@pytest.mark.parametrize("nodes", [7, 60, 200, 1000, 30_000])
def test_a_node_limit_gives_the_deepest_completed_depth(nodes: int) -> None:
    game = make("connect-four")
    state, search = game.initial_state(), search_of(game, 40)
    cut = search.deepen(state, 40, Budget(nodes, math.inf))
    assert cut is not None
    assert cut.depth < 40
    assert cut.nodes <= nodes
    assert searched(search, state, cut.depth) == cut
    assert searched(search, state, cut.depth + 1).nodes > nodes


def test_no_limit_is_too_small_to_be_kept() -> None:
    game = make("connect-four")
    search = search_of(game)
    assert search.deepen(game.initial_state(), 5, Budget(6, math.inf)) is None
    assert search.deepen(game.initial_state(), 5, Budget(math.inf, 0.0)) is None


def test_a_time_limit_ends_a_search_too_deep() -> None:
    game = make("gomoku")
    verdict = search_of(game, 99).deepen(game.initial_state(), 99, Budget.of(Limit(seconds=0.2)))
    assert verdict is not None
    assert verdict.depth < 20


def test_a_search_that_pauses_at_every_stone_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    game = make("connect-four")
    state = position(game, seeded(3), 12)
    search = search_of(game)
    at_once = searched(search, state, 6)
    monkeypatch.setattr(search, "_slice", 1)
    assert searched(search, state, 6) == at_once


def test_searches_before_change_nothing() -> None:
    game, rng = make("connect-four"), seeded(5)
    states = [position(game, rng, 30) for _ in range(20)]
    search = search_of(game)
    for number in range(MAX_AGE + len(states)):
        searched(search, states[number % len(states)], 2)
    deep = [searched(search, state, 6) for state in states]
    assert deep == [searched(search_of(game), state, 6) for state in states]


MODULES = ("board", "frames", "leaves", "table", "kernels", "compiled")


@pytest.mark.parametrize(
    ("spec", "depth"), [("connect-four", 4), ("gomoku:exact=on,k=3,size=5", 2), ("tic-tac-toe", 8)]
)
def test_kernels_mean_the_same_uncompiled(spec: str, depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uncompiled, Python checks what kernels do not: no index is too large, and only hash sums overflow."""
    game, rng = make(spec), seeded(11)
    states = [position(game, rng, 20) for _ in range(12)]
    few = Budget(60, math.inf)
    expected = [searched(search_of(game), state, depth) for state in states]
    cut = [search_of(game).deepen(state, depth, few) for state in states]
    monkeypatch.setattr(config, "DISABLE_JIT", True)
    for name in MODULES:
        module = sys.modules[f"arena_bots.search.alphabeta_{name}"]
        # Afterwards the package has the compiled kernels again.
        monkeypatch.setattr(package, f"alphabeta_{name}", module)
        monkeypatch.delitem(sys.modules, module.__name__)
    from arena_bots.search.alphabeta_compiled import compiled_search as uncompiled_search

    assert uncompiled_search is not compiled_search
    with np.errstate(over="ignore"):
        search = uncompiled_search(game, 9)
        assert search is not None
        assert [searched(search, state, depth) for state in states] == expected
        assert [search.deepen(state, depth, few) for state in states] == cut
        monkeypatch.setattr(sys.modules["arena_bots.search.alphabeta_compiled"], "WORK", 1)
        assert searched(search, states[0], depth) == expected[0]
