"""The training loop: epochs on games from random play, a store or an export, then rounds of self-play."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.export.dataset import Dataset
from arena.games.kernels.bulk import random_matches
from arena.games.symmetry import match_hash
from arena_bots.keras_wdl.encoding import full_spec
from arena_bots.keras_wdl.train.array_rules import ArrayRules
from arena_bots.keras_wdl.train.examples import (
    Examples,
    GameArrays,
    drawn,
    from_games,
    from_proofs,
    joined,
    merged,
    no_examples,
)
from arena_bots.keras_wdl.train.lockstep import LockstepPlan, against_random, play
from arena_bots.keras_wdl.train.model import Classifier, onnx_bytes
from arena_plugins.errors import OptionError
from arena_plugins.manager import load_game
from arena_plugins.training import Checkpoint, Trained, TrainingMatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from arena_bots.keras_wdl.train.lockstep import Games
    from arena_bots.keras_wdl.train.options import Options
    from arena_plugins.contract import Game
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
            # From seed and step, so that a resumed run plays and learns what it would have without the
            # interruption.
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
        start = _start_of(self._context, self._rules, self._options)
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
        # Half a cosine (Loshchilov and Hutter, SGDR, 2017).
        share = (1 + math.cos(math.pi * min(max(done, 0.0), 1.0))) / 2
        return options.rate_end + (options.rate - options.rate_end) * share

    def _epoch(self, rng: np.random.Generator) -> float:
        count = self._options.per_epoch or int(self._examples.weights.sum())
        return self._fit(count, rng)

    def _round(self, rng: np.random.Generator) -> float:
        """Play games, add them to the window, and learn from it."""
        games, plan = self._play(rng)
        kept = _labelled(plan, games.actions.shape[1])
        new = from_games(self._rules, GameArrays(games.actions, games.lengths, games.outcomes), kept=kept)
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
            # Random numbers of its own: measuring must not change the training.
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


_DIGITS = 15
"""Number of hex digits of a hash that fit into a signed 64-bit word."""
_HELD = 20
"""One in this many matches is held back for validation."""


class InitialExamples(NamedTuple):
    """Initial examples; no match, nor a symmetric image of it, occurs in both sets."""

    learnt: Examples
    held: Examples
    """Examples for validation."""
    num_matches: int
    source: str
    """A short description of the source."""


def _start_of(context: TrainingContext, rules: ArrayRules, options: Options) -> InitialExamples:
    """Return the initial data of a training run; an export takes precedence if one was given.

    Raises:
        OptionError: it is for another game, or there are no matches.
        ExportError: it cannot be read.
    """
    if context.data is not None:
        return _exported(context.data, rules)
    if options.source == "store":
        return _stored(context, rules, options)
    found = random_matches(rules.game, options.games, context.seed)
    marks = [
        _mark(rules.game, actions[:length].tolist())
        for actions, length in zip(found.actions, found.lengths.tolist(), strict=True)
    ]
    return _split(rules, GameArrays.of(found), marks, options, "random play")


def _stored(context: TrainingContext, rules: ArrayRules, options: Options) -> InitialExamples:
    """Return positions of the newest stored matches."""
    count = options.games
    actions = np.zeros((count, rules.layout.max_length), np.int16)
    lengths, outcomes = np.zeros(count, np.int64), np.zeros(count, np.int64)
    marks: list[int] = []
    for number, match in zip(range(count), context.matches(), strict=False):
        actions[number, : len(match.actions)] = match.actions
        lengths[number], outcomes[number] = len(match.actions), match.outcome
        marks.append(_mark(rules.game, match.actions))
    if not marks:
        raise OptionError(
            f"the store holds no finished match of {rules.game.name} to learn from; play some with"
            " arena tournament, or train with source=random"
        )
    played = GameArrays(actions, lengths, outcomes).take(slice(0, len(marks)))
    return _split(rules, played, marks, options, "store")


def _split(
    rules: ArrayRules, played: GameArrays, marks: Sequence[int], options: Options, source: str
) -> InitialExamples:
    is_held = np.array(marks, np.int64) % _HELD == 0
    learnt, held = (
        merged(rules, from_games(rules, played.take(rows), with_ends=options.ends))
        for rows in (~is_held, is_held)
    )
    return InitialExamples(learnt, held, len(marks), source)


def _mark(game: Game, actions: Sequence[int]) -> int:
    """Return a number that is equal for equal matches and their symmetric images."""
    return int(match_hash(game, actions)[:_DIGITS], 16)


def _exported(folder: Path, rules: ArrayRules) -> InitialExamples:
    """Return the positions of an export, split as it specifies, otherwise by match."""
    data = Dataset.open(folder)
    if (theirs := full_spec(load_game(data.game))) != full_spec(rules.game):
        raise OptionError(
            f"{folder} holds {theirs}, not {full_spec(rules.game)}; export matches of that game"
        )
    learnt, hashes = _rows(data, "train", rules)
    if "validation" in data.splits:
        held, _ = _rows(data, "validation", rules)
    else:
        is_held = np.array([int(mark[:_DIGITS], 16) % _HELD == 0 for mark in hashes])
        learnt, held = learnt.take(np.nonzero(~is_held)[0]), learnt.take(np.nonzero(is_held)[0])
    num_matches = sum(part.num_matches for part in data.manifest.splits.values())
    return InitialExamples(merged(rules, learnt), merged(rules, held), num_matches, f"export {folder.name}")


def _rows(data: Dataset, split: str, rules: ArrayRules) -> tuple[Examples, list[str]]:
    """Return the positions of a split for the player who has just moved, and the hash of each one's match."""
    if not data.num_rows(split):
        return no_examples(), []
    found = data.arrays(split)
    hashes = data.columns(split, ["match_hash"])["match_hash"]
    planes = found["planes"].reshape(len(hashes), 2, -1) > 0
    moved = planes.any(axis=(1, 2))
    own, other = (
        (planes[moved, side] << rules.bits.astype(np.uint64)).sum(axis=1, dtype=np.uint64) for side in (0, 1)
    )
    # Outcomes are stored for the side to move. Means of several lie in between and keep their expected
    # points.
    value = -found["value"][moved]
    chances = np.stack([np.maximum(-value, 0), 1 - np.abs(value), np.maximum(value, 0)], axis=1)
    examples = Examples(other, own, chances.astype(np.float32), found["count"][moved].astype(np.float32))
    return examples, hashes[moved].tolist()
