"""OpenSpiel's tree search, written in C++, with this project's actions; needs pyspiel."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_plugins import Game

UCT_C = 2.0
"""Exploration constant of OpenSpiel's own examples: c sqrt(ln N / n), so c = 1.4 in the form with 2 ln N."""
_MEMORY_MB = 1000


class OpenSpielSearch:
    """`MCTSBot` with one random rollout for each simulation and its solver on."""

    def __init__(self, game: Game, simulations: int, seed: int) -> None:
        if importlib.util.find_spec("pyspiel") is None:
            raise SystemExit('OpenSpiel is not installed: pip install "bot-arena[openspiel]"')
        # OpenSpiel is optional and has no type stubs.
        spiel: Any = importlib.import_module("pyspiel")
        self._game = spiel.load_game(peer_name(game))
        self._bot = spiel.MCTSBot(
            self._game,
            spiel.RandomRolloutEvaluator(1, seed),
            UCT_C,
            simulations,
            _MEMORY_MB,
            True,  # noqa: FBT003 # it takes positions only
            seed,
            False,  # noqa: FBT003
        )

    def play(self, history: Sequence[int]) -> int:
        """Search the position after `history`; return the action, the same ints as in this project."""
        state = self._game.new_initial_state()
        for action in history:
            state.apply_action(action)
        return int(self._bot.step(state))


def peer_name(game: Game) -> str:
    """Return the game's name in OpenSpiel.

    Raises:
        ValueError: OpenSpiel lacks the game.
    """
    params = game.params
    if game.name == "connect-four":
        return f"connect_four(rows={params['rows']},columns={params['cols']},x_in_row={params['k']})"
    if game.name == "tic-tac-toe":
        return "tic_tac_toe"
    if game.name != "gomoku" or params["exact"] == "on":
        raise ValueError(f"OpenSpiel has no {game.name} with {dict(params)}")
    return f"gomoku(size={params['size']},connect={params['k']})"
