"""Compiled replay against the plain states, and canonical images against the plain ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ExportError
from arena.export._boards import Positions, bits_of, positions_of, words_of
from arena.export._canonical import canonical_of, turn_actions, turn_legal, turn_policies
from arena.games.symmetry import canonical
from game_samples import SPECS, games_with_play, make, seeded
from pile_game import Pile
from plain_kernels import plain_kernels

if TYPE_CHECKING:
    from random import Random

    from numpy.typing import NDArray

    from arena.games.k_in_a_row import KInARow, KInARowState
    from arena_plugins import Game, State


def _packed(matches: list[tuple[int, ...]]) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    actions = np.array([action for match in matches for action in match], np.uint16)
    return actions, np.cumsum([0, *map(len, matches)]).astype(np.int64)


def _check(positions: Positions, states: list[State], game: Game) -> None:
    num_cells = game.shape[0] * game.shape[1]
    own, opp = bits_of(positions.own, num_cells), bits_of(positions.opp, num_cells)
    legal = bits_of(positions.legal, game.num_actions)
    for row, state in enumerate(states):
        cells = np.array(state.cells)
        assert positions.player[row] == state.current_player
        assert (own[row] == (cells == state.current_player + 1)).all()
        assert (opp[row] == (cells == 2 - state.current_player)).all()
        assert tuple(np.flatnonzero(legal[row]).tolist()) == state.legal_actions


@given(games_with_play())
def test_compiled_replay_gives_what_the_states_say(sample: tuple[KInARow, list[KInARowState]]) -> None:
    game, states = sample
    actions, starts = _packed([states[-1].history, states[len(states) // 2].history])
    positions = positions_of(game, actions, starts, [1, 2])
    _check(positions, [*states[:-1], *states[: len(states) // 2]], game)


def _without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_rules(_game: Game) -> None:
        """Return no rules, as for an unknown game."""

    monkeypatch.setattr("arena.games.kernels.layout.rules_of", no_rules)


@pytest.mark.parametrize("spec", SPECS)
def test_a_game_without_kernels_gives_the_same_by_its_states(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = make(spec)
    state = game.initial_state()
    while not state.is_terminal:
        state = state.child(state.legal_actions[len(state.legal_actions) // 2])
    actions, starts = _packed([state.history, state.history[:3]])
    compiled = positions_of(game, actions, starts, [1, 2])
    _without_kernels(monkeypatch)
    plain = positions_of(game, actions, starts, [1, 2])
    for one, other in zip(plain, compiled, strict=True):
        assert (one == other).all()


def test_a_foreign_game_is_replayed_by_its_states() -> None:
    game = Pile()
    states: list[State] = [game.initial_state()]
    for action in (1, 1, 0, 2):
        states.append(states[-1].child(action))
    positions = positions_of(game, *_packed([states[-1].history]), [1])
    _check(positions, states[:-1], game)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("is_plain", [False, True])
def test_a_match_that_breaks_the_rules_is_named(
    spec: str, monkeypatch: pytest.MonkeyPatch, *, is_plain: bool
) -> None:
    game = make(spec)
    if is_plain:
        _without_kernels(monkeypatch)
    too_often = (0,) * (game.shape[0] + 1)
    for wrong in (too_often, (game.num_actions,)):
        with pytest.raises(ExportError, match=f"match 8 breaks the rules of {game.name}"):
            positions_of(game, *_packed([(0,), wrong, (0,)]), [7, 8, 9])


@given(games_with_play())
def test_canonical_images_are_those_of_the_games(sample: tuple[KInARow, list[KInARowState]]) -> None:
    game, states = sample
    actions, starts = _packed([states[-1].history])
    positions = positions_of(game, actions, starts, [1])
    images = canonical_of(positions, game.symmetries)
    num_cells = game.shape[0] * game.shape[1]
    for row, state in enumerate(states[:-1]):
        plain = canonical(game, state)
        cells = np.array(plain.cells)
        assert images.symmetry[row] == plain.symmetry
        assert (bits_of(images.own[row : row + 1], num_cells) == (cells == state.current_player + 1)).all()
        assert (bits_of(images.opp[row : row + 1], num_cells) == (cells == 2 - state.current_player)).all()


@given(games_with_play(), st.randoms(use_true_random=False))
def test_equivalent_positions_have_one_key_and_equal_images(
    sample: tuple[KInARow, list[KInARowState]], rng: Random
) -> None:
    game, states = sample
    history = states[-1].history
    symmetry = rng.choice(game.symmetries)
    turned = tuple(symmetry.actions[action] for action in history)
    one, other = (positions_of(game, *_packed([each]), [1]) for each in (history, turned))
    first, second = (canonical_of(each, game.symmetries) for each in (one, other))
    assert (first.keys == second.keys).all()
    assert (first.own == second.own).all()
    for images, positions in ((first, one), (second, other)):
        legal = turn_legal(positions.legal, images.symmetry, game.symmetries, game.num_actions)
        assert (legal == turn_legal(one.legal, first.symmetry, game.symmetries, game.num_actions)).all()


@pytest.mark.parametrize("spec", ["connect-four", "gomoku:k=4,size=9"])
def test_the_kernels_do_what_is_written(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    game = make(spec)
    rng = seeded(5)
    histories: list[tuple[int, ...]] = []
    for _ in range(3):
        state = game.initial_state()
        while not state.is_terminal:
            state = state.child(rng.choice(state.legal_actions))
        histories.append(state.history)
    arguments = (game, *_packed(histories), range(len(histories)))
    positions = positions_of(*arguments)
    images = canonical_of(positions, game.symmetries)
    broken = np.array([game.num_actions], np.uint16), np.array([0, 1], np.int64)
    with plain_kernels() as plain:
        monkeypatch.setattr("arena.export._canonical.canonicalise", plain["_kernels"].canonicalise)
        for one, other in zip(positions_of(*arguments), positions, strict=True):
            assert (one == other).all()
        for one, other in zip(canonical_of(positions, game.symmetries), images, strict=True):
            assert (one == other).all()
        with pytest.raises(ExportError):
            positions_of(game, *broken, [1])


def test_keys_tell_positions_apart() -> None:
    game = make("tic-tac-toe")
    matches: list[tuple[int, ...]] = []
    keys: dict[object, int] = {}
    stack: list[State] = [game.initial_state()]
    while stack:
        state = stack.pop()
        if state.is_terminal or len(state.history) == 5:
            matches.append(state.history)
            continue
        stack.extend(state.child(action) for action in state.legal_actions)
    positions = positions_of(game, *_packed(matches), range(len(matches)))
    found = canonical_of(positions, game.symmetries)
    for own, opp, key in zip(found.own.tolist(), found.opp.tolist(), found.keys.tolist(), strict=True):
        # The number of stones determines the side to move.
        assert keys.setdefault((*own, *opp), key) == key
    assert len(set(keys.values())) == len(keys)


def test_actions_and_policies_turn_with_the_board() -> None:
    game = make("connect-four")
    which = np.array([0, 1, 1], np.uint8)
    assert turn_actions(np.array([0, 0, 3], np.int32), which, game.symmetries).tolist() == [0, 6, 3]
    policies = np.arange(21, dtype=np.float16).reshape(3, 7)
    turned = turn_policies(policies, which, game.symmetries)
    assert turned[0].tolist() == policies[0].tolist()
    assert turned[1].tolist() == policies[1, ::-1].tolist()


def test_quarter_turns_turn_actions_and_policies_alike() -> None:
    # Unlike mirror images, a quarter turn is not its own inverse.
    game = make("tic-tac-toe")
    policies = np.arange(72, dtype=np.float32).reshape(8, 9)
    turned = turn_policies(policies, np.arange(8, dtype=np.uint8), game.symmetries)
    for number, symmetry in enumerate(game.symmetries):
        which = np.full(9, number, np.uint8)
        assert turn_actions(np.arange(9, dtype=np.int32), which, game.symmetries).tolist() == [
            *symmetry.actions
        ]
        legal = words_of(np.eye(9, dtype=np.uint8))
        images = bits_of(turn_legal(legal, which, game.symmetries, 9), 9)
        for action, image in enumerate(symmetry.actions):
            assert turned[number, image] == policies[number, action]
            assert np.flatnonzero(images[action]).tolist() == [image]


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_bits_and_words_are_inverse(num: int, seed: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 2, (3, num), np.uint8)
    assert (bits_of(words_of(bits), num) == bits).all()
