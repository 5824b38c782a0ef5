"""The actions that are searched to find a best one, and those that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.solver._choosing import BestQuestion, find_best

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Truth:
    """Answers windows as a search would, from the value of each action, and records the requests."""

    def __init__(self, *worths: int) -> None:
        self.worths = worths
        self.asked: list[tuple[int, int]] = []
        """Actions, each with the score that it was to exceed."""

    def narrow(self, action: int, bounds: NDArray[np.int64]) -> bool:
        self.asked.append((action, -int(bounds[1])))
        bounds[0] = bounds[1] = max(bounds[0], min(bounds[1], -self.worths[action]))
        return True


def question(low: int, high: int, num_actions: int, guess: int = 0) -> BestQuestion:
    children = {action: np.array([-21, 21], np.int64) for action in range(num_actions)}
    return BestQuestion(np.array([low, high], np.int64), children, list(children), guess)


def test_the_last_action_that_is_left_is_not_searched() -> None:
    truth, asked = Truth(1, -3, 2), question(2, 2, 3)
    assert find_best(asked, truth.narrow)
    assert truth.asked == [(0, 1), (1, 1)]
    assert asked.children[2].tolist() == [-2, -2]


def test_an_action_that_bounds_refute_is_not_searched() -> None:
    truth, asked = Truth(1, 2, -3), question(2, 2, 3)
    asked.children[0][0] = -1
    assert find_best(asked, truth.narrow)
    assert truth.asked == [(1, 1)]


def test_actions_that_a_symmetry_exchanges_count_as_one() -> None:
    truth, asked = Truth(0, 3, 0, 3), question(3, 3, 4)
    children = dict(asked.children)
    children[2], children[3] = children[0], children[1]
    assert find_best(asked._replace(children=children), truth.narrow)
    assert truth.asked == [(0, 2)]
    assert children[3].tolist() == [-3, -3]


def test_the_first_window_lies_above_the_guess() -> None:
    truth, asked = Truth(-2, -5), question(-21, 21, 2, guess=-2)
    assert find_best(asked, truth.narrow)
    assert truth.asked[0] == (0, -2)
    assert asked.here.tolist() == [-2, -2]


def test_a_search_that_is_stopped_says_so() -> None:
    assert not find_best(question(2, 2, 3), lambda _action, _bounds: False)
