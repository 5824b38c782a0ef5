"""The kernels run as plain Python: the same playouts and the same trees as compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from arena.games.kernels.bulk import random_matches
from arena.games.kernels.cells import cell_layout_of
from arena.games.kernels.layout import layout_of
from arena_bots.search import uct_compiled
from arena_bots.search.uct import TreeSettings
from arena_bots.search.uct_tree import NODE, keep
from game_samples import make
from plain_kernels import plain_kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETTINGS = (
    TreeSettings(1.0),
    TreeSettings(5.0, is_puct=True),
    TreeSettings(1.0, is_tactical=True),
    TreeSettings(1.0, is_tactical=True, proves=True),
)
SPECS = (
    "connect-four",
    "gomoku:exact=on,k=3,size=4",
    "tic-tac-toe",
    "connect-four:cols=8,rows=8",
    "gomoku:exact=on,k=4,size=8",
)


def grown(boards: Any, spec: str, settings: TreeSettings, *, capacity: int = 4000) -> NDArray[np.void]:  # noqa: ANN401 # compiled or not
    """Return the tree of some playouts from a position in the middle of a match."""
    game = make(spec)
    state = game.initial_state()
    for action in (0, 1, 2, 3):
        state = state.child(action)
    layout = layout_of(game)
    board = boards.WordBoard(layout, settings) if layout else boards.CellBoard(cell_layout_of(game), settings)
    board.seed(3)
    board.place(state)
    # Plain code reads fields as attributes, which only a record array has.
    nodes = np.zeros(capacity, NODE).view(np.recarray if boards is not uct_compiled else np.ndarray)
    size, playouts = board.grow(nodes, 1, 60, boards.NEVER)
    assert playouts == 60 or nodes[0]["proof"]
    return np.asarray(nodes)[: int(size)]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("spec", SPECS)
def test_trees_are_the_same(spec: str, settings: TreeSettings) -> None:
    compiled = grown(uct_compiled, spec, settings)
    with plain_kernels() as modules:
        plain = grown(modules["uct_compiled"], spec, settings)
    assert plain.tobytes() == compiled.tobytes()


def test_full_trees_are_the_same() -> None:
    compiled = grown(uct_compiled, "connect-four", SETTINGS[0], capacity=40)
    with plain_kernels() as modules:
        plain = grown(modules["uct_compiled"], "connect-four", SETTINGS[0], capacity=40)
    assert plain.tobytes() == compiled.tobytes()
    assert len(plain) > 30


def test_what_is_kept_is_the_same() -> None:
    nodes = grown(uct_compiled, "connect-four", SETTINGS[0])
    best = int(nodes[0]["first"]) + 1
    others = nodes.copy().view(np.recarray)
    size = keep(nodes, len(nodes), best, np.empty(len(nodes), np.uint32))
    with plain_kernels() as modules:
        assert modules["uct_tree"].keep(others, len(others), best, np.empty(len(others), np.uint32)) == size
    assert others[:size].tobytes() == nodes[:size].tobytes()
    assert size > 1


@pytest.mark.parametrize("spec", SPECS)
def test_random_matches_are_the_same(spec: str) -> None:
    game = make(spec)
    compiled = random_matches(game, 5, seed=9)
    with plain_kernels() as modules:
        plain = modules["bulk"].random_matches(game, 5, seed=9)
    for some, others in zip(plain, compiled, strict=True):
        assert np.array_equal(some, others)
