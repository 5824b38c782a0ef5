"""What a solver says about a position."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray


class Worth(NamedTuple):
    """What a position or an action is worth under best play of both sides, for the side to move."""

    outcome: int | None
    """1 wins, 0 draws, -1 loses; None where the budget did not suffice."""
    distance: int | None
    """Plies until the match is over, the action itself included; None where that is not known.

    A winner hastens, a loser delays, a draw lasts till the board is full.
    """


UNKNOWN = Worth(None, None)
ILLEGAL = 2
"""Instead of an outcome: there is no such action."""
UNSOLVED = 3
"""Instead of an outcome: the budget did not suffice."""


class Labels(NamedTuple):
    """Many positions and their actions, as arrays."""

    outcomes: NDArray[np.int8]
    """1 wins, 0 draws, -1 loses for who moves; or `ILLEGAL`, `UNSOLVED`; `[positions, num_actions]`."""
    distances: NDArray[np.int8]
    """Plies to the end, the action included; 0 where that is not known; `[positions, num_actions]`."""


class Solved(NamedTuple):
    """A position and each of its legal actions."""

    worth: Worth
    """Of the position."""
    actions: Mapping[int, Worth]
    """Of each legal action, ascending; empty where the match is over."""
    nodes: int
    """Positions searched for this answer."""
    is_complete: bool
    """Whether nothing that was asked for is unknown."""

    @property
    def optimal(self) -> tuple[int, ...]:
        """The actions that keep the outcome, as far as known: weakly optimal ones."""
        known = {action: worth.outcome for action, worth in self.actions.items() if worth.outcome is not None}
        top = self.worth.outcome if self.worth.outcome is not None else max(known.values(), default=None)
        return tuple(action for action, outcome in known.items() if outcome == top)

    @property
    def best(self) -> tuple[int, ...]:
        """Those of `optimal` that win fastest or lose slowest, as far as known: strongly optimal ones."""
        ranks = {action: rank(self.actions[action]) for action in self.optimal}
        return tuple(action for action, found in ranks.items() if found == max(ranks.values()))


def rank(worth: Worth) -> tuple[float, float]:
    """Give what is larger for the better worth; without a distance a win counts as late, a loss as soon."""
    outcome, distance = worth
    if outcome is None:
        return -2.0, 0.0
    return outcome, -math.inf if distance is None else -outcome * distance
