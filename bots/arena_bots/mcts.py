"""The bot `mcts`: UCT or PUCT with random rollouts; its tree is kept from move to move."""

from __future__ import annotations

from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from arena.games.kernels.cells import cell_layout_of
from arena_bots.search.budget import Budget
from arena_bots.search.uct import Tree, TreeSettings
from arena_plugins.contract import PlayResult
from arena_plugins.errors import OptionError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena_bots.search.uct import Edge
    from arena_plugins.contract import Game, Limit, State

_PLAYOUTS = 1000
"""Default number of playouts if nothing else limits a move."""
# Bounds of the options `playouts`, `seconds`, `c` and `c_puct`.
_MAX_PLAYOUTS = 10**9
_MIN_SECONDS = 0.001
_MAX_SECONDS = 3600.0
_MAX_C = 100.0
_C = {"tactical": 0.85, "uniform": 1.4}
"""Exploration constants of UCT for each kind of rollout; docs/reference/bots.md has the measurements."""
_C_PUCT = 5.0
"""Exploration constant of PUCT, that of the plain search in the article that `alphazero` reproduces."""


class TreeSearch(Protocol):
    """The interface of a search tree of either kind."""

    def clear(self) -> None:
        """Discard everything, because a new match begins."""
        ...

    def advance(self, state: State) -> None:
        """Make `state` the root."""
        ...

    def run(self, budget: Budget) -> int:
        """Make playouts within `budget`; return their number."""
        ...

    def edges(self) -> Mapping[int, Edge]:
        """Return the statistics of each action tried at the root."""
        ...

    def line(self, action: int) -> list[int]:
        """Return the sequence of most visited actions that starts with the root's `action`."""
        ...


class MctsBot:
    """Grows a tree until a number of playouts or a time is reached, whichever comes first.

    It makes at least one playout, unless the result is proven. It is deterministic unless a time limit ends
    the search.
    """

    def __init__(
        self, search: TreeSearch, random: Random, *, playouts: int | None, seconds: float | None
    ) -> None:
        self.deterministic = seconds is None
        self._search = search
        self._random = random
        self._playouts = playouts
        self._seconds = seconds

    def new_match(self, seed: int) -> None:
        """Begin a match with an empty tree and all randomness drawn from `seed`."""
        self._random.seed(seed)
        self._search.clear()

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose a proven win, else the most visited action; ties are broken by value, then at random.

        An action that is proven to lose, or that lets the opponent win at once, is skipped while there is
        another.
        """
        budget = Budget.of(limit, nodes=self._playouts, seconds=self._seconds)
        self._search.advance(state)
        playouts = self._search.run(budget)
        edges = self._search.edges()
        ranked = sorted(edges, key=lambda a: (*_merit(edges[a]), self._random.random()), reverse=True)
        action = safest(state, ranked, budget.last)
        visits = {a: edges[a].visits if a in edges else 0 for a in state.legal_actions}
        total = sum(visits.values())
        chosen = edges[action]
        return PlayResult(
            action,
            value=chosen.mean if chosen.proof is None else float(chosen.proof),
            policy={a: count / total for a, count in visits.items()},
            visits=visits,
            pv=tuple(self._search.line(action)),
            nodes=playouts,
        )


def _merit(edge: Edge) -> tuple[int, int, float]:
    # A proven draw is chosen only once the playouts prefer it.
    return edge.proof or 0, edge.visits, edge.mean


def safest(state: State, ranked: Sequence[int], last: float) -> int:
    """Return the first of `ranked` that leaves the opponent no immediate win; `ranked[0]` if none does.

    With few visits to many actions, the mean of random rollouts can hide a single refuting reply. Actions are
    examined only until `last`, in seconds of `perf_counter`.
    """
    player, reply = state.current_player, None
    for action in ranked:
        child = state.child(action)
        if child.is_terminal or child.current_player == player:
            return action
        # Try the last refutation first: it refutes most other actions too, and a board may have 400 of them.
        reply = _winning_reply(child, reply, last)
        if reply is None:
            return action
        if perf_counter() >= last:
            break
    return ranked[0]


def _winning_reply(state: State, first: int | None, last: float) -> int | None:
    """Return an action that wins at once, trying `first` first; None if none is found before `last`."""
    player, legal = state.current_player, state.legal_actions
    for reply in legal if first is None or first not in legal else (first, *legal):
        if state.child(reply).returns[player] > 0:
            return reply
        if perf_counter() >= last:
            break
    return None


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> MctsBot:
    """Make the bot; docs/reference/bots.md describes its options.

    Raises:
        OptionError: an option is unknown, out of range, or not applicable with the others or for `game`.
    """
    reader = OptionReader("mcts", options)
    seconds = reader.number("seconds", None, low=_MIN_SECONDS, high=_MAX_SECONDS)
    playouts = reader.integer("playouts", None if seconds else _PLAYOUTS, low=1, high=_MAX_PLAYOUTS)
    has_kernels = cell_layout_of(game) is not None
    rollouts = reader.choice("rollouts", "tactical" if has_kernels else "uniform", _C)
    proves = reader.flag("solver", default=has_kernels)
    selection = reader.choice("selection", "uct", ("uct", "puct"))
    is_puct = selection == "puct"
    c = (
        reader.number("c_puct", _C_PUCT, low=0.0, high=_MAX_C)
        if is_puct
        else reader.number("c", _C[rollouts], low=0.0, high=_MAX_C)
    )
    reader.done()
    if not has_kernels and (rollouts == "tactical" or proves):
        option = "rollouts=tactical" if rollouts == "tactical" else "solver=on"
        raise OptionError(f"mcts: {option} needs compiled rules, and {game.name} has none; leave it out")
    random = Random(seed)  # noqa: S311 # not used for secrets
    settings = TreeSettings(c, is_puct, rollouts == "tactical", proves)
    return MctsBot(
        _search(game, random, settings, has_kernels=has_kernels), random, playouts=playouts, seconds=seconds
    )


def _search(game: Game, random: Random, settings: TreeSettings, *, has_kernels: bool) -> TreeSearch:
    if not has_kernels:
        return Tree(random, settings)
    from arena_bots.search.uct_compiled import CompiledTree

    return CompiledTree(game, random, settings)
