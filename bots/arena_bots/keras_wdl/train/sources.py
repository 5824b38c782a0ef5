"""The initial training data: positions of random games, of stored matches, or of an export."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.export.dataset import Dataset
from arena.games.kernels.bulk import random_matches
from arena.games.symmetry import match_hash
from arena_bots.keras_wdl.encoding import full_spec
from arena_bots.keras_wdl.train.examples import Examples, from_games, merged, no_examples
from arena_plugins.errors import OptionError
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from arena_bots.keras_wdl.train.array_rules import ArrayRules
    from arena_bots.keras_wdl.train.options import Options
    from arena_plugins.contract import Game
    from arena_plugins.training import TrainingContext

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


def start_of(context: TrainingContext, rules: ArrayRules, options: Options) -> InitialExamples:
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
    lengths = found.lengths.astype(np.int64)
    marks = [
        _mark(rules.game, actions[:length].tolist())
        for actions, length in zip(found.actions, lengths.tolist(), strict=True)
    ]
    outcomes = found.outcomes.astype(np.int64)
    return _split(rules, found.actions, lengths, outcomes, marks, options, "random play")


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
    there = slice(0, len(marks))
    return _split(rules, actions[there], lengths[there], outcomes[there], marks, options, "store")


def _split(  # noqa: PLR0913, PLR0917 - matches as arrays, and the settings
    rules: ArrayRules,
    actions: NDArray[np.integer],
    lengths: NDArray[np.int64],
    outcomes: NDArray[np.int64],
    marks: Sequence[int],
    options: Options,
    source: str,
) -> InitialExamples:
    is_held = np.array(marks, np.int64) % _HELD == 0
    learnt, held = (
        merged(
            rules,
            from_games(rules, actions[rows], lengths[rows], outcomes[rows], with_ends=options.ends),
        )
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
