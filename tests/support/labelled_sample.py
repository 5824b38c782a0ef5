"""Measures how well a bot plays 500 labelled positions of Connect Four, for provenances and tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from arena_plugins import load_arrays
from arena_plugins.contract import Limit
from game_samples import make

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_plugins.contract import Bot, State

POSITIONS = Path(__file__).with_name("positions-500.npz")
"""Positions with the outcome of each action under best play, labelled by the project's own solver.

`actions`, `[500, 42]`: the actions that lead to each position, of which the first `ply` count. `outcome`,
`[500, 7]`: the outcome of each action for the side to move, 2 if it is illegal.
"""
ILLEGAL = 2
POINTS = 0.5
"""Tolerance: another processor may round differently."""


class Quality(NamedTuple):
    """Percent of moves that keep the best outcome."""

    positions: int
    all: float
    decisive: float
    """Percent in positions in which some move loses the best outcome."""

    def is_told_by(self, table: Mapping[str, float]) -> bool:
        """Return whether a provenance's table records the same quality."""
        told = (table["sample_all"], table["sample_decisive"])
        return table["sample_positions"] == self.positions and told == pytest.approx(self[1:], abs=POINTS)


def sample_quality(bot: Bot) -> Quality:
    """Ask a bot for a move in each labelled position, and return the quality of the moves."""
    arrays = load_arrays(POSITIONS)
    good: list[bool] = []
    decisive: list[bool] = []
    game = make("connect-four")
    for actions, ply, outcome in zip(arrays["actions"], arrays["ply"], arrays["outcome"], strict=True):
        state: State = game.initial_state()
        for action in actions[:ply].tolist():
            state = state.child(action)
        legal = outcome[outcome != ILLEGAL]
        good.append(bool(outcome[bot.play(state, Limit()).action] == legal.max()))
        decisive.append(bool(legal.min() < legal.max()))
    marks = np.array(good)
    return Quality(len(marks), 100 * float(marks.mean()), 100 * float(marks[decisive].mean()))
