from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arena.rating.graph import components, reachable, strong_components

DRAWN = ((0, 1), (1, 0))


def _labels(took: list[tuple[int, int]], num_bots: int) -> tuple[list[int], list[int]]:
    return list(components(took, num_bots)), list(strong_components(took, num_bots))


def test_two_islands_and_a_bot_alone() -> None:
    assert _labels([(3, 0), (0, 3), (1, 4)], 5) == ([0, 1, 2, 0, 1], [0, 1, 2, 0, 3])


def test_a_draw_connects_both_ways_and_a_win_one_way() -> None:
    assert _labels([*DRAWN, (1, 2)], 3) == ([0, 0, 0], [0, 0, 1])


def test_a_cycle_of_wins_is_strongly_connected() -> None:
    assert _labels([(i, (i + 1) % 4) for i in range(4)], 4)[1] == [0, 0, 0, 0]


def test_a_long_chain_needs_no_recursion() -> None:
    drawn = [edge for i in range(4999) for edge in ((i, i + 1), (i + 1, i))]
    assert set(_labels(drawn, 5000)[1]) == {0}


edges = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda edge: edge[0] != edge[1]))


@given(edges)
def test_parts_are_those_of_mutual_reachability(wins: list[tuple[int, int]]) -> None:
    weak, strong = _labels(wins, 7)
    reach = np.eye(7, dtype=bool)
    for i, j in wins:
        reach[i, j] = True
    both = reach | reach.T
    for k in range(7):
        reach |= np.outer(reach[:, k], reach[k])
        both |= np.outer(both[:, k], both[k])
    for i in range(7):
        for j in range(7):
            assert (strong[i] == strong[j]) == (reach[i, j] and reach[j, i])
            assert (weak[i] == weak[j]) == both[i, j]
        assert reachable(wins, 7)[i] == frozenset(np.flatnonzero(reach[i]).tolist())
