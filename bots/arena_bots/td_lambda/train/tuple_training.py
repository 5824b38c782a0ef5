"""Trains n-tuples by self-play: games in batches, measurements, checkpoints, and the final byte tables."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.chance import seeded
from arena.games.kernels.layout import layout_of
from arena_bots.td_lambda.train.schedule import geometric, seed_of
from arena_bots.td_lambda.train.tuple_kernels import TupleTables, learn, new_desk, new_memory
from arena_bots.td_lambda.tuples import draw_tuples, parts_of
from arena_plugins.training import Checkpoint, Trained

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena_plugins.spec import OptionReader
    from arena_plugins.training import TrainingContext

_BYTE = 127
_ERROR_PARTS = 1 << 20
_FIGURES = 20
"""Number of batches between two measurements."""


class TuplePlan(NamedTuple):
    """The settings of a training run."""

    tuples: int
    """Number of tuples; each is looked up twice, directly and mirrored."""
    length: int
    """Number of cells in a tuple."""
    games: int
    """Total number of self-play games."""
    batch: int
    """Number of games in a step."""
    alpha: float
    """Initial step size for a change of 1."""
    alpha_end: float
    epsilon: float
    """Probability of an exploratory action."""
    trace: float
    """The trace parameter lambda."""
    opening: float
    """Probability that the first 1 to 8 plies of a game are random."""
    alone: float
    """Probability that only one player of a game explores."""

    @classmethod
    def read(cls, reader: OptionReader) -> TuplePlan:
        """Read the options.

        Raises:
            OptionError: a value is not allowed.
        """
        return cls(
            tuples=reader.integer("tuples", 70, low=1, high=400),
            length=reader.integer("length", 8, low=2, high=8),
            games=reader.integer("games", 20_000_000, low=1, high=10**10),
            batch=reader.integer("batch", 5000, low=1, high=10**6),
            alpha=reader.number("alpha", 0.02, low=1e-6, high=1),
            alpha_end=reader.number("alpha_end", 0.002, low=1e-6, high=1),
            epsilon=reader.number("epsilon", 0.1, low=0, high=1),
            trace=reader.number("lambda", 0.8, low=0, high=1),
            opening=reader.number("opening", 0.5, low=0, high=1),
            alone=reader.number("alone", 0.0, low=0, high=1),
        )


class TupleTraining:
    """A training run, from its first batch or from a checkpoint."""

    def __init__(self, plan: TuplePlan, context: TrainingContext) -> None:
        self._plan = plan
        self._context = context
        self._tuples = draw_tuples(plan.tuples, plan.length, context.seed)
        self._parts = parts_of(self._tuples)
        resumed = context.resumed
        self._step = 0 if resumed is None else resumed.step
        if resumed is None:
            self._memory = new_memory(int(self._parts.starts[-1]))
        else:
            self._memory = TupleTables(*(resumed.arrays[name].copy() for name in TupleTables._fields))
        self._results = np.zeros(5, np.int64) if resumed is None else resumed.arrays["results"].copy()

    def run(self) -> Trained:
        """Train; return the weights."""
        layout = layout_of(self._context.game)
        if layout is None:  # impossible, because the trainer has checked the game
            raise AssertionError
        plan, desk = self._plan, new_desk(2 * self._plan.tuples)
        total = -(-plan.games // plan.batch)
        goes_on = self._step < total
        while goes_on:
            alpha = geometric(plan.alpha, plan.alpha_end, self._step, total)
            rates = np.array([alpha, plan.epsilon, plan.trace, plan.opening, plan.alone], np.float32)
            chance = seeded(seed_of(self._context.seed, self._step))
            learn(layout, self._parts.parts, self._memory, desk, rates, chance, plan.batch, self._results)
            self._step += 1
            if self._step % _FIGURES == 0 or self._step == total:
                self._tell()
            goes_on = self._context.tick(self._step, total, self._snapshot) and self._step < total
        return Trained(
            packed(self._tuples, self._memory.weights, self._parts.starts),
            ".npz",
            {
                "source": "self-play",
                "matches": self._step * plan.batch,
                "entries": int(self._parts.starts[-1]),
            },
        )

    def _tell(self) -> None:
        wins, draws, losses, plies, error = self._results.tolist()
        games = wins + draws + losses
        for name, value in (
            ("loss", error / _ERROR_PARTS / max(plies, 1)),
            ("first wins %", 100 * wins / games),
            ("draws %", 100 * draws / games),
            ("plies", plies / games),
        ):
            self._context.metric(self._step, name, value)
        self._results[:] = 0

    def _snapshot(self) -> Checkpoint:
        return Checkpoint(self._step, {**self._memory._asdict(), "results": self._results}, {})


def packed(tuples: NDArray[np.uint8], weights: NDArray[np.float32], starts: NDArray[np.int64]) -> bytes:
    """Return the weights file: tables of bytes, and the scale of each table."""
    tops = np.maximum.reduceat(np.abs(weights), starts[:-1], axis=1)
    scales = np.maximum(tops / _BYTE, np.finfo(np.float32).tiny).astype(np.float32)
    units = weights / np.repeat(scales, np.diff(starts), axis=1)
    file = io.BytesIO()
    np.savez_compressed(
        file,
        allow_pickle=False,
        tuples=tuples,
        tables=np.clip(np.rint(units), -_BYTE, _BYTE).astype(np.int8),
        scales=scales,
    )
    return file.getvalue()
