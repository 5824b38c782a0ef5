"""Turns finished matches into training positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena_bots.alphazero.train.games import GOING, WON, Samples, replay
from arena_plugins.training import TrainingMatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.layout import Layout
    from arena_bots.alphazero.train.games import Lanes

_SPLIT = 0.5
"""How the part of a value that is not a certain result is split: half to a win, half to a loss."""


def reap(
    lanes: Lanes, results: NDArray[np.int8], layout: Layout, share: float
) -> tuple[Samples, list[TrainingMatch]]:
    """Return training positions and records of the finished matches; new matches begin in their lanes.

    Args:
        lanes: the matches.
        results: GOING, WON (by the side that moved last) or DRAWN; `[lanes]`.
        layout: the game.
        share: weight of the result in the target value; the rest is the search's value.
    """
    ended = np.flatnonzero(results != GOING)
    lengths, actions = lanes.ply[ended], lanes.actions[ended]
    # After an odd number of actions, the first player has moved last.
    outcomes = np.where(results[ended] == WON, np.where(lengths % 2, 1, -1), 0)
    own, opp, last = (np.zeros(actions.shape, np.uint64) for _ in range(3))
    replay(actions, lengths, layout, own, opp, last)
    taken = lanes.searched[ended]
    plies = np.arange(int(actions.shape[1]))
    # The result says nothing about the positions before a random action.
    shares = np.where(plies < lanes.mixed[ended, None], 0.0, share)
    sides = outcomes[:, None] * (1 - 2 * (plies % 2))
    samples = Samples(
        own[taken],
        opp[taken],
        last[taken],
        lanes.policies[ended][taken],
        lanes.weights[ended][taken],
        _chances(sides[taken], lanes.values[ended][taken], shares[taken]),
    )
    for array in (lanes.own, lanes.opp, lanes.last, lanes.ply, lanes.mixed):
        array[ended] = 0
    # The other arrays keep old entries, which the next match overwrites ply by ply; entries are read only
    # where `searched` is set.
    lanes.searched[ended] = False
    rows = zip(actions.tolist(), lengths.tolist(), outcomes.tolist(), strict=True)
    return samples, [TrainingMatch(tuple(row[:length]), outcome) for row, length, outcome in rows]


def _chances(
    results: NDArray[np.int64], values: NDArray[np.float32], shares: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Convert results and search values, `[n]` each, into chances with the same mean, `[n, 3]`."""
    exact = np.stack([results == 1, results == 0, results == -1], axis=1)
    bounded = np.clip(values, -1, 1)
    found = np.stack([_SPLIT * (1 + bounded), np.zeros_like(bounded), _SPLIT * (1 - bounded)], axis=1)
    return (shares[:, None] * exact + (1 - shares[:, None]) * found).astype(np.float32)
