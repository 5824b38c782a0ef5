"""The learned move order: its formula, its symmetry, its benefit, and its fit to measurements."""

from __future__ import annotations

import hashlib
import tomllib
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

import connect_four_order
from arena.errors import ArenaError
from arena.games.k_in_a_row import KInARowState
from arena.games.solver import _ordering
from arena.games.solver._counters import BUDGET
from arena.games.solver._four import narrow, rate_actions
from arena.games.solver._memory import LAST_NOTED, MOVES, forget, new_memory, note_refutation, success
from arena.games.solver._ordering import NUM_CODES, NUM_FEATURES, NUM_WEIGHTS, SHIPPED, shipped_order
from arena.games.solver.book import shipped_book
from arena.games.solver.connect_four_solver import ConnectFourSolver
from brute_force import random_states
from connect_four_order import Refuted, fitted, measured, moves_of, pairs_of, plain_order, positions_of
from game_samples import make, seeded

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from arena_plugins.contract import State

GAME = make("connect-four")
FACTS = tomllib.loads(SHIPPED.with_suffix(".order.provenance.toml").read_text("utf-8"))
EXPENSIVE = {
    "6606055001": 6_000_000,
    "30016013": 6_000_000,
    "61221025": 6_000_000,
    "563012354": 4_000_000,
}
"""Columns played, counted from 0, and a sufficient number of nodes."""
SLOPES = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Steps from a cell to the next cell of a line as (columns, rows), in the order of the weights."""


def stones(state: State) -> tuple[int, int]:
    """Return the stones of the side to move, and all stones."""
    assert isinstance(state, KInARowState)
    return state.own, state.own | state.opp


def merits(memory: NDArray[np.int64], state: State) -> list[int]:
    found = np.zeros(7, np.int64)
    rate_actions(memory, *stones(state), found)
    return [int(found[action]) for action in state.legal_actions]


def lines_of(grid: dict[tuple[int, int], int]) -> list[int]:
    """Return the content of each line of four, as a number with a digit per cell."""
    starts = [
        (column, row, right, up)
        for right, up in SLOPES
        for column in range(7)
        for row in range(6)
        if column + 3 * right < 7 and 0 <= row + 3 * up < 6
    ]
    return [
        sum(grid.get((column + n * right, row + n * up), 0) * 3**n for n in range(4))
        for column, row, right, up in starts
    ]


def grid_of(state: State) -> dict[tuple[int, int], int]:
    """Return 1 or 2 for the stones of the first or second player, by column and row from below."""
    return {(cell % 7, 5 - cell // 7): piece for cell, piece in enumerate(state.cells) if piece}


def worth_of_lines(weights: NDArray[np.int64], state: State) -> int:
    return sum(int(weights[NUM_CODES * line + code]) for line, code in enumerate(lines_of(grid_of(state))))


def test_lines_count_by_how_the_stone_changes_their_contents() -> None:
    weights = np.zeros((2, NUM_WEIGHTS), np.int64)
    weights[:, NUM_FEATURES:] = np.random.default_rng(1).integers(-20, 20, (2, NUM_WEIGHTS - NUM_FEATURES))
    memory = new_memory(8, weights.reshape(-1))
    states = [
        state for plies in (0, 5, 12, 17, 30) for state in random_states(GAME, seeded(plies), 20, plies)
    ]
    for state in states:
        side = weights[state.current_player, NUM_FEATURES:]
        before = worth_of_lines(side, state)
        expected = [worth_of_lines(side, state.child(action)) - before for action in state.legal_actions]
        assert merits(memory, state) == expected


def test_without_weights_of_lines_it_is_twice_the_promise() -> None:
    """A third stone above two makes one threat in reach; one beside two in the lowest row makes two."""
    memory = new_memory(8, plain_order())
    state = GAME.initial_state()
    for action in (3, 0, 3, 0):
        state = state.child(action)
    assert merits(memory, state)[3] == 2 * (8 + 4)
    state = GAME.initial_state()
    for action in (2, 2, 3, 3):
        state = state.child(action)
    assert merits(memory, state)[4] == 2 * (2 * 8 + 2 * 4)


def test_a_merit_fits_the_lists_of_moves() -> None:
    for sign, bound in ((1, 1000), (-1, -1000)):
        weights = np.zeros((2, NUM_WEIGHTS), np.int64)
        # Central moves are preferred, far beyond all bounds.
        weights[:, NUM_FEATURES - 1] = sign * 600
        found = merits(new_memory(8, weights.reshape(-1)), GAME.initial_state())
        assert found == [0, sign * 600, bound, bound, bound, sign * 600, 0]


def test_mirror_images_have_the_same_merit() -> None:
    memory = new_memory(8, shipped_order())
    for state in random_states(GAME, seeded(4), 30, 11):
        image = GAME.initial_state()
        for action in state.history:
            image = image.child(6 - action)
        assert merits(memory, image) == merits(memory, state)[::-1]


def test_the_weights_save_a_tenth_of_the_nodes() -> None:
    spent: list[int] = []
    for order in (plain_order(), shipped_order()):
        solver = ConnectFourSolver(GAME, None, top_bits=18, order=order)
        total = 0
        for state in random_states(GAME, seeded(5), 40, 12):
            solver.clear()
            total += solver.solve(state, distances="best").nodes
        spent.append(total)
    assert spent[1] < 0.9 * spent[0]


def test_cells_count_by_how_often_they_refute_first() -> None:
    """A refuting item gains one for each item before it, and each of those loses one, up to a bound."""
    memory = new_memory(8, plain_order())
    stones_of_list = [1 << 21, 1 << 14, 1 << 29]
    for number, stone in enumerate(stones_of_list):
        memory[MOVES + 7 * 20 + number] = 5 << 52 | stone
    note_refutation(memory, 20, MOVES + 7 * 20 + 2)
    assert [success(memory, 20, stone) for stone in stones_of_list] == [-1, -1, 2]
    assert [success(memory, 22, stone) for stone in stones_of_list] == [-1, -1, 2]
    assert [success(memory, 21, stone) for stone in stones_of_list] == [0, 0, 0]
    for _ in range(600):
        note_refutation(memory, 20, MOVES + 7 * 20 + 2)
    assert [success(memory, 20, stone) for stone in stones_of_list] == [-500, -500, 500]
    # From `LAST_NOTED` on, nothing is noted.
    note_refutation(memory, LAST_NOTED, MOVES + 7 * LAST_NOTED + 1)
    assert success(memory, LAST_NOTED, 1) == 0
    forget(memory)
    assert [success(memory, 20, stone) for stone in stones_of_list] == [0, 0, 0]


def test_expensive_positions_stay_within_their_nodes() -> None:
    """Each needs 7 to 13 million nodes without the rule of pairs and the history heuristic."""
    solver = ConnectFourSolver(GAME, shipped_book())
    solver.usual_nodes = 0
    for columns, most in EXPENSIVE.items():
        state = GAME.initial_state()
        for column in columns:
            state = state.child(int(column))
        solver.clear()
        assert solver.solve(state, distances="best").nodes < most


def test_the_provenance_is_that_of_the_file() -> None:
    assert FACTS["sha256"] == hashlib.sha256(SHIPPED.read_bytes()).hexdigest()
    assert FACTS["weights"] == len(shipped_order()) == 2 * NUM_WEIGHTS
    assert SHIPPED.stat().st_size < 20_000


@pytest.mark.parametrize(
    ("content", "why"), [(b"order", "incorrect header check"), (zlib.compress(bytes(7)), "7 weights")]
)
def test_a_damaged_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, why: str
) -> None:
    path = tmp_path / "order"
    path.write_bytes(content)
    monkeypatch.setattr(_ordering, "SHIPPED", path)
    with pytest.raises(ArenaError, match=f"is not a move order.*{why}; install the package again"):
        shipped_order.__wrapped__()


def test_positions_are_read_back_from_the_tables() -> None:
    (state,) = random_states(GAME, seeded(6), 1, 18)
    memory = new_memory(14, plain_order())
    memory[BUDGET] = 10**6
    window = np.array([-21, 21], np.int64)
    assert narrow(memory, window, *stones(state), True)  # noqa: FBT003 # kernels take no keywords
    found = list(positions_of(memory))
    assert len(found) > 100
    for own, mask, low in found[:: len(found) // 20]:
        assert own & ~mask == 0
        assert (mask & 63 * connect_four_order.BOTTOM) == mask
        # Half of the stones, rounded down, belong to the side to move.
        assert own.bit_count() == mask.bit_count() // 2
        bounds = np.array([-21, 21], np.int64)
        memory[BUDGET] += 10**6
        assert narrow(memory, bounds, own, mask, True)  # noqa: FBT003 # kernels take no keywords
        assert low <= bounds[0] == bounds[1]


def test_each_safe_move_is_measured_and_some_refute() -> None:
    (state,) = random_states(GAME, seeded(7), 1, 20)
    solver = ConnectFourSolver(GAME, None, top_bits=16)
    solved = solver.solve(state)
    score = connect_four_order_score(solved.worth, 20)
    refuted = measured(new_memory(14, plain_order()), *stones(state), score)
    assert {action for action, (_, refutes) in refuted.costs.items() if refutes} == set(solved.best)
    assert all(nodes > 0 for nodes, _ in refuted.costs.values())


def connect_four_order_score(worth: tuple[int | None, int | None], ply: int) -> int:
    outcome, distance = worth
    assert outcome is not None
    assert distance is not None
    return outcome * ((44 - ply - distance) // 2)


def test_pairs_name_the_move_that_saves_nodes_and_what_it_saves() -> None:
    first = Refuted(0, 0, {2: (10, True), 3: (40, True), 4: (90, False), 5: (5, False)})
    better, worse, worth = pairs_of(moves_of([first]))
    # Item 0 refutes in 10 nodes, item 1 in 40, items 2 and 3 do not.
    expected = {(0, 1): 30, (0, 2): 90, (0, 3): 5, (1, 2): 90, (1, 3): 5}
    assert dict(zip(zip(better.tolist(), worse.tolist(), strict=True), worth.tolist(), strict=True)) == (
        pytest.approx({pair: np.log1p(waste / 10) for pair, waste in expected.items()})
    )


def test_a_fit_prefers_what_was_cheap_on_both_sides_of_the_board() -> None:
    """If moves at the left edge were always cheap and moves in the middle expensive, edges come first."""
    positions = [
        Refuted(*stones(state), {0: (10, True), 3: (1000, True)})
        for state in random_states(GAME, seeded(8), 60, 4)
        if {0, 3} <= set(state.legal_actions)
    ]
    memory = new_memory(8, fitted(moves_of(positions)).astype(np.int64))
    for state in random_states(GAME, seeded(9), 20, 4):
        found = dict(zip(state.legal_actions, merits(memory, state), strict=True))
        assert min(found[0], found[6]) > found[3]
