"""Results of a solver."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray


class Worth(NamedTuple):
    """Value of a position or an action under perfect play, for the side to move."""

    outcome: int | None
    """1 wins, 0 draws, -1 loses; None if the budget did not suffice."""
    distance: int | None
    """Plies until the match is over, the action itself included; None if unknown.

    The winner plays for the shortest match and the loser for the longest; a draw lasts until the board is
    full.
    """


UNKNOWN = Worth(None, None)
ILLEGAL = 2
"""In place of an outcome: the action is illegal."""
UNSOLVED = 3
"""In place of an outcome: the budget did not suffice."""


class Labels(NamedTuple):
    """Values of the actions of many positions, as arrays."""

    outcomes: NDArray[np.int8]
    """1 wins, 0 draws, -1 loses for the side to move; or `ILLEGAL`, `UNSOLVED`; `[positions,
    num_actions]`."""
    distances: NDArray[np.int8]
    """Plies to the end, the action included; 0 if unknown; `[positions, num_actions]`."""


class Solved(NamedTuple):
    """Values of a position and its legal actions."""

    worth: Worth
    """Value of the position."""
    actions: Mapping[int, Worth]
    """Values of the legal actions in ascending order; empty if the match is over."""
    nodes: int
    """Number of positions searched."""
    is_complete: bool
    """Whether everything that was requested is known."""

    @property
    def optimal(self) -> tuple[int, ...]:
        """The actions that keep the outcome, as far as known (weakly optimal)."""
        known = {action: worth.outcome for action, worth in self.actions.items() if worth.outcome is not None}
        top = self.worth.outcome if self.worth.outcome is not None else max(known.values(), default=None)
        return tuple(action for action, outcome in known.items() if outcome == top)

    @property
    def best(self) -> tuple[int, ...]:
        """Those of `optimal` that win fastest or lose slowest, as far as known (strongly optimal)."""
        ranks = {action: rank(self.actions[action]) for action in self.optimal}
        return tuple(action for action, found in ranks.items() if found == max(ranks.values()))


def rank(worth: Worth) -> tuple[float, float]:
    """Return a sort key, larger for better values; an unknown distance counts as the worst one."""
    outcome, distance = worth
    if outcome is None:
        return -2.0, 0.0
    return outcome, -math.inf if distance is None else -outcome * distance
