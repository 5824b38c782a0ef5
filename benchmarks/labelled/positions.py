"""Connect Four positions labelled with the value of every action: the file format, strata, and good actions.

A file is an `.npz` without pickles; `n` positions in random order, so any first part is a fair sample.
Positions are distinct, also after mirroring: of the two mirror images each is the one whose cells compare
lower.

| array | dtype, shape | content |
| --- | --- | --- |
| `own`, `opp` | uint64 `[n]` | stones of the side to move and of the other: bit `column * 7 + height` |
| `ply` | int16 `[n]` | actions played before |
| `actions` | int8 `[n, 42]` | these actions, then -1 |
| `outcome` | int8 `[n, 7]` | of each action under best play: 1 win, 0 draw, -1 loss; 2 not legal |
| `distance` | int8 `[n, 7]` | plies to the end, the action included, under best play; 0 not legal |
| `phase` | int8 `[n]` | 0 begin (at most 14 plies before), 1 middle (at most 28), 2 end |
| `difficulty` | int8 `[n]` | 0 easy: best play ends in less than 14 plies, 1 medium: less than 28, 2 hard |
| `decisive` | bool `[n]` | whether some action has a worse outcome than the best |
| `match` | U64 `[n]` | `match_hash` of the stored match it comes from: no trainer may learn from that match |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from arena_plugins import Game, State

ILLEGAL = 2
"""Stands in place of an outcome."""
PHASES = ("begin", "middle", "end")
DIFFICULTIES = ("easy", "medium", "hard")
_LAST_PLIES = (14, 28)
"""Last plies of the first two phases."""
_SOON = (14, 28)
"""Bounds of the plies to the end: below the first a position is easy, below the second medium."""


class Positions(NamedTuple):
    """Labelled positions; the docstring of this module describes each array."""

    own: NDArray[np.uint64]
    opp: NDArray[np.uint64]
    ply: NDArray[np.int16]
    actions: NDArray[np.int8]
    outcome: NDArray[np.int8]
    distance: NDArray[np.int8]
    phase: NDArray[np.int8]
    difficulty: NDArray[np.int8]
    decisive: NDArray[np.bool_]
    match: NDArray[np.str_]

    def state(self, index: int, game: Game) -> State:
        """Return the state of one position."""
        state = game.initial_state()
        for action in self.actions[index, : self.ply[index]].tolist():
            state = state.child(action)
        return state

    def first(self, count: int) -> Positions:
        """Return the first `count` positions."""
        return Positions(**{name: array[:count] for name, array in self._asdict().items()})

    @property
    def optimal(self) -> NDArray[np.bool_]:
        """Whether each action has the best possible outcome (weakly optimal); `[n, 7]`."""
        return (self.outcome != ILLEGAL) & (self.outcome == best_outcome(self.outcome)[:, None])

    @property
    def best(self) -> NDArray[np.bool_]:
        """Whether each action also wins fastest or loses slowest (strongly optimal); `[n, 7]`."""
        merit = np.where(self.optimal, -self.outcome.astype(np.int64) * self.distance, np.iinfo(np.int64).min)
        return self.optimal & (merit == merit.max(axis=1, keepdims=True))

    @property
    def strata(self) -> list[str]:
        """Phase and difficulty in words, like "begin-hard"; `[n]`."""
        return [
            f"{PHASES[phase]}-{DIFFICULTIES[difficulty]}"
            for phase, difficulty in zip(self.phase.tolist(), self.difficulty.tolist(), strict=True)
        ]

    def save(self, path: Path) -> None:
        """Write the file; the same positions give the same bytes."""
        np.savez_compressed(path, allow_pickle=False, **self._asdict())


def load(path: Path) -> Positions:
    """Read a file.

    Raises:
        SystemExit: it is not such a file.
    """
    try:
        with np.load(path) as arrays:
            positions = Positions(**{name: arrays[name] for name in Positions._fields})
    except (OSError, ValueError, KeyError) as error:
        raise SystemExit(
            f"{path} holds no labelled positions: {error}; dev_set.py makes such files"
        ) from None
    if {len(array) for array in positions} != {len(positions.own)}:
        raise SystemExit(f"{path} is damaged: its arrays differ in length")
    return positions


def best_outcome(outcome: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the best outcome of each row's legal actions; `[n]`."""
    return np.where(outcome == ILLEGAL, -1, outcome).max(axis=1)


def phase_of(ply: int) -> int:
    """Return the number of the phase of a position after `ply` plies."""
    return sum(ply > last for last in _LAST_PLIES)


def difficulty_of(outcome: Sequence[int], distance: Sequence[int]) -> int:
    """Return the difficulty of a position, from the values of its actions."""
    best = max(value for value in outcome if value != ILLEGAL)
    plies = [far for value, far in zip(outcome, distance, strict=True) if value == best]
    return sum((min(plies) if best > 0 else max(plies)) >= bound for bound in _SOON)


def is_decisive(outcome: Sequence[int]) -> bool:
    """Return whether some action gives away the best outcome."""
    return len({value for value in outcome if value != ILLEGAL}) > 1
