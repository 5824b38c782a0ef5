"""The bot `minimax`: alpha-beta on open lines, to a depth or a limit, the best actions drawn at random."""

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
_MAX_DEPTH = 99
_MAX_SECONDS = 3600.0
_MAX_NODES = 10**12


class MinimaxBot:
    """Looks `depth` plies beyond each of its actions, fewer where a limit binds sooner.

    With `seconds` or `nodes` and no `depth`, as deep as they allow; with none of them, 5 plies.
    Deterministic as long as no limit of time binds.
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
        self._random = Random(seed)  # noqa: S311 - play needs no secrets

    def new_match(self, seed: int) -> None:
        """Begin a match: its ties are drawn from `seed`."""
        self._random.seed(seed)

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose among the actions of the best score; where not even depth 0 fits into `limit`, among all."""
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
        """Say how soon a match that is decided ends: wins as soon, losses as late as can be."""
        plies = self._search.distance(verdict.score)
        if plies is None:
            return None
        end = "wins" if verdict.score > 0 else "loses"
        return f"{end} in {plies} {'ply' if plies == 1 else 'plies'}"


def _search_of(game: Game, depth: int) -> AlphaBeta | CompiledAlphaBeta:
    """Give the compiled search where there is one for the game, else the one for all games."""
    from arena_bots.search.alphabeta_compiled import compiled_search

    return compiled_search(game, depth) or AlphaBeta(game)


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> MinimaxBot:
    """Make the bot; option `depth`, plies after the candidate action, `seconds` and `nodes` per move."""
    reader = OptionReader("minimax", options)
    depth = reader.integer("depth", None, low=1, high=_MAX_DEPTH)
    seconds = reader.number("seconds", None, low=0.001, high=_MAX_SECONDS)
    nodes = reader.integer("nodes", None, low=1, high=_MAX_NODES)
    reader.done()
    return MinimaxBot(game, seed, depth=depth, seconds=seconds, nodes=nodes)
