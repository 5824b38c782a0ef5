"""Alpha-beta with exact results, iterative deepening, and all actions that equal the best one."""

from __future__ import annotations

from math import tanh
from typing import TYPE_CHECKING, NamedTuple

from arena_bots.search.lines import OpenLines, line_length

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena_bots.search.budget import Budget
    from arena_plugins.contract import Game, State

CLOCK_EVERY = 4
"""Nodes between two reads of the clock. With rules in Python a node takes 2 to 500 µs, a read 0.1 µs."""


_FAR_APART = 10**9
"""Ratio of a win to the best heuristic score: a win in some plies is still 1.0 in `_VALUE_DIGITS` digits."""
_VALUE_DIGITS = 6
"""Digits after the point of an exact value."""


class Verdict(NamedTuple):
    """The result of a search to one depth, for the side to move."""

    score: int
    """Score of the position: heuristic points, or a decided result (see `AlphaBeta.value`)."""
    best: Mapping[int, tuple[int, ...]]
    """Each action with exactly this score, with its principal variation, which starts with the action."""
    depth: int
    """Plies searched after the candidate action."""
    nodes: int
    """States visited for this answer, over all depths."""


class _SpentError(Exception):
    """The budget is exhausted in the middle of a depth."""


class AlphaBeta:
    """A search of one game; nothing it keeps between positions can change a result."""

    def __init__(self, game: Game) -> None:
        k = line_length(game)
        self._worth = OpenLines(game.shape, k)
        self._scale = 4.0 ** max(k - 1, 0)
        self._won = _FAR_APART * (self._worth.bound + 1)
        self._central = _central_first(game)
        self._rank: list[float] = []
        self._budget: Budget
        self._nodes = 0
        self._plies = 0
        self._is_open = False

    def deepen(self, state: State, depth: int, budget: Budget) -> Verdict | None:
        """Search 0, 1, ... `depth` plies after each action; return the deepest completed result.

        Returns None if the budget does not allow even depth 0. It ends early if more depth cannot change the
        result.
        """
        self._budget, self._nodes, self._rank = budget, 0, self._central.copy()
        verdict = None
        actions: Sequence[int] = sorted(state.legal_actions, key=self._rank.__getitem__)
        for plies in range(depth + 1):
            self._is_open, self._plies = False, plies
            try:
                verdict = self._root(state, actions, plies)
            except _SpentError:
                break
            # No leaf was a guess, or a result within these plies is certain: more depth finds the same.
            if not self._is_open or abs(verdict.score) >= self._won - plies - 1:
                break
            best = verdict.best
            # The best of this depth go first at the next; sorting is stable, so the others keep their order.
            actions = sorted(actions, key=lambda action: action not in best)
        return verdict

    def value(self, score: int) -> float:
        """Convert a score to an expected result in [-1, 1]: exact for decided results, else estimated.

        Heuristic points are divided by the worth of a finished line. Among the powers of two, this divisor
        best predicted the results of depths 1 and 3 against themselves in Connect Four, and about as well as
        any on 6x6 boards.
        """
        if abs(score) > self._worth.bound:
            return round(score / self._won, _VALUE_DIGITS)
        return tanh(score / self._scale)

    def distance(self, score: int) -> int | None:
        """Return the number of plies until a match with this score is decided; None if it is not."""
        distance = self._won - abs(score)
        return distance if distance <= self._plies + 1 else None

    def _root(self, state: State, actions: Sequence[int], plies: int) -> Verdict:
        score = -2 * self._won
        best: dict[int, tuple[int, ...]] = {}
        for action in actions:
            # The bound is one below the best score, so that an equal action is exact instead of cut off.
            found, line = self._after(state, action, plies, score - 1, 2 * self._won)
            if found > score:
                score, best = found, {}
            if found == score:
                best[action] = (action, *line)
        return Verdict(score, best, plies, self._nodes)

    def _after(
        self, state: State, action: int, plies: int, alpha: int, beta: int
    ) -> tuple[int, tuple[int, ...]]:
        """Return score (for the player of `action`) and variation; outside (alpha, beta) only a bound."""
        if self._nodes >= self._budget.nodes or (not self._nodes % CLOCK_EVERY and self._budget.is_late):
            raise _SpentError
        self._nodes += 1
        child, player = state.child(action), state.current_player
        if child.is_terminal:
            distance = self._plies - plies + 1
            return int(child.returns[player] * (self._won - distance)), ()
        if not plies:
            self._is_open = True
            worth = self._worth(child.cells)
            return (-worth if player else worth), ()
        # In some games a player moves again.
        if child.current_player == player:
            return self._best(child, plies - 1, alpha, beta)
        score, line = self._best(child, plies - 1, -beta, -alpha)
        return -score, line

    def _best(self, state: State, plies: int, alpha: int, beta: int) -> tuple[int, tuple[int, ...]]:
        """Return the score for the side to move and its variation; outside (alpha, beta) only a bound."""
        best, line = -2 * self._won, ()
        for action in sorted(state.legal_actions, key=self._rank.__getitem__):
            score, rest = self._after(state, action, plies, alpha, beta)
            if score > best:
                best, line = score, (action, *rest)
                alpha = max(alpha, score)
                if alpha >= beta:
                    # An action that refutes here often refutes elsewhere: history heuristic (Schaeffer,
                    # 1983).
                    # The farther from the leaves, the more was cut off, so the more it counts.
                    self._rank[action] -= 4**plies
                    break
        return best, line


def _central_first(game: Game) -> list[float]:
    """Rank actions by distance from the centre of the board, if they are its columns or cells."""
    rows, columns = game.shape
    middle = (columns - 1) / 2
    if game.num_actions == columns:
        return [abs(action - middle) for action in range(columns)]
    if game.num_actions == rows * columns:
        centre = (rows - 1) / 2
        return [
            max(abs(action // columns - centre), abs(action % columns - middle))
            for action in range(rows * columns)
        ]
    return [0.0] * game.num_actions
