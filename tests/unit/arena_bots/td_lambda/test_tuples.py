"""N-tuples: how they are drawn; each pattern that is possible on a board has its own table entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from arena_bots.td_lambda.tuples import (
    CELLS,
    COLUMNS,
    ROWS,
    draw_tuples,
    keys_of,
    mirrored,
    parts_of,
)
from brute_force import random_states
from game_samples import make, seeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.games.k_in_a_row import KInARowState

CONNECT_FOUR = make("connect-four")
COUNT, LENGTH = 6, 5


def positions(seed: int) -> Iterator[tuple[KInARowState, int, int]]:
    """Yield states of all phases with the stones of first and second."""
    rng = seeded(seed)
    for plies in range(36):
        for state in cast("list[KInARowState]", random_states(CONNECT_FOUR, rng, 8, plies)):
            first, second = (state.opp, state.own) if state.current_player else (state.own, state.opp)
            yield state, first, second


def pattern(state: KInARowState, cells: list[int]) -> tuple[int, ...]:
    """Return the pattern of a tuple's cells by the plain rules: 0 and 1 stones, 2 playable, 3 not yet."""
    shown: list[int] = []
    for cell in cells:
        column, row = divmod(cell, ROWS)
        stone = state.cells[(ROWS - 1 - row) * COLUMNS + column]
        height = sum(state.cells[r * COLUMNS + column] != 0 for r in range(ROWS))
        shown.append(stone - 1 if stone else 2 if row == height else 3)
    return tuple(shown)


def test_tuples_are_walks_of_a_king() -> None:
    tuples = draw_tuples(40, 8, 3)
    assert tuples.shape == (40, 8)
    for cells in tuples.tolist():
        assert sorted(set(cells)) == cells
        reached, edge = {cells[0]}, [cells[0]]
        while edge:
            column, row = divmod(edge.pop(), ROWS)
            near = {c for c in cells if abs(c // ROWS - column) <= 1 and abs(c % ROWS - row) <= 1} - reached
            reached |= near
            edge += near
        assert reached == set(cells)


def test_the_seed_decides_and_no_tuple_comes_twice() -> None:
    tuples = draw_tuples(100, 4, 1)
    assert (tuples == draw_tuples(100, 4, 1)).all()
    assert (tuples != draw_tuples(100, 4, 2)).any()
    images = [min(tuple(cells), mirrored(tuple(cells))) for cells in tuples.tolist()]
    assert len(set(images)) == 100


def test_each_pattern_has_an_entry_of_its_own() -> None:
    tuples = draw_tuples(COUNT, LENGTH, 1)
    parts, starts = parts_of(tuples)
    seen: list[dict[tuple[int, ...], int]] = [{} for _ in range(COUNT)]
    for state, first, second in positions(1):
        entries = parts[np.arange(COLUMNS), keys_of(first, second)].sum(axis=0)
        for number, cells in enumerate(tuples.tolist()):
            assert starts[number] <= entries[number] < starts[number + 1]
            assert seen[number].setdefault(pattern(state, cells), entries[number]) == entries[number]
    for known in seen:
        assert len(set(known.values())) == len(known)


def test_a_mirrored_board_has_the_entries_of_mirrored_tuples() -> None:
    parts, _ = parts_of(draw_tuples(COUNT, LENGTH, 2))
    columns = np.arange(COLUMNS)
    for _, first, second in positions(2):
        keys = keys_of(first, second)
        there, back = parts[columns, keys].sum(axis=0), parts[columns, keys[::-1]].sum(axis=0)
        assert (there[:COUNT] == back[COUNT:]).all()
        assert (there[COUNT:] == back[:COUNT]).all()


def test_tables_hold_what_can_be_reached() -> None:
    _, starts = parts_of(draw_tuples(70, 8, 1))
    assert 3_000 < starts[-1] / 70 < 6_000


@pytest.mark.parametrize("cell", range(0, CELLS, 5))
def test_the_mirror_of_the_mirror_is_the_cell(cell: int) -> None:
    assert mirrored(mirrored((cell,))) == (cell,)
