"""The bot `td-lambda`: evaluates each successor position and plays the one with the highest learnt value."""

from __future__ import annotations

from math import inf
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from arena.games.connect_four import ConnectFour
from arena.games.k_in_a_row import KInARowState
from arena_bots.td_lambda.rules import RULES, urgent
from arena_bots.td_lambda.values import load_value
from arena_plugins.contract import PlayResult
from arena_plugins.errors import OptionError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_bots.td_lambda.values import Value
    from arena_plugins.contract import Game, Limit, State

RECIPES = ("best", "linear", "article")
"""Recipes whose weights ship with the bot."""
WEIGHTS = Path(__file__).with_name("weights")


class TdLambdaBot:
    """Takes a win, obeys the rules it is given, and otherwise follows its value function without a search."""

    deterministic = True

    def __init__(self, value: Value, seed: int, *, rules: str) -> None:
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
        asked = () if max(worth.values()) == inf else urgent(state, self._rules)
        top = max(worth[action] for action in asked or worth)
        best = [action for action in asked or worth if worth[action] == top]
        middle = state.game.num_actions // 2
        if self._rules == "notebook" and middle in best:
            best = [middle]
        action = self._random.choice(best)
        return PlayResult(
            action,
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
    rules = reader.choice("rules", "on", RULES)
    reader.done()
    if type(game) is not ConnectFour or game.params != ConnectFour.defaults:
        raise OptionError(f"td-lambda plays connect-four on 6 rows and 7 columns, not {game.name}")
    if recipe and weights:
        raise OptionError("td-lambda: give recipe or weights, not both")
    value = load_value(weights or WEIGHTS / f"{recipe or RECIPES[0]}.npz")
    return TdLambdaBot(value, seed, rules=rules)
