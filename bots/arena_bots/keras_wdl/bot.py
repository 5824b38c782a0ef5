"""The bot `keras`: evaluates all successor positions with one network call, and plays the most promising."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from arena_bots.keras_wdl.encoding import full_spec, planes_of, worth_of
from arena_bots.keras_wdl.network import load_network
from arena_plugins.contract import PlayResult
from arena_plugins.errors import OptionError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_bots.keras_wdl.network import Network
    from arena_plugins.contract import Game, Limit, State

RECIPES = ("best", "article")
"""Recipes whose weights ship with the bot."""
WEIGHTS = Path(__file__).with_name("weights")
_GAMES = {
    "connect-four:cols=7,k=4,rows=6": "connect-four",
    "tic-tac-toe": "tic-tac-toe",
    "gomoku:exact=off,k=4,size=6": "gomoku-6-4",
}
"""Games whose weights ship with the bot, with the names used in file names."""


class KerasBot:
    """Takes an immediate win, otherwise trusts its network; it does not search."""

    deterministic = True

    def __init__(self, network: Network, game: Game, seed: int) -> None:
        self._network = network
        self._shape = game.shape
        self._random = Random(seed)  # noqa: S311 - not used for secrets

    def new_match(self, seed: int) -> None:
        """Begin a match in which ties are broken by `seed`."""
        self._random.seed(seed)

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose among the successor positions; limits are ignored, because one network call is quick."""
        del limit
        worth = self._worth(state)
        top = max(worth.values())
        best = [action for action, value in worth.items() if value == top]
        action = self._random.choice(best)
        return PlayResult(
            action,
            value=2 * top - 1,
            policy={other: float(other in best) / len(best) for other in worth},
            pv=(action,),
            nodes=len(worth),
            depth=0,
        )

    def _worth(self, state: State) -> dict[int, float]:
        """Return the expected points, 0 to 1, after each action; if a win exists, other actions get 0."""
        player = state.current_player
        children = {action: state.child(action) for action in state.legal_actions}
        worth = {
            action: (child.returns[player] + 1) / 2 for action, child in children.items() if child.is_terminal
        }
        if 1.0 in worth.values() or len(worth) == len(children):
            # There is a win, or every successor is terminal: the network is not needed.
            return {action: worth.get(action, 0.0) for action in children}
        going = {action: child for action, child in children.items() if not child.is_terminal}
        asked = worth_of(self._network.chances(planes_of(list(going.values()), self._shape)))
        worth |= zip(going, asked.tolist(), strict=True)
        return {action: worth[action] for action in children}


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> KerasBot:
    """Make the bot; options `recipe` and `weights` (a file, instead of a recipe).

    Raises:
        OptionError: no weights ship for the game, or both options are given.
        PluginError: the weights cannot be read, or are for another game.
    """
    reader = OptionReader("keras", options)
    recipe = reader.choice("recipe", "", ("", *RECIPES))
    weights = reader.text("weights", "")
    reader.done()
    if recipe and weights:
        raise OptionError("keras: give recipe or weights, not both")
    return KerasBot(load_network(weights or shipped(game, recipe or RECIPES[0]), game), game, seed)


def shipped(game: Game, recipe: str) -> Path:
    """Return the shipped weights file for a game.

    Raises:
        OptionError: there is none.
    """
    name = _GAMES.get(full_spec(game), "")
    path = WEIGHTS / f"{name}-{recipe}.onnx"
    if name and path.is_file():
        return path
    known = sorted(path.stem for path in WEIGHTS.glob("*.onnx"))
    raise OptionError(
        f"keras has no weights for {full_spec(game)} by recipe {recipe} (there are: {', '.join(known)});"
        " train some with arena train keras, and give them as weights=FILE"
    )
