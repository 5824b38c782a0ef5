"""The opening book of Connect Four: complete, consistent, equal to the solver and to the literature."""

from __future__ import annotations

import hashlib
import tomllib
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.errors import ArenaError
from arena.games.k_in_a_row import KInARowState
from arena.games.solver._layers import make_layers
from arena.games.solver.book import SHIPPED, Book, shipped_book
from arena.games.solver.connect_four_solver import ConnectFourSolver
from arena.games.solver.solved import Worth
from brute_force import random_states
from game_samples import make, seeded

if TYPE_CHECKING:
    from pathlib import Path

    from arena_plugins.contract import State

GAME = make("connect-four")
MIRRORED = [1, 7, 49, 238, 1120, 4263, 16422]
"""Positions after so many plies, mirror images counted twice."""


def stones(state: State) -> tuple[int, int]:
    """Return the stones of the side to move, and all stones."""
    assert isinstance(state, KInARowState)
    return state.own, state.own | state.opp


@pytest.fixture(scope="module")
def solver() -> ConnectFourSolver:
    return ConnectFourSolver(GAME, shipped_book())


def test_layers_hold_every_position_once() -> None:
    for layer, number in zip(make_layers(6), MIRRORED, strict=True):
        lanes = [(layer.mask >> 7 * column) & 127 for column in range(7)]
        own = [(layer.own >> 7 * column) & 127 for column in range(7)]
        even = np.logical_and.reduce([(lanes[c] == lanes[6 - c]) & (own[c] == own[6 - c]) for c in range(3)])
        assert 2 * len(layer.keys) - even.sum() == number
        assert (np.diff(layer.keys) > 0).all()


def test_the_first_move_is_worth_what_allis_and_allen_found(solver: ConnectFourSolver) -> None:
    """The middle wins, the columns beside it draw, all others lose; perfect play fills 41 cells."""
    solved = solver.solve(GAME.initial_state())
    assert solved.worth == Worth(1, 41)
    assert [worth.outcome for worth in solved.actions.values()] == [-1, -1, 0, 1, 0, -1, -1]
    assert solved.best == solved.optimal == (3,)
    assert solved.nodes == 0


def test_every_position_of_the_book_is_answered_at_once(solver: ConnectFourSolver) -> None:
    plies = shipped_book().plies
    assert plies >= 8
    for ply in range(plies):
        for state in random_states(GAME, seeded(ply), 20, ply):
            assert solver.solve(state, nodes=0).is_complete


def test_earlier_plies_follow_from_the_last_one(tmp_path: Path) -> None:
    book = shipped_book()
    layers = make_layers(book.plies)
    scores = np.frombuffer(zlib.decompress(SHIPPED.read_bytes()), np.int8)
    again = Book.from_last(layers, scores[-book.sizes[-1] :])
    again.write(tmp_path / "book")
    assert (tmp_path / "book").read_bytes() == SHIPPED.read_bytes()
    assert Book.read(tmp_path / "book").sizes == book.sizes == [len(layer.keys) for layer in layers]


def test_the_provenance_is_that_of_the_file() -> None:
    facts = tomllib.loads(SHIPPED.with_suffix(".provenance.toml").read_text("utf-8"))
    assert facts["sha256"] == hashlib.sha256(SHIPPED.read_bytes()).hexdigest()
    assert facts["plies"] == shipped_book().plies
    assert facts["positions"] == sum(shipped_book().sizes)
    assert SHIPPED.stat().st_size < 200_000


def test_beyond_the_book_it_says_nothing() -> None:
    book = shipped_book()
    assert book.score(0, 0, book.plies + 1) is None
    assert book.score(0, 0, 0) == 1


@pytest.mark.parametrize("content", [b"", b"book", zlib.compress(bytes(3))])
def test_a_damaged_book_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "connect-four.book"
    path.write_bytes(content)
    with pytest.raises(ArenaError, match="is not a book of Connect Four"):
        Book.read(path)
    path.unlink()
    with pytest.raises(ArenaError, match="install the package again"):
        Book.read(path)


def test_the_least_score_of_a_position_behind_the_book_is_what_the_positions_before_it_leave() -> None:
    plies = 4
    whole = shipped_book()
    layers = make_layers(plies)
    scores = np.split(
        np.frombuffer(zlib.decompress(SHIPPED.read_bytes()), np.int8), np.cumsum(whole.sizes)[:-1]
    )
    book = Book(layers, scores[: plies + 1])
    tight = 0
    for state in random_states(GAME, seeded(5), 200, plies + 1):
        before = GAME.initial_state()
        for action in state.history[:-1]:
            before = before.child(action)
        score, known = (whole.score(*stones(known), len(known.history)) for known in (state, before))
        least = book.least(*stones(state))
        assert score is not None
        assert known is not None
        assert -known <= least <= score
        tight += least == score
    assert 50 < tight < 200
