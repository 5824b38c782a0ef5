"""Finds the best actions of a position without determining the values of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Bounds = NDArray[np.int64]


class BestQuestion(NamedTuple):
    """A position whose best actions are wanted; scores are for the side to move in it."""

    here: Bounds
    """Smallest and largest possible score of the position; updated in place."""
    children: Mapping[int, Bounds]
    """Smallest and largest possible score after each action, for the side to move there; updated in place."""
    order: Sequence[int]
    """The actions, likely good ones first."""
    guess: int
    """Expected score; the first window asks whether the score is above it."""


def find_best(question: BestQuestion, narrow: Callable[[int, Bounds], bool]) -> bool:
    """Narrow the bounds to the score, and find an action with that score; return False if aborted.

    It uses null windows around the last answer, starting above the guess, as in MTD(f) (Plaat et al.,
    Best-first fixed-depth minimax algorithms, 1996), but keeps the bounds found for each action. If the score
    is known beforehand from a book, it only has to find an action with this score.

    Args:
        question: the position; its bounds are updated.
        narrow: narrows the bounds of the position after an action; returns False if the budget is used up.
    """
    here, children, order, guess = question
    # The bounds enclose the score at every moment, so an abort leaves valid, only wider, bounds.
    actions = list(order)
    while here[0] < here[1]:
        alpha = int(min(max(guess, here[0]), here[1] - 1))
        action = _first_above(actions, children, alpha, narrow)
        if action is None:
            return False
        if action < 0:
            # Every action is worth at most this, and so is the position.
            # Lower bounds of the children are upper bounds of the actions, since a child's score is the
            # opponent's.
            here[1] = guess = max(-int(children[other][0]) for other in actions)
        else:
            here[0] = guess = min(int(here[1]), -int(children[action][1]))
            # Try the refuting action first in the next window, as it often refutes that one, too.
            actions.remove(action)
            actions.insert(0, action)
    score = int(here[0])
    # No action is worth more than the position, so no child is worth less than `-score`.
    for bounds in children.values():
        bounds[0] = max(bounds[0], -score)
    return _find_equal_to(score, actions, children, narrow)


def find_equal(question: BestQuestion, narrow: Callable[[int, Bounds], bool]) -> None:
    """Find the actions that are as good as the best one, whose score is known, until `narrow` gives up.

    Args:
        question: the position; its bounds are updated.
        narrow: as for `find_best`; not called again after it returned False.
    """
    # Above the best score there is nothing, so "worth more than the score less 1" means as good as the best.
    below = int(question.here[0]) - 1
    for action in question.order:
        is_open = _is_above(question.children[action], below) is None
        if is_open and not _ask(action, question.children, below, narrow):
            return


def _find_equal_to(
    score: int,
    actions: Sequence[int],
    children: Mapping[int, Bounds],
    narrow: Callable[[int, Bounds], bool],
) -> bool:
    """Find an action with the score of the position; return False if aborted.

    One exists, so the last remaining candidate needs no search. The most expensive positions have a single
    best action, and refuting the others often takes less time than proving that one.
    """
    while True:
        if any(_is_above(children[action], score - 1) for action in actions):
            return True
        left = [action for action in actions if _is_above(children[action], score - 1) is None]
        # Actions that are equivalent under a symmetry share one bounds array.
        if all(children[action] is children[left[0]] for action in left):
            children[left[0]][1] = -score
        elif not _ask(left[0], children, score - 1, narrow):
            return False


def _first_above(
    actions: Sequence[int],
    children: Mapping[int, Bounds],
    alpha: int,
    narrow: Callable[[int, Bounds], bool],
) -> int | None:
    """Return the first action worth more than `alpha`, or -1 if there is none; None if aborted."""
    # Known answers cost nothing, so look for them before searching.
    for action in actions:
        if _is_above(children[action], alpha):
            return action
    for action in actions:
        if _is_above(children[action], alpha) is None and not _ask(action, children, alpha, narrow):
            return None
        if _is_above(children[action], alpha):
            return action
    return -1


def _is_above(bounds: Bounds, alpha: int) -> bool | None:
    """Return whether an action is worth more than `alpha`; None if its bounds do not tell."""
    if -int(bounds[1]) > alpha:
        return True
    return False if -int(bounds[0]) <= alpha else None


def _ask(
    action: int, children: Mapping[int, Bounds], alpha: int, narrow: Callable[[int, Bounds], bool]
) -> bool:
    """Determine whether an action is worth more than `alpha`; return False if aborted."""
    bounds = children[action]
    # Scores are whole numbers: `action > alpha` is the same as `child < -alpha`, a window of two values.
    window = np.array([-alpha - 1, -alpha], np.int64)
    if not narrow(action, window):
        return False
    if window[1] < -alpha:
        bounds[1] = min(bounds[1], window[1])
    else:
        bounds[0] = max(bounds[0], window[0])
    return True
