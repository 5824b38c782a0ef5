from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.games.k_in_a_row import KInARowState
from arena_bots.keras_wdl.encoding import planes_of
from arena_bots.keras_wdl.train.array_rules import DRAWN, ILLEGAL, LOST, OPEN, SURE, WON, ArrayRules
from arena_plugins.errors import OptionError
from game_samples import make, seeded

if TYPE_CHECKING:
    from arena_plugins.contract import Game

GAMES = ("connect-four", "tic-tac-toe", "gomoku:k=4,size=6")


def random_states(game: Game, count: int, seed: int) -> list[KInARowState]:
    """Return states that are not over, from random matches."""
    rng = seeded(seed)
    states: list[KInARowState] = []
    while len(states) < count:
        state = game.initial_state()
        while not state.is_terminal:
            assert isinstance(state, KInARowState)
            states.append(state)
            state = state.child(rng.choice(state.legal_actions))
    return states[:count]


def words(states: list[KInARowState]) -> tuple[np.ndarray, np.ndarray]:
    """Return the stones of the side to move and of the other side, as words of 64 bits."""
    own = np.array([state.own for state in states], np.uint64)
    return own, np.array([state.opp for state in states], np.uint64)


def wins_at_once(state: KInARowState) -> bool:
    return any(any(state.child(action).returns) for action in state.legal_actions)


def kind_of(state: KInARowState, action: int) -> int:
    """Return the kind of position to which an action leads, by the plain rules."""
    if action not in state.legal_actions:
        return ILLEGAL
    child = state.child(action)
    if child.is_terminal:
        return WON if any(child.returns) else DRAWN
    if wins_at_once(child):
        return LOST
    return SURE if has_two_threats(child) else OPEN


def has_two_threats(child: KInARowState) -> bool:
    """Return whether the side that is not to move could win on two free cells."""
    board = child.game.board
    occupied = child.own | child.opp
    cells = [(occupied + board.lows[action]) & board.columns[action] for action in child.legal_actions]
    return sum(board.has_line(child.opp | cell) for cell in cells) > 1


@pytest.mark.parametrize("spec", GAMES)
def test_what_actions_lead_to_is_what_the_plain_rules_say(spec: str) -> None:
    game = make(spec)
    rules = ArrayRules(game)
    states = random_states(game, 150, 3)
    look = rules.look(*words(states))
    for state, kinds in zip(states, look.kinds.tolist(), strict=True):
        assert kinds == [kind_of(state, action) for action in range(game.num_actions)]


@pytest.mark.parametrize("spec", GAMES)
def test_planes_are_those_the_bot_asks_with(spec: str) -> None:
    game = make(spec)
    states = random_states(game, 40, 4)
    own, opp = words(states)
    planes = ArrayRules(game).planes(opp, own)
    assert np.array_equal(planes.transpose(0, 3, 1, 2), planes_of(states, game.shape))


@pytest.mark.parametrize("spec", GAMES)
def test_all_images_of_a_position_have_one_canonical_form(spec: str) -> None:
    game = make(spec)
    rules = ArrayRules(game)
    own, opp = words(random_states(game, 60, 5))
    wanted = rules.canonical(own, opp)
    for symmetry in range(rules.num_images):
        assert np.array_equal(rules.canonical(rules.image(own, symmetry), rules.image(opp, symmetry)), wanted)


@pytest.mark.parametrize("spec", GAMES)
def test_images_of_words_are_images_of_cells(spec: str) -> None:
    game = make(spec)
    rules = ArrayRules(game)
    states = random_states(game, 20, 6)
    own, opp = words(states)
    for number, symmetry in enumerate(game.symmetries):
        planes = rules.planes(rules.image(opp, number), rules.image(own, number)).reshape(len(states), -1, 2)
        plain = rules.planes(opp, own).reshape(len(states), -1, 2)
        assert np.array_equal(planes[:, list(symmetry.cells)], plain)


def test_boards_that_do_not_fit_a_word_are_refused() -> None:
    with pytest.raises(OptionError, match="fewer than 64 cells, not gomoku"):
        ArrayRules(make("gomoku"))
