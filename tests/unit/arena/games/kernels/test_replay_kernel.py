"""Matches replayed in bulk have the results of the plain rules, including invalid matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.games.kernels.replay_kernel import BROKEN, OPEN, replayed_ends
from game_samples import SPECS, make, seeded
from pile_game import Pile

if TYPE_CHECKING:
    from arena_plugins.contract import Game


def plain_end(game: Game, actions: list[int]) -> int:
    state = game.initial_state()
    for action in actions:
        if action not in state.legal_actions:
            return BROKEN
        state = state.child(action)
    return round(state.returns[0]) if state.is_terminal else OPEN


def some_matches(game: Game, num: int, seed: int) -> list[list[int]]:
    """Return complete matches, beginnings of matches, and matches with an action that may be illegal."""
    rng, found = seeded(seed), list[list[int]]()
    for number in range(num):
        state = game.initial_state()
        while not state.is_terminal:
            state = state.child(rng.choice(state.legal_actions))
        actions = list(state.history)
        if number % 3 == 1:
            actions = actions[: rng.randrange(len(actions) + 1)]
        if number % 3 == 2:
            actions.insert(rng.randrange(len(actions) + 1), rng.randrange(game.num_actions + 2))
        found.append(actions)
    return found


@pytest.mark.parametrize("spec", [*SPECS, "gomoku:size=9"])
def test_ends_are_those_of_the_plain_rules(spec: str) -> None:
    game = make(spec)
    matches = [[], *some_matches(game, 120, seed=5)]
    starts = np.cumsum([0, *map(len, matches)]).astype(np.int64)
    flat = np.array([action for actions in matches for action in actions], np.uint16)
    ends = replayed_ends(game, flat, starts)
    assert ends is not None
    assert ends.tolist() == [plain_end(game, actions) for actions in matches]
    assert {BROKEN, OPEN} < set(ends.tolist())


def test_another_kind_of_game_has_no_kernel() -> None:
    assert replayed_ends(Pile(), np.zeros(0, np.uint16), np.zeros(1, np.int64)) is None
