"""Trains the linear value: games in batches, figures, checkpoints, and the weights in the end."""

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
"""Batches between figures."""
_AVERAGED = 0.5
"""The weights of this last part of the training are averaged, where the recipe asks for it."""


class LinearPlan(NamedTuple):
    """What is trained, and how."""

    games: int
    batch: int
    """Games of a step."""
    alpha: float
    """Step size in the beginning."""
    alpha_end: float
    trace: float
    """Lambda."""
    gamma: float
    """Discount of each own action."""
    epsilon: float
    """Chance of an exploratory action in the beginning."""
    epsilon_end: float
    epsilon_until: float
    """Share of the games after which it has come down to its end."""
    rival: float
    """Share of the games against the shallow opponent, half of them first."""
    opening: float
    """Chance that the first 1 to 8 plies of a game are random."""
    squashed: bool
    """Whether the value is bounded by tanh."""
    rules: bool
    """Whether wins are blocked in training."""
    averaged: bool
    """Whether the weights are the mean over the second half of the steps."""

    @classmethod
    def read(cls, reader: OptionReader) -> LinearPlan:
        """Read the options.

        Raises:
            OptionError: a value cannot be used.
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
    """One training, from its first batch or from a checkpoint on."""

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
        """Train; give the weights."""
        layout = layout_of(self._context.game)
        if layout is None:  # the trainer has looked at the game
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
        """Give the numbers of a step, as `linear_kernels` names them."""
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
        """Take the weights of a step of the second half into the mean."""
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
