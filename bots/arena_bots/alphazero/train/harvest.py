"""From matches that have ended to positions to learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena_bots.alphazero.train.games import WON, Samples, replay
from arena_plugins.training import TrainingMatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.layout import Layout
    from arena_bots.alphazero.train.games import Lanes

_SPLIT = 0.5
"""Part of a value that is no certain result: half goes to a win, half to a loss."""


def reap(lanes: Lanes, lane: int, result: int, layout: Layout, share: float) -> tuple[Samples, TrainingMatch]:
    """Give what is to be learnt from a match that has ended, and the match.

    Args:
        lanes: the matches.
        lane: the one that has ended.
        result: WON, by who played last, or DRAWN.
        layout: the game.
        share: of the result in what positions are said to be worth; the rest is what the search found.
    """
    length = int(lanes.ply[lane])
    plies = np.arange(length)
    outcome = 0 if result != WON else 1 if length % 2 else -1
    match = TrainingMatch(tuple(lanes.actions[lane, :length].tolist()), outcome)
    own, opp, last = (np.zeros(length, np.uint64) for _ in range(3))
    replay(lanes.actions[lane, :length], layout, own, opp, last)
    results = outcome * (1 - 2 * (plies % 2))
    # After a random action the result says nothing of what was before it.
    shares = np.where(plies < lanes.mixed[lane], 0.0, share)
    chances = _chances(results, lanes.values[lane, :length], shares)
    taken = lanes.searched[lane, :length]
    samples = Samples(
        own[taken],
        opp[taken],
        last[taken],
        lanes.policies[lane, :length][taken],
        lanes.weights[lane, :length][taken],
        chances[taken],
    )
    return samples, match


def _chances(
    results: NDArray[np.int64], values: NDArray[np.float32], shares: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Mix results, exactly, and values, as chances of the same mean; `[n]` each gives `[n, 3]`."""
    exact = np.stack([results == 1, results == 0, results == -1], axis=1)
    bounded = np.clip(values, -1, 1)
    found = np.stack([_SPLIT * (1 + bounded), np.zeros_like(bounded), _SPLIT * (1 - bounded)], axis=1)
    return (shares[:, None] * exact + (1 - shares[:, None]) * found).astype(np.float32)


def restart(lanes: Lanes, lane: int) -> None:
    """Begin a new match in a lane."""
    for array in (lanes.own, lanes.opp, lanes.last, lanes.ply, lanes.mixed):
        array[lane] = 0
    lanes.searched[lane] = False
