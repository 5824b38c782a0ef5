"""Labelled positions: extracted from games, merged if equal, kept in a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena_bots.keras_wdl.encoding import DRAW, LOSS, WIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arena.games.kernels.bulk import Matches
    from arena_bots.keras_wdl.train.array_rules import ArrayRules
    from arena_bots.keras_wdl.train.lockstep import Proofs

_CLASSES = 3


class Examples(NamedTuple):
    """Positions, from the view of the player who has just moved, and the results of the games with them."""

    mine: NDArray[np.uint64]
    """Stones of the player who has just moved; `[n]`."""
    other: NDArray[np.uint64]
    chances: NDArray[np.float32]
    """Share of each class among the games; `[n, 3]`, rows sum to 1."""
    weights: NDArray[np.float32]
    """Number of games with the position; `[n]`."""

    def take(self, rows: NDArray[np.intp] | slice) -> Examples:
        """Return the examples in some rows."""
        return Examples(self.mine[rows], self.other[rows], self.chances[rows], self.weights[rows])


def no_examples() -> Examples:
    """Return an empty set of examples."""
    words = np.zeros(0, np.uint64)
    return Examples(words, words, np.zeros((0, _CLASSES), np.float32), np.zeros(0, np.float32))


def joined(parts: Sequence[Examples]) -> Examples:
    """Concatenate examples."""
    return Examples(*map(np.concatenate, zip(*parts, strict=True)))


class GameArrays(NamedTuple):
    """Games as arrays."""

    actions: NDArray[np.integer]
    """The actions from the initial state; `[n, max_length]`."""
    lengths: NDArray[np.integer]
    """Number of actions; `[n]`."""
    outcomes: NDArray[np.integer]
    """1, 0 or -1 for the first player; `[n]`."""

    @classmethod
    def of(cls, matches: Matches) -> GameArrays:
        """Return matches with signed lengths and results, as arithmetic with them needs."""
        return cls(matches.actions, matches.lengths.astype(np.int64), matches.outcomes.astype(np.int64))

    def take(self, rows: NDArray[np.bool_] | slice) -> GameArrays:
        """Return the games in some rows."""
        return GameArrays(self.actions[rows], self.lengths[rows], self.outcomes[rows])


def from_games(
    rules: ArrayRules,
    games: GameArrays,
    *,
    kept: NDArray[np.bool_] | None = None,
    with_ends: bool = False,
) -> Examples:
    """Label the positions of games with the games' outcomes.

    Args:
        rules: the rules of the game.
        games: the games.
        kept: which positions to use, starting with the one after the first action; `[n, max_length]`; None
            for all.
        with_ends: whether to include the final position of each game.
    """
    actions, lengths, outcomes = games
    layout = rules.layout
    own, opp = np.zeros(len(lengths), np.uint64), np.zeros(len(lengths), np.uint64)
    lows, columns = layout.lows, layout.columns
    parts = [no_examples()]
    for ply in range(int(lengths.max(initial=0))):
        action = actions[:, ply].astype(np.intp)
        # Adding a column's lowest bit carries over its stones to the lowest empty cell.
        own |= np.where(ply < lengths, (own | opp) + lows[action] & columns[action], np.uint64(0))
        wanted = ply < lengths if with_ends else ply < lengths - 1
        if kept is not None:
            wanted = wanted & kept[:, ply]
        result = outcomes[wanted].astype(np.int64) * (1 - 2 * (ply % 2))
        chances = np.zeros((len(result), _CLASSES), np.float32)
        chances[np.arange(len(result)), np.array([LOSS, DRAW, WIN])[result + 1]] = 1
        parts.append(Examples(own[wanted], opp[wanted], chances, np.ones(len(result), np.float32)))
        own, opp = opp, own
    return joined(parts)


def from_proofs(proofs: Proofs) -> Examples:
    """Label proven positions."""
    chances = np.zeros((len(proofs.mine), _CLASSES), np.float32)
    chances[np.arange(len(proofs.mine)), np.where(proofs.is_won, WIN, LOSS)] = 1
    return Examples(proofs.mine, proofs.other, chances, np.ones(len(proofs.mine), np.float32))


def merged(rules: ArrayRules, examples: Examples) -> Examples:
    """Merge examples whose positions are equal or symmetric."""
    mine, other = rules.canonical(examples.mine, examples.other)
    order = np.lexsort((other, mine))
    mine, other = mine[order], other[order]
    if not len(order):
        return examples
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (mine[1:] != mine[:-1]) | (other[1:] != other[:-1])
    starts = np.nonzero(is_new)[0]
    weights = examples.weights[order]
    sums = np.add.reduceat(examples.chances[order] * weights[:, None], starts, axis=0)
    totals = np.add.reduceat(weights, starts)
    chances = (sums / totals[:, None]).astype(np.float32)
    return Examples(mine[starts], other[starts], chances, totals)


def drawn(examples: Examples, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw `count` rows with probabilities proportional to their weights."""
    ends = np.cumsum(examples.weights, dtype=np.float64)
    found: NDArray[np.intp] = np.searchsorted(ends, rng.random(count) * float(ends[-1]), side="right")
    # Rounding may give the random number the value of the whole sum, which has no row.
    return np.minimum(found, len(ends) - 1)
