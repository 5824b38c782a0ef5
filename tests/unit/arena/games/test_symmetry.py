"""Symmetries are permutations that preserve the rules, form a group, and make canonical forms equal."""

from __future__ import annotations

import hashlib
from itertools import product
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.games.symmetry import canonical, canonical_actions, leading, match_hash, square_symmetries
from arena_plugins.contract import Symmetry
from game_samples import GAMES, SPECS, distinct_positions, games_with_play, make

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARow, KInARowState
    from arena_plugins.contract import State


def after(first: Symmetry, second: Symmetry) -> Symmetry:
    """Return the symmetry that applies `first`, then `second`."""
    cells = tuple(second.cells[cell] for cell in first.cells)
    return Symmetry(cells, tuple(second.actions[action] for action in first.actions))


@pytest.mark.parametrize("game", GAMES, ids=SPECS)
def test_symmetries_are_a_group_with_the_identity_first(game: KInARow) -> None:
    num_cells = game.shape[0] * game.shape[1]
    symmetries = game.symmetries
    assert symmetries[0] == Symmetry(tuple(range(num_cells)), tuple(range(game.num_actions)))
    assert len(set(symmetries)) == len(symmetries)
    assert {after(*pair) for pair in product(symmetries, repeat=2)} == set(symmetries)


def test_square_symmetries_are_rotations_then_reflections() -> None:
    # Images of the upper corners: quarter turns, then mirror, diagonal, upside down, other diagonal.
    corners = [symmetry.cells[:2] for symmetry in square_symmetries(2)]
    assert corners == [(0, 1), (1, 3), (3, 2), (2, 0), (1, 0), (0, 2), (2, 3), (3, 1)]


@given(games_with_play())
def test_symmetric_play_gives_the_symmetric_board(sample: tuple[KInARow, list[KInARowState]]) -> None:
    game, states = sample
    state = states[-1]
    for symmetry in game.symmetries:
        image = game.initial_state()
        for action in state.history:
            image = image.child(symmetry.actions[action])
        moved = [0] * len(state.cells)
        for cell, stone in enumerate(state.cells):
            moved[symmetry.cells[cell]] = stone
        assert image.cells == tuple(moved)
        assert image.returns == state.returns
        assert set(image.legal_actions) == {symmetry.actions[action] for action in state.legal_actions}
        assert canonical(game, image).key == canonical(game, state).key
        assert canonical_actions(game, image.history) == canonical_actions(game, state.history)
        assert match_hash(game, image.history) == match_hash(game, state.history)


@given(games_with_play())
def test_canonical_is_the_image_it_names(sample: tuple[KInARow, list[KInARowState]]) -> None:
    game, states = sample
    state = states[-1]
    form = canonical(game, state)
    symmetry = game.symmetries[form.symmetry]
    assert all(form.cells[symmetry.cells[cell]] == stone for cell, stone in enumerate(state.cells))
    assert form.cells <= state.cells
    assert form.player == state.current_player
    assert canonical_actions(game, state.history) <= state.history


@given(games_with_play(), st.data())
def test_all_symmetries_that_lead_there_are_found(
    sample: tuple[KInARow, list[KInARowState]], data: st.DataObject
) -> None:
    game, states = sample
    state = states[-1]
    taken = data.draw(st.sampled_from(game.symmetries))
    other = game.initial_state()
    for action in state.history:
        other = other.child(taken.actions[action])
    found = leading(game, state, other)
    assert list(found) == [
        number
        for number, symmetry in enumerate(game.symmetries)
        if all(other.cells[symmetry.cells[cell]] == stone for cell, stone in enumerate(state.cells))
    ]
    assert game.symmetries.index(taken) in found


def test_a_position_with_the_other_side_to_move_is_another_one() -> None:
    # In our games the stones determine the side to move; in a game with passes or double moves they do not.
    game = make("tic-tac-toe")
    state = game.initial_state().child(4)
    other = cast("State", SimpleNamespace(cells=state.cells, current_player=0))
    assert canonical(game, state).cells == canonical(game, other).cells
    assert canonical(game, state).key != canonical(game, other).key
    assert (len(leading(game, state, state)), leading(game, state, other)) == (8, ())


def test_tic_tac_toe_has_765_positions_up_to_symmetry() -> None:
    game = make("tic-tac-toe")
    states = [state for level in distinct_positions(game, 9) for state in level]
    assert len(states) == 5478
    assert len({canonical(game, state).key for state in states}) == 765


@pytest.mark.parametrize(
    ("spec", "plies", "classes"),
    [
        ("connect-four", 2, 25),
        ("connect-four", 4, 568),
        ("tic-tac-toe", 2, 12),
        ("gomoku:k=4,size=6", 2, 165),
    ],
)
def test_openings_fall_into_the_known_number_of_classes(spec: str, plies: int, classes: int) -> None:
    game = make(spec)
    level = distinct_positions(game, plies)[-1]
    assert len({canonical(game, state).key for state in level}) == classes


def test_match_hash_is_of_the_text_it_documents() -> None:
    text = b"gomoku:exact=off,k=4,size=6 0 7"
    assert match_hash(make("gomoku:size=6,k=4"), [35, 28]) == hashlib.sha256(text).hexdigest()
    assert match_hash(make("tic-tac-toe"), []) == hashlib.sha256(b"tic-tac-toe").hexdigest()


@given(st.data())
def test_match_hash_tells_parameters_and_matches_apart(data: st.DataObject) -> None:
    action, other = data.draw(st.permutations(range(3)))[:2]
    small, large = make("gomoku:size=6,k=4"), make("gomoku:size=7,k=4")
    assert match_hash(small, [action]) != match_hash(large, [action])
    assert match_hash(small, [action]) != match_hash(small, [other])
    assert match_hash(small, [action, other]) != match_hash(small, [action])
