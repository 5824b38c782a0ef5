"""The bot `td-lambda`: evaluates each successor position and plays the one with the highest learnt value."""

from __future__ import annotations

from math import inf
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Protocol

import numpy as np

from arena.games.connect_four import ConnectFour
from arena.games.k_in_a_row import KInARowState
from arena_bots.td_lambda.features import NUM_FEATURES, features_of
from arena_bots.td_lambda.tuples import CELLS, COLUMNS, keys_of, parts_of
from arena_plugins.contract import PlayResult
from arena_plugins.errors import OptionError, PluginError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader
from arena_plugins.weights import load_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from arena_plugins.contract import Game, Limit, State

RECIPES = ("best", "linear", "article")
"""Recipes whose weights ship with the bot."""
WEIGHTS = Path(__file__).with_name("weights")


class TdLambdaBot:
    """Takes a win, obeys the rules it is given, and otherwise follows its value function without a search."""

    deterministic = True

    def __init__(self, value: _Value, seed: int, *, rules: str) -> None:
        self._value = value
        self._rules = rules
        self._random = Random(seed)  # noqa: S311 - not used for secrets

    def new_match(self, seed: int) -> None:
        """Begin a match in which ties are broken by `seed`."""
        self._random.seed(seed)

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose among the successor positions; limits are ignored, because evaluating them is quick."""
        del limit
        if not isinstance(state, KInARowState):
            raise TypeError(f"td-lambda was made for connect-four, not for a {type(state).__name__}")
        worth = self._worth(state)
        # A win comes before a block: the rules are asked only if there is none.
        asked = () if max(worth.values()) == inf else urgent(state, self._rules)
        top = max(worth[action] for action in asked or worth)
        best = [action for action in asked or worth if worth[action] == top]
        middle = state.game.num_actions // 2
        if self._rules == "notebook" and middle in best:
            best = [middle]
        action = self._random.choice(best)
        return PlayResult(
            action,
            # A win is infinite, and a linear value without tanh has no bounds; arena-bot/1 wants [-1, 1].
            value=min(max(top, -1.0), 1.0),
            policy={other: float(other in best) / len(best) for other in worth},
            pv=(action,),
            nodes=len(worth),
            depth=0,
        )

    def _worth(self, state: KInARowState) -> dict[int, float]:
        """Return the value of the position after each action; a win exceeds every learnt value."""
        children = {action: state.child(action) for action in state.legal_actions}
        going = {action: child for action, child in children.items() if not child.is_terminal}
        worth = {action: inf if any(child.returns) else 0.0 for action, child in children.items()}
        if going:
            worth |= zip(going, self._value.of(list(going.values())).tolist(), strict=True)
        return worth


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> TdLambdaBot:
    """Make the bot; options `recipe`, `weights` (a file, instead of a recipe) and `rules`.

    Raises:
        OptionError: the game is not supported, or both recipe and weights are given.
        PluginError: the weights cannot be read.
    """
    reader = OptionReader("td-lambda", options)
    recipe = reader.choice("recipe", "", ("", *RECIPES))
    weights = reader.text("weights", "")
    rules = reader.choice("rules", "on", _RULES)
    reader.done()
    if type(game) is not ConnectFour or game.params != ConnectFour.defaults:
        raise OptionError(f"td-lambda plays connect-four on 6 rows and 7 columns, not {game.name}")
    if recipe and weights:
        raise OptionError("td-lambda: give recipe or weights, not both")
    value = load_value(weights or WEIGHTS / f"{recipe or RECIPES[0]}.npz")
    return TdLambdaBot(value, seed, rules=rules)


_RULES = ("off", "on", "notebook")
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


def urgent(state: KInARowState, rules: str) -> Sequence[int]:
    """Return the actions that the rules allow; empty if they leave the choice free.

    Wins are not part of the rules, because a terminal state needs no evaluation.
    """
    if rules == "off":
        return ()
    if blocks := [action for action in state.legal_actions if _would_win(state, action)]:
        return blocks
    if rules == "notebook":
        return [action for action in state.legal_actions if _parts_two(state, action)]
    return ()


def _landing(state: KInARowState, action: int) -> int:
    board = state.game.board
    # Adding the lowest cell carries through the stones of a column and ends on its first empty cell.
    return ((state.own | state.opp) + board.lows[action]) & board.columns[action]


def _would_win(state: KInARowState, action: int) -> bool:
    """Return whether the opponent would win on the cell where the stone of `action` lands."""
    return state.game.board.has_line(state.opp | _landing(state, action))


def _parts_two(state: KInARowState, action: int) -> bool:
    """Return whether an opponent's stone where `action` lands would make exactly two with both ends empty.

    Source: the TD(lambda) notebook's third rule. Vertical runs never have both ends empty.
    """
    rows, columns = state.game.shape
    other = 2 - state.current_player
    height = sum(state.cells[row * columns + action] != 0 for row in range(rows))
    row = rows - 1 - height

    def at(n: int, down: int, right: int) -> int | None:
        """Return the content of the cell n steps away; None off the board."""
        y, x = row + n * down, action + n * right
        return state.cells[y * columns + x] if 0 <= y < rows and 0 <= x < columns else None

    for down, right in _DIRECTIONS:
        for side in (1, -1):
            near, end, far_end = (at(n * side, down, right) for n in (1, 2, -1))
            if near == other and end == 0 and far_end == 0:
                return True
    return False


MAX_BYTES = 1 << 26
"""Maximum size of a weights file in bytes, packed or unpacked; the shipped ones have at most 3 MB."""


class _Value(Protocol):
    """Evaluates positions of Connect Four."""

    def of(self, states: Sequence[KInARowState]) -> NDArray[np.float64]:
        """Return the value of each non-terminal state for the player who has just moved; `[n]`."""
        ...


class LinearValue:
    """A weighted sum of 87 features, bounded by tanh if it was trained that way."""

    def __init__(self, weights: NDArray[np.floating[Any]], *, squashed: bool) -> None:
        """Check the weights, `[87]`, and copy them as float64.

        Raises:
            PluginError: the shape is wrong, or a weight is not finite.
        """
        if weights.shape != (NUM_FEATURES,) or not np.isfinite(weights).all():
            raise PluginError(f"linear weights are {NUM_FEATURES} finite numbers, not {weights.shape}")
        self._weights = weights.astype(np.float64)
        self._squashed = squashed

    def of(self, states: Sequence[KInARowState]) -> NDArray[np.float64]:
        """Return the value of each state for the player who has just moved; `[n]`."""
        # These are after-states: the player who has just moved is no longer the side to move.
        own = np.array([state.opp for state in states], np.uint64)
        other = np.array([state.own for state in states], np.uint64)
        sums = features_of(own, other) @ self._weights
        return np.tanh(sums) if self._squashed else sums


class TupleValue:
    """tanh of a sum of table entries, one for each tuple and one for its mirror image."""

    def __init__(
        self, tuples: NDArray[np.uint8], tables: NDArray[np.int8], scales: NDArray[np.floating[Any]]
    ) -> None:
        """Check the arrays of a weights file, and scale the tables to values.

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
        # Once here: a file has bytes and one scale per tuple, and multiplying at each move would cost more.
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


def load_value(path: str | Path) -> _Value:
    """Read a weights file.

    Raises:
        PluginError: the file is missing or damaged, or does not contain weights of this bot.
    """
    arrays = load_arrays(path, max_bytes=MAX_BYTES)
    try:
        return value_of(arrays)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise PluginError(f"{path} contains no weights of td-lambda: {error}") from error


def value_of(arrays: Mapping[str, NDArray[Any]]) -> _Value:
    """Make a value function from arrays by name: `linear` and `squashed`, or `tuples`, `tables` and `scales`.

    Raises:
        PluginError: a shape is wrong.
        KeyError: an array is missing.
    """
    if "linear" in arrays:
        return LinearValue(arrays["linear"], squashed=bool(arrays["squashed"]))
    return TupleValue(arrays["tuples"], arrays["tables"], arrays["scales"])
