"""Schedules of sequential halving."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from arena_bots.search.lockstep.selecting import DONE, schedule, schedules


@pytest.mark.parametrize("considered", [2, 3, 5, 7, 16])
@pytest.mark.parametrize("simulations", [1, 7, 32, 100])
def test_visits_can_be_played_as_they_are_planned(considered: int, simulations: int) -> None:
    visits: Counter[int] = Counter(dict.fromkeys(range(considered), 0))
    for wanted in schedule(considered, simulations):
        chosen = next(action for action in visits if visits[action] == wanted)
        visits[chosen] += 1
    assert visits.total() == simulations


def test_halves_are_left_one_after_the_other() -> None:
    wanted = schedule(4, 16)
    # Two rounds for four actions, then four for the better two.
    assert wanted == (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5)
    assert schedule(1, 3) == (0, 1, 2)


def test_lanes_end_when_their_budgets_do() -> None:
    wanted = schedules(np.array([2, 4]), np.array([3, 5]))
    assert wanted.shape == (2, 5)
    assert wanted[0].tolist() == [*schedule(2, 3), DONE, DONE]


def test_two_actions_are_left_to_the_end() -> None:
    # By the rule of figure 1: four actions once, two of them twice, and the same two for the rest.
    assert schedule(4, 10) == (0, 0, 0, 0, 1, 1, 2, 2, 3, 3)
    for considered in range(2, 9):
        visited = Counter(schedule(considered, 60))
        # The last two actions have had every number of visits but the last.
        assert min(visited[count] for count in range(max(visited))) >= 2
