from __future__ import annotations

import numpy as np

from arena.games.kernels.bulk import random_matches
from arena_bots.keras_wdl.encoding import DRAW, LOSS, WIN
from arena_bots.keras_wdl.train.array_rules import ArrayRules
from arena_bots.keras_wdl.train.examples import Examples, GameArrays, drawn, from_games, joined, merged
from game_samples import make

RULES = ArrayRules(make("tic-tac-toe"))


def test_a_position_is_labelled_for_who_has_just_moved() -> None:
    # The first player takes the top row.
    actions = np.array([[0, 3, 1, 4, 2, 0, 0, 0, 0]])
    found = from_games(RULES, GameArrays(actions, np.array([5]), np.array([1])), with_ends=True)
    assert found.chances.argmax(axis=1).tolist() == [WIN, LOSS, WIN, LOSS, WIN]
    planes = RULES.planes(found.mine, found.other)
    assert planes[1].reshape(9, 2).tolist() == [[0, 1], [0, 0], [0, 0], [1, 0], *[[0, 0]] * 5]


def test_a_drawn_game_is_a_draw_for_both() -> None:
    actions = np.array([[0, 1, 2, 4, 3, 5, 7, 6, 8]])
    found = from_games(RULES, GameArrays(actions, np.array([9]), np.array([0])))
    assert set(found.chances.argmax(axis=1).tolist()) == {DRAW}
    assert len(found.mine) == 8


def test_only_what_is_kept_is_labelled() -> None:
    actions = np.array([[0, 3, 1, 4, 2, 0, 0, 0, 0], [0, 3, 1, 4, 2, 0, 0, 0, 0]])
    kept = np.zeros((2, 9), np.bool_)
    kept[0, 2:] = True
    found = from_games(RULES, GameArrays(actions, np.array([5, 5]), np.array([1, 1])), kept=kept)
    assert found.chances.argmax(axis=1).tolist() == [WIN, LOSS]


def test_merging_keeps_counts_and_means() -> None:
    matches = random_matches(RULES.game, 500, 1)
    found = from_games(RULES, GameArrays.of(matches))
    small = merged(RULES, found)
    assert small.weights.sum() == len(found.mine)
    assert np.allclose(small.chances.sum(axis=1), 1)
    assert np.allclose((small.chances * small.weights[:, None]).sum(axis=0), found.chances.sum(axis=0))
    assert len(set(zip(small.mine.tolist(), small.other.tolist(), strict=True))) == len(small.mine)
    # The first stone is in a corner, on an edge or in the middle.
    assert (small.other == 0).sum() == 3


def test_examples_merged_twice_are_those_merged_once() -> None:
    """Labels are means over games, so games merged in several parts have the labels of all games at once."""
    matches = random_matches(RULES.game, 400, 1)
    found = from_games(RULES, GameArrays.of(matches))
    few, rest = (merged(RULES, found.take(rows)) for rows in (slice(0, 300), slice(300, None)))
    once, twice = merged(RULES, found), merged(RULES, joined([few, rest]))
    assert min(few.weights.max(), rest.weights.max()) > 1
    assert twice.mine.tolist() == once.mine.tolist()
    assert twice.other.tolist() == once.other.tolist()
    assert twice.weights.tolist() == once.weights.tolist()
    assert np.allclose(twice.chances, once.chances, atol=1e-6)


def test_two_games_outweigh_one() -> None:
    board = np.array([1, 1], np.uint64)
    seen = Examples(
        board, board << np.uint64(1), np.eye(3, dtype=np.float32)[[LOSS, WIN]], np.array([3, 1], np.float32)
    )
    (label,) = merged(RULES, seen).chances
    assert label[[LOSS, DRAW, WIN]].tolist() == [0.75, 0.0, 0.25]


def test_rows_are_drawn_as_often_as_they_weigh() -> None:
    matches = random_matches(RULES.game, 50, 1)
    found = merged(RULES, from_games(RULES, GameArrays.of(matches)))
    rows = drawn(found, 200_000, np.random.default_rng(1))
    shares = np.bincount(rows, minlength=len(found.mine)) / len(rows)
    assert np.abs(shares - found.weights / found.weights.sum()).max() < 0.003
