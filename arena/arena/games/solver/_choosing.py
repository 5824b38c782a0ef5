"""Finds a best action of a position, and those that are as good, without what the others are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Bounds = NDArray[np.int64]


class BestQuestion(NamedTuple):
    """A position whose best actions are asked for; scores are for who moves there."""

    here: Bounds
    """Least and greatest score of the position; they change."""
    children: Mapping[int, Bounds]
    """The same of the position after each action, for who moves then; they change."""
    order: Sequence[int]
    """The actions, those that are likely to be good first."""
    guess: int
    """What the score is expected to be: the first window asks whether it is above."""


def find_best(question: BestQuestion, narrow: Callable[[int, Bounds], bool]) -> bool:
    """Narrow bounds down to the score and find an action that has it; False if the search was stopped.

    It asks in null windows around the last answer, the first one above the guess, as MTD(f) does (Plaat et
    al., Best-first fixed-depth minimax, 1996), but keeps what each action was found to be worth. With a score
    that is known beforehand, from a book, all that is left is to find an action that has it.

    Args:
        question: what is asked.
        narrow: narrows bounds of the position after an action; False if the budget ended before.
    """
    here, children, order, guess = question
    actions = list(order)
    while here[0] < here[1]:
        alpha = int(min(max(guess, here[0]), here[1] - 1))
        action = _first_above(actions, children, alpha, narrow)
        if action is None:
            return False
        if action < 0:
            here[1] = guess = max(-int(children[other][0]) for other in actions)
        else:
            here[0] = guess = min(int(here[1]), -int(children[action][1]))
            # It is tried first in the next window.
            actions.remove(action)
            actions.insert(0, action)
    score = int(here[0])
    for bounds in children.values():
        bounds[0] = max(bounds[0], -score)
    return _find_equal_to(score, actions, children, narrow)


def find_equal(question: BestQuestion, narrow: Callable[[int, Bounds], bool]) -> None:
    """Find the actions that are as good as the best one, which is known, as far as that can be told.

    Args:
        question: what is asked.
        narrow: as for `find_best`; nothing more is asked of it once it has given up.
    """
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
    """Find an action that has the score of the position; return False if the search was stopped.

    Some action has it, so the last one that is left is not searched. Where a move takes longest there is only
    one, and the others are often refuted in less time than it takes to prove it.
    """
    while True:
        if any(_is_above(children[action], score - 1) for action in actions):
            return True
        left = [action for action in actions if _is_above(children[action], score - 1) is None]
        # Actions that a symmetry maps onto each other share their bounds.
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
    """Return the first action worth more than `alpha`, -1 where there is none; None if it was stopped."""
    # What is known costs nothing.
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
    """Return whether an action is worth more than `alpha`; None where its bounds do not tell."""
    if -int(bounds[1]) > alpha:
        return True
    return False if -int(bounds[0]) <= alpha else None


def _ask(
    action: int, children: Mapping[int, Bounds], alpha: int, narrow: Callable[[int, Bounds], bool]
) -> bool:
    """Find out whether an action is worth more than `alpha`; False if it was stopped before."""
    bounds = children[action]
    window = np.array([-alpha - 1, -alpha], np.int64)
    if not narrow(action, window):
        return False
    if window[1] < -alpha:
        bounds[1] = min(bounds[1], window[1])
    else:
        bounds[0] = max(bounds[0], window[0])
    return True
