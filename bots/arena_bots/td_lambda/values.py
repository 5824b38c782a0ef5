"""The learnt value functions: n-tuples, or a linear function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from arena_bots.td_lambda.features import NUM_FEATURES, features_of
from arena_bots.td_lambda.tuples import CELLS, COLUMNS, keys_of, parts_of
from arena_plugins.errors import PluginError
from arena_plugins.weights import load_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from arena.games.k_in_a_row import KInARowState

MAX_BYTES = 1 << 26
"""Maximum size of a weights file in bytes, packed or unpacked; the shipped ones have at most 3 MB."""


class Value(Protocol):
    """Evaluates positions of Connect Four."""

    def of(self, states: Sequence[KInARowState]) -> NDArray[np.float64]:
        """Return the value of each non-terminal state for the player who has just moved; `[n]`."""
        ...


class LinearValue:
    """A weighted sum of 87 features, bounded by tanh if it was trained that way."""

    def __init__(self, weights: NDArray[np.floating[Any]], *, squashed: bool) -> None:
        """Take the weights, `[87]`.

        Raises:
            PluginError: the shape is wrong, or a weight is not finite.
        """
        if weights.shape != (NUM_FEATURES,) or not np.isfinite(weights).all():
            raise PluginError(f"linear weights are {NUM_FEATURES} finite numbers, not {weights.shape}")
        self._weights = weights.astype(np.float64)
        self._squashed = squashed

    def of(self, states: Sequence[KInARowState]) -> NDArray[np.float64]:
        """Return the value of each state for the player who has just moved; `[n]`."""
        own = np.array([state.opp for state in states], np.uint64)
        other = np.array([state.own for state in states], np.uint64)
        sums = features_of(own, other) @ self._weights
        return np.tanh(sums) if self._squashed else sums


class TupleValue:
    """tanh of a sum of table entries, one for each tuple and one for its mirror image."""

    def __init__(
        self, tuples: NDArray[np.uint8], tables: NDArray[np.int8], scales: NDArray[np.floating[Any]]
    ) -> None:
        """Take the arrays of a weights file.

        Args:
            tuples: the cells of each tuple, `[num_tuples, length]`.
            tables: the concatenated tables of all tuples, for after-states with an even and an odd number of
                stones; `[2, entries]`.
            scales: the value of one unit in each tuple's table; `[2, num_tuples]`.

        Raises:
            PluginError: the shapes do not match.
        """
        if tuples.ndim != 2 or not tuples.size or tuples.max() >= CELLS:  # noqa: PLR2004 # a matrix, as documented
            raise PluginError(f"tuples are rows of cells below {CELLS}")
        self._parts, starts = parts_of(tuples)
        wanted = ((2, int(starts[-1])), (2, len(tuples)))
        if (tables.shape, scales.shape) != wanted or not np.isfinite(scales).all():
            raise PluginError(
                f"tables and scales of these tuples are {wanted}, not {tables.shape, scales.shape}"
            )
        sizes = np.diff(starts)
        self._tables = tables * np.repeat(scales.astype(np.float32), sizes, axis=1)

    def of(self, states: Sequence[KInARowState]) -> NDArray[np.float64]:
        """Return the value of each state for the player who has just moved; `[n]`."""
        columns = np.arange(COLUMNS)
        worth = np.zeros(len(states))
        for number, state in enumerate(states):
            player = state.current_player
            first, second = (state.opp, state.own) if player else (state.own, state.opp)
            entries = self._parts[columns, keys_of(first, second)].sum(axis=0)
            total = float(self._tables[player, entries].sum())
            # Tables hold values for the first player; the player who has just moved is the one not to move.
            worth[number] = total if player else -total
        return np.tanh(worth)


def load_value(path: str | Path) -> Value:
    """Read a weights file.

    Raises:
        PluginError: the file is missing or damaged, or does not contain weights of this bot.
    """
    arrays = load_arrays(path, max_bytes=MAX_BYTES)
    try:
        return value_of(arrays)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise PluginError(f"{path} contains no weights of td-lambda: {error}") from error


def value_of(arrays: Mapping[str, NDArray[Any]]) -> Value:
    """Make a value function from arrays by name: `linear` and `squashed`, or `tuples`, `tables` and `scales`.

    Raises:
        PluginError: a shape is wrong.
        KeyError: an array is missing.
    """
    if "linear" in arrays:
        return LinearValue(arrays["linear"], squashed=bool(arrays["squashed"]))
    return TupleValue(arrays["tuples"], arrays["tables"], arrays["scales"])
