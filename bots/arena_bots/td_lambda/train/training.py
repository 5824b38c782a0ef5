"""Trains the value functions: games in batches, measurements, checkpoints, and the final weights."""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.chance import seeded
from arena.games.kernels.layout import layout_of
from arena_bots.td_lambda.features import WINDOWS
from arena_bots.td_lambda.train.linear_kernels import learn_linear, new_learner
from arena_bots.td_lambda.train.tuple_kernels import TupleTables, learn, new_desk, new_memory
from arena_bots.td_lambda.tuples import draw_tuples, parts_of
from arena_plugins.training import Checkpoint, Trained

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena_plugins.spec import OptionReader
    from arena_plugins.training import TrainingContext

_LINEAR_FIGURES = 10
"""Number of batches between two measurements."""
_AVERAGED = 0.5
"""The last share of the training over which weights are averaged, if the recipe asks for it."""


class LinearPlan(NamedTuple):
    """The settings of a training run."""

    games: int
    batch: int
    """Number of games in a step."""
    alpha: float
    """Initial step size."""
    alpha_end: float
    trace: float
    """The trace parameter lambda."""
    gamma: float
    """Discount per own action."""
    epsilon: float
    """Initial probability of an exploratory action."""
    epsilon_end: float
    epsilon_until: float
    """Share of the games after which the exploration probability has reached its final value."""
    rival: float
    """Share of the games that are played against the shallow opponent, which moves first in half of them."""
    opening: float
    """Probability that the first 1 to 8 plies of a game are random."""
    squashed: bool
    """Whether the value is bounded by tanh."""
    rules: bool
    """Whether wins of the opponent are blocked in training."""
    averaged: bool
    """Whether the final weights are the mean over the second half of the steps."""

    @classmethod
    def read(cls, reader: OptionReader) -> LinearPlan:
        """Read the options.

        Raises:
            OptionError: a value is not allowed.
        """
        return cls(
            games=reader.integer("games", 100_000, low=1, high=10**10),
            batch=reader.integer("batch", 500, low=1, high=10**6),
            alpha=reader.number("alpha", 0.03, low=1e-7, high=1),
            alpha_end=reader.number("alpha_end", 0.03, low=1e-7, high=1),
            trace=reader.number("lambda", 0.8, low=0, high=1),
            gamma=reader.number("gamma", 0.9, low=0, high=1),
            epsilon=reader.number("epsilon", 1.0, low=0, high=1),
            epsilon_end=reader.number("epsilon_end", 0.05, low=0, high=1),
            epsilon_until=reader.number("epsilon_until", 0.05, low=0, high=1),
            rival=reader.number("rival", 0.5, low=0, high=1),
            opening=reader.number("opening", 0.0, low=0, high=1),
            squashed=reader.flag("squashed", default=False),
            rules=reader.flag("block", default=False),
            averaged=reader.flag("averaged", default=False),
        )


class LinearTraining:
    """A training run, from its first batch or from a checkpoint."""

    def __init__(self, plan: LinearPlan, context: TrainingContext) -> None:
        self._plan = plan
        self._context = context
        resumed = context.resumed
        self._step = 0 if resumed is None else resumed.step
        self._learner = new_learner(None if resumed is None else resumed.arrays["weights"])
        self._mean = (
            np.zeros_like(self._learner.weights) if resumed is None else resumed.arrays["mean"].copy()
        )
        self._results = np.zeros(6) if resumed is None else resumed.arrays["results"].copy()

    def run(self) -> Trained:
        """Train; return the weights."""
        layout = layout_of(self._context.game)
        if layout is None:  # impossible, because the trainer has checked the game
            raise AssertionError
        plan = self._plan
        total = -(-plan.games // plan.batch)
        goes_on = self._step < total
        while goes_on:
            chance = seeded(seed_of(self._context.seed, self._step))
            numbers = self._numbers(total)
            # The seed follows from the step, so that a resumed run plays the games that it would have played.
            learn_linear(layout, WINDOWS, self._learner, numbers, chance, plan.batch, self._results)
            self._step += 1
            self._average(total)
            if self._step % _LINEAR_FIGURES == 0 or self._step == total:
                self._tell()
            goes_on = self._context.tick(self._step, total, self._snapshot) and self._step < total
        return Trained(self._packed(total), ".npz", self._facts())

    def _numbers(self, total: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return the parameters of a step, in the order of the constants in `linear_kernels`."""
        plan = self._plan
        return np.array(
            [
                geometric(plan.alpha, plan.alpha_end, self._step, total),
                linear(plan.epsilon, plan.epsilon_end, self._step, round(plan.epsilon_until * total)),
                plan.trace,
                plan.gamma,
                plan.opening,
                plan.rival,
                plan.squashed,
                plan.rules,
            ],
            np.float64,
        )

    def _average(self, total: int) -> None:
        """Include the weights in the mean, if the step is in the second half."""
        count = self._step - int(_AVERAGED * total)
        if count > 0:
            # The mean so far, so that no earlier weights need to be kept.
            self._mean += (self._learner.weights - self._mean) / count

    def _tell(self) -> None:
        wins, draws, losses, games, error, updates = self._results.tolist()
        tell = self._context.metric
        tell(self._step, "loss", error / max(updates, 1))
        if met := wins + draws + losses:
            tell(self._step, "score vs 3-ply minimax", 100 * (wins + draws / 2) / met)
        tell(self._step, "positions a game", updates / max(games, 1))
        self._results[:] = 0

    def _snapshot(self) -> Checkpoint:
        arrays = {"weights": self._learner.weights, "mean": self._mean, "results": self._results}
        return Checkpoint(self._step, arrays, {})

    def _packed(self, total: int) -> bytes:
        has_mean = self._plan.averaged and self._step > int(_AVERAGED * total)
        weights = self._mean if has_mean else self._learner.weights
        file = io.BytesIO()
        np.savez_compressed(
            file,
            allow_pickle=False,
            linear=weights.astype(np.float32),
            squashed=np.array(self._plan.squashed),
        )
        return file.getvalue()

    def _facts(self) -> dict[str, str | int | float | bool]:
        share = self._plan.rival
        source = "self-play" if not share else f"self-play, {share:.0%} against a minimax of three plies"
        return {"source": source, "matches": self._step * self._plan.batch}


_BYTE = 127
"""Largest weight of a table of signed bytes; -128 is not used, so that tables are symmetric."""
_ERROR_PARTS = 1 << 20
"""Units of an error in the results of `learn`, which are integers."""
_TUPLE_FIGURES = 20
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
            if self._step % _TUPLE_FIGURES == 0 or self._step == total:
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
    # The largest weight of each table becomes 127; a table of zeros must not divide by 0.
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


def geometric(start: float, end: float, step: int, total: int) -> float:
    """Interpolate geometrically from `start` to `end`; return the value at `step` of `total`."""
    return start * (end / start) ** min(step / max(total, 1), 1.0)


def linear(start: float, end: float, step: int, total: int) -> float:
    """Interpolate linearly from `start` to `end`; return the value at `step`, constant from `total` on."""
    return start + (end - start) * min(step / max(total, 1), 1.0)


def seed_of(seed: int, step: int) -> int:
    """Return a pseudorandom 64-bit seed for the games of a step."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{step}".encode()).digest()[:8], "big")
