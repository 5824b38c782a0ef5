"""The training loop: epochs on existing games, then rounds of self-play."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from arena_bots.keras_wdl.encoding import full_spec
from arena_bots.keras_wdl.train.array_rules import ArrayRules
from arena_bots.keras_wdl.train.examples import (
    Examples,
    drawn,
    from_games,
    from_proofs,
    joined,
    merged,
    no_examples,
)
from arena_bots.keras_wdl.train.lockstep import LockstepPlan, against_random, play
from arena_bots.keras_wdl.train.model import Classifier
from arena_bots.keras_wdl.train.onnx_file import onnx_bytes
from arena_bots.keras_wdl.train.sources import start_of
from arena_plugins.errors import OptionError
from arena_plugins.training import Checkpoint, Trained, TrainingMatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from arena_bots.keras_wdl.train.lockstep import Games
    from arena_bots.keras_wdl.train.options import Options
    from arena_plugins.training import TrainingContext


class KerasTraining:
    """One training run, from its first epoch or from a checkpoint."""

    def __init__(self, options: Options, context: TrainingContext) -> None:
        self._options = options
        self._context = context
        self._rules = ArrayRules(context.game)
        self._classifier = Classifier(options, self._rules, context.seed)
        self._total = options.epochs + options.rounds
        self._facts: dict[str, str | int] = {"source": options.source, "matches": 0, "own_matches": 0}
        if context.resumed is None:
            self._step = 0
            self._examples, self._held = self._start()
        else:
            self._step = context.resumed.step
            self._examples, self._held = self._restore(context.resumed)

    def run(self) -> Trained:
        """Train; return the weights."""
        goes_on = self._step < self._total
        while goes_on:
            rng = np.random.default_rng([self._context.seed, self._step])
            self._classifier.set_rate(self._rate())
            is_epoch = self._step < self._options.epochs
            loss = self._epoch(rng) if is_epoch else self._round(rng)
            self._step += 1
            self._tell(loss)
            goes_on = self._context.tick(self._step, self._total, self._snapshot) and self._step < self._total
        options = self._options
        weights = self._classifier.weights()
        content = onnx_bytes(options.layers, weights, self._context.game, is_averaged=options.averaged)
        facts = {**self._facts, "parameters": sum(array.size for array in weights)}
        return Trained(content, ".onnx", facts)

    def _start(self) -> tuple[Examples, Examples]:
        """Return the initial examples: for training, and for validation."""
        start = start_of(self._context, self._rules, self._options)
        self._facts |= {
            "source": start.source,
            "matches": start.num_matches,
            "positions": len(start.learnt.mine),
        }
        self._context.say(
            f"{start.num_matches} matches ({start.source}): {len(start.learnt.mine)} distinct positions to"
            f" learn from, {len(start.held.mine)} to check with"
        )
        return start.learnt, start.held

    def _rate(self) -> float:
        """Return the learning rate: constant during the epochs, then decaying along a cosine."""
        options = self._options
        done = (self._step - options.epochs) / max(options.rounds, 1)
        share = (1 + math.cos(math.pi * min(max(done, 0.0), 1.0))) / 2
        return options.rate_end + (options.rate - options.rate_end) * share

    def _epoch(self, rng: np.random.Generator) -> float:
        count = self._options.per_epoch or int(self._examples.weights.sum())
        return self._fit(count, rng)

    def _round(self, rng: np.random.Generator) -> float:
        """Play games, add them to the window, and learn from it."""
        games, plan = self._play(rng)
        kept = _labelled(plan, games.actions.shape[1])
        new = from_games(self._rules, games.actions, games.lengths, games.outcomes, kept=kept)
        new = joined([merged(self._rules, new), merged(self._rules, from_proofs(games.proofs))])
        # A position shared by many games counts more than once, but less than once for each of them.
        new = new._replace(weights=np.sqrt(new.weights))
        self._examples = joined([self._examples, new]).take(slice(-self._options.window, None))
        self._context.store(_matches(games))
        self._facts["own_matches"] = int(self._facts["own_matches"]) + len(games.lengths)
        return self._fit(self._options.per_round, rng)

    def _play(self, rng: np.random.Generator) -> tuple[Games, LockstepPlan]:
        options, count = self._options, self._options.round_games
        done = (self._step - options.epochs) / max(options.rounds, 1)
        epsilon = options.epsilon + (options.epsilon_end - options.epsilon) * done
        rivals = np.where(rng.random(count) < options.rivals, rng.integers(2, size=count), -1)
        # A rival that always plays at random shows which of the safe actions win most often; one that mostly
        # follows the network shows which actions are safe.
        slips = np.where(rng.random(count) < options.random_rivals, 1.0, options.slips)
        plan = LockstepPlan(
            rng.integers(options.opening + 1, size=count),
            rng.random(count) * epsilon,
            rivals,
            slips,
            is_exact=options.proofs > 0,
        )
        return play(self._rules, self._classifier.judge, plan, rng, proofs=options.proofs), plan

    def _fit(self, count: int, rng: np.random.Generator) -> float:
        """Learn from about `count` examples, drawn by weight, each under its own random symmetry."""
        batch = self._options.batch
        count = max(round(count / batch), 1) * batch
        rows = drawn(self._examples, count, rng)
        symmetries = rng.integers(self._rules.num_images, size=count)
        return self._classifier.fit(self._examples, rows, batch, symmetries)

    def _tell(self, loss: float) -> None:
        step, context, options = self._step, self._context, self._options
        context.metric(step, "loss", loss)
        if step <= options.epochs and len(self._held.mine):
            held_loss, right = self._classifier.loss(self._held)
            context.metric(step, "validation loss", held_loss)
            context.metric(step, "validation right %", right)
        if options.measured and (step % options.every == 0 or step == self._total):
            rng = np.random.default_rng([context.seed, step, 1])
            for side, (wins, draws, losses) in zip(
                ("first", "second"),
                against_random(self._rules, self._classifier.judge, options.measured, rng),
                strict=True,
            ):
                context.metric(step, f"wins {side} vs random %", 100 * wins / (wins + draws + losses))

    def _snapshot(self) -> Checkpoint:
        arrays = self._classifier.snapshot()
        for name, examples in (("examples", self._examples), ("held", self._held)):
            arrays |= {f"{name}.{field}": array for field, array in examples._asdict().items()}
        return Checkpoint(self._step, arrays, {**self._facts, "game": full_spec(self._context.game)})

    def _restore(self, checkpoint: Checkpoint) -> tuple[Examples, Examples]:
        """Restore a checkpoint; return its examples.

        Raises:
            OptionError: it belongs to another game or network.
        """
        facts = dict(checkpoint.facts)
        wanted = full_spec(self._context.game)
        if (game := facts.pop("game", wanted)) != wanted:
            raise OptionError(f"the checkpoint is of {game}, not of {wanted}; begin with that game")
        try:
            self._classifier.restore(dict(checkpoint.arrays))
        except (KeyError, ValueError) as error:
            raise OptionError(
                "the checkpoint is of another network; begin with the same layers and optimizer"
            ) from error
        self._facts = {name: value for name, value in facts.items() if isinstance(value, (str, int))}
        fields = no_examples()._fields
        first, second = (
            Examples(*(checkpoint.arrays[f"{name}.{field}"] for field in fields))
            for name in ("examples", "held")
        )
        return first, second


def _labelled(plan: LockstepPlan, length: int) -> NDArray[np.bool_]:
    """Return which positions the outcomes describe: those that no random action follows.

    In games with a slipping side these are the positions after the other side's actions. `[n, length]`,
    starting with the position after the first action.
    """
    plies: NDArray[np.int64] = np.arange(length)
    return (plies >= plan.openings[:, None] - 1) & (plan.rivals[:, None] != plies % 2)


def _matches(games: Games) -> Iterator[TrainingMatch]:
    for actions, length, outcome in zip(games.actions, games.lengths, games.outcomes, strict=True):
        yield TrainingMatch(tuple(actions[:length].tolist()), int(outcome))
