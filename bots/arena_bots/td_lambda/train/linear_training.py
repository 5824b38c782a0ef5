"""Trains the linear value function: games in batches, measurements, checkpoints, and the final weights."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.chance import seeded
from arena.games.kernels.layout import layout_of
from arena_bots.td_lambda.features import WINDOWS
from arena_bots.td_lambda.train.linear_kernels import learn_linear, new_learner
from arena_bots.td_lambda.train.schedule import geometric, linear, seed_of
from arena_plugins.training import Checkpoint, Trained

if TYPE_CHECKING:
    from arena_plugins.spec import OptionReader
    from arena_plugins.training import TrainingContext

_FIGURES = 10
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
            learn_linear(layout, WINDOWS, self._learner, numbers, chance, plan.batch, self._results)
            self._step += 1
            self._average(total)
            if self._step % _FIGURES == 0 or self._step == total:
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
