"""The bot `minimax`: alpha-beta search that evaluates open lines; ties are broken at random."""

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

    from arena_bots.search.alphabeta import Verdict
    from arena_bots.search.alphabeta_compiled import CompiledAlphaBeta
    from arena_plugins.contract import Game, Limit, State

_DEPTH = 5
"""Default depth in plies if nothing else limits a move; it takes 0.1 ms a move."""
# Bounds of the options `depth`, `seconds` and `nodes`.
_MAX_DEPTH = 99
_MIN_SECONDS = 0.001
_MAX_SECONDS = 3600.0
_MAX_NODES = 10**12


class MinimaxBot:
    """Searches `depth` plies beyond each of its actions, or fewer if a limit is reached sooner.

    With `seconds` or `nodes` but no `depth` it searches as deep as they allow; with none of them, 5 plies. It
    is deterministic unless a time limit ends the search.
    """

    def __init__(
        self,
        game: Game,
        seed: int,
        *,
        depth: int | None = None,
        seconds: float | None = None,
        nodes: int | None = None,
    ) -> None:
        self.deterministic = seconds is None
        self._depth = depth or (_DEPTH if seconds is None and nodes is None else _MAX_DEPTH)
        self._seconds = seconds
        self._nodes = nodes
        self._search = _search_of(game, self._depth)
        self._random = Random(seed)  # noqa: S311 - not used for secrets

    def new_match(self, seed: int) -> None:
        """Begin a match in which ties are broken by `seed`."""
        self._random.seed(seed)

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose among the actions with the best score; among all if `limit` does not allow even depth 0."""
        budget = Budget.of(limit, nodes=self._nodes, seconds=self._seconds)
        verdict = self._search.deepen(state, self._depth, budget)
        if verdict is None:
            return PlayResult(self._random.choice(state.legal_actions))
        best = sorted(verdict.best)
        action = self._random.choice(best)
        return PlayResult(
            action,
            value=self._search.value(verdict.score),
            policy={a: 1 / len(best) if a in verdict.best else 0.0 for a in state.legal_actions},
            pv=verdict.best[action],
            nodes=verdict.nodes,
            depth=verdict.depth,
            text=self._remark(verdict),
        )

    def _remark(self, verdict: Verdict) -> str | None:
        """Describe a decided match: a win as early as possible, a loss as late as possible; else None."""
        plies = self._search.distance(verdict.score)
        if plies is None:
            return None
        end = "wins" if verdict.score > 0 else "loses"
        return f"{end} in {plies} {'ply' if plies == 1 else 'plies'}"


def _search_of(game: Game, depth: int) -> AlphaBeta | CompiledAlphaBeta:
    """Return the compiled search if it supports the game, else the general one."""
    from arena_bots.search.alphabeta_compiled import compiled_search

    return compiled_search(game, depth) or AlphaBeta(game)


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> MinimaxBot:
    """Make the bot; options `depth` (plies after the candidate action), `seconds` and `nodes` per move."""
    reader = OptionReader("minimax", options)
    depth = reader.integer("depth", None, low=1, high=_MAX_DEPTH)
    seconds = reader.number("seconds", None, low=_MIN_SECONDS, high=_MAX_SECONDS)
    nodes = reader.integer("nodes", None, low=1, high=_MAX_NODES)
    reader.done()
    return MinimaxBot(game, seed, depth=depth, seconds=seconds, nodes=nodes)
