"""The bot `mcts`: UCT with random rollouts, its tree kept from move to move."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from arena_bots.search.budget import Budget
from arena_bots.search.uct import Tree
from arena_plugins.contract import PlayResult
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_bots.search.uct import Node
    from arena_plugins.contract import Game, Limit, State

_PLAYOUTS = 1000
_MAX_PLAYOUTS = 10**9
_MAX_SECONDS = 3600.0
_C = 1.0


class MctsBot:
    """Grows a tree by a number of playouts, by time, or by both: what ends first.

    At least one playout is made. Deterministic as long as no time binds.
    """

    def __init__(self, seed: int, *, playouts: int | None, seconds: float | None, c: float) -> None:
        self.deterministic = seconds is None
        self._playouts = playouts
        self._seconds = seconds
        self._c = c
        self._random = Random(seed)  # noqa: S311 - play needs no secrets
        self._tree: Tree | None = None

    def new_match(self, seed: int) -> None:
        """Begin a match with an empty tree and all chance drawn from `seed`."""
        self._random.seed(seed)
        self._tree = None

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose the most visited action, of several the one of largest value, then any.

        One that lets the opponent win at once is passed over while there is another.
        """
        budget = Budget.of(limit, nodes=self._playouts, seconds=self._seconds)
        if self._tree is None:
            self._tree = Tree(state, self._random, self._c)
        self._tree.advance(state)
        self._tree.playout()
        playouts = 1
        while playouts < budget.nodes and not budget.is_late:
            self._tree.playout()
            playouts += 1
        return self._result(self._tree.root, playouts)

    def _result(self, root: Node, playouts: int) -> PlayResult:
        children = root.children
        ranked = sorted(children, key=lambda a: (*_merit(children[a]), self._random.random()), reverse=True)
        player = root.state.current_player
        safe = (action for action in ranked if not _loses_at_once(children[action].state, player))
        action = next(safe, ranked[0])
        visits = {a: children[a].visits if a in children else 0 for a in root.state.legal_actions}
        total = sum(visits.values())
        return PlayResult(
            action,
            value=_merit(children[action])[1],
            policy={a: count / total for a, count in visits.items()},
            visits=visits,
            pv=(action, *_line(children[action])),
            nodes=playouts,
        )


def _merit(node: Node) -> tuple[int, float]:
    return node.visits, node.total / node.visits


def _loses_at_once(state: State, player: int) -> bool:
    """Tell whether the opponent of `player` is to move and has a winning action.

    With few visits to many actions, the mean of random rollouts hides one reply.
    """
    if state.is_terminal or state.current_player == player:
        return False
    return any(state.child(action).returns[player] < 0 for action in state.legal_actions)


def _line(node: Node) -> list[int]:
    """Give the actions of most visits from `node` to a leaf."""
    line: list[int] = []
    while node.children:
        action = max(node.children, key=lambda a: _merit(node.children[a]))
        line.append(action)
        node = node.children[action]
    return line


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> MctsBot:  # noqa: ARG001 - it asks the states only
    """Make the bot; options `playouts` per move, `seconds` per move instead, `c` of exploration."""
    reader = OptionReader("mcts", options)
    seconds = reader.number("seconds", None, low=0.001, high=_MAX_SECONDS)
    playouts = reader.integer("playouts", None if seconds else _PLAYOUTS, low=1, high=_MAX_PLAYOUTS)
    c = reader.number("c", _C, low=0.0, high=100.0)
    reader.done()
    return MctsBot(seed, playouts=playouts, seconds=seconds, c=c)
