"""The bot `minimax`: alpha-beta to a fixed depth with the line heuristic, best actions drawn at random."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from arena_bots.search.alphabeta import AlphaBeta
from arena_bots.search.budget import Budget
from arena_plugins.contract import PlayResult
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_plugins.contract import Game, Limit, State

_DEPTH = 5
_MAX_DEPTH = 99


class MinimaxBot:
    """Looks `depth` plies beyond each of its actions, fewer where a limit binds sooner.

    Deterministic as long as no limit of time binds.
    """

    deterministic = True

    def __init__(self, game: Game, seed: int, *, depth: int = _DEPTH) -> None:
        self._search = AlphaBeta(game)
        self._depth = depth
        self._random = Random(seed)  # noqa: S311 - play needs no secrets

    def new_match(self, seed: int) -> None:
        """Begin a match: its ties are drawn from `seed`."""
        self._random.seed(seed)

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose among the actions of the best score; where not even depth 0 fits into `limit`, among all."""
        verdict = self._search.deepen(state, self._depth, Budget.of(limit))
        if verdict is None:
            return PlayResult(self._random.choice(state.legal_actions))
        action = self._random.choice(sorted(verdict.best))
        return PlayResult(
            action,
            value=self._search.value(verdict.score),
            pv=verdict.best[action],
            nodes=verdict.nodes,
            depth=verdict.depth,
        )


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> MinimaxBot:
    """Make the bot; option `depth`, plies after the candidate action."""
    reader = OptionReader("minimax", options)
    depth = reader.integer("depth", _DEPTH, low=1, high=_MAX_DEPTH)
    reader.done()
    return MinimaxBot(game, seed, depth=depth)
