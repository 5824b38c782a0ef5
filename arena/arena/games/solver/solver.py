"""Base class of solvers: values actions within a budget, using a kernel that narrows bounds of scores."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from arena.errors import ArenaError
from arena.games.k_in_a_row import KInARowState
from arena.games.solver._budget import Meter
from arena.games.solver._choosing import BestQuestion, find_best, find_equal
from arena.games.solver._counters import BUDGET, NODES
from arena.games.solver.solved import ILLEGAL, UNKNOWN, UNSOLVED, Labels, Solved, Worth, rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from arena.games.k_in_a_row import KInARow
    from arena_plugins.contract import State

    Bounds = NDArray[np.int64]
    OnProgress = Callable[[Solved], None]
    Distances = bool | Literal["best"]

_FAR = 64
"""Larger than any score."""
_EQUALS = 4
"""`usual_nodes` divided by this is the budget for finding more actions as good as the best one."""
_LONG = 2
"""After this many times `usual_nodes`, no more actions as good as the best one are searched for."""
# An action that ends the match is better or worse than every score that still has a distance.
_END_SCORES = {1.0: _FAR, 0.0: 0, -1.0: -_FAR}


class _Root(NamedTuple):
    """A position that is being solved."""

    state: KInARowState
    children: dict[int, KInARowState]
    """States after each action."""
    bounds: dict[int, Bounds]
    """Smallest and largest possible score of each child, for the side to move there."""
    here: Bounds
    """Smallest and largest possible score of the position; used only if just its best actions are wanted."""


class Solver(ABC):
    """Computes outcome and distance of every action in any position of one game.

    It keeps a transposition table, so results for one position speed up the next.
    """

    usual_nodes: int
    """Nodes searched in about a tenth of a second."""
    patient_nodes: int
    """Node limit for a caller that waits for the exact answer."""

    def __init__(self, game: KInARow, memory: NDArray[np.int64]) -> None:
        self.game = game
        self._memory = memory

    @abstractmethod
    def clear(self) -> None:
        """Clear all tables."""

    @abstractmethod
    def _narrow(self, state: KInARowState, bounds: Bounds, *, exact: bool) -> bool:
        """Narrow `bounds` to the score of a state that is not over, for the side to move."""

    @abstractmethod
    def _order(self, state: KInARowState, actions: Iterable[int]) -> list[int]:
        """Return the actions of a state sorted, likely good ones first."""

    @abstractmethod
    def _distance(self, score: int, ply: int) -> int:
        """Return the plies from `ply` to the end that a score stands for."""

    def _recall(self, state: KInARowState) -> int | None:
        """Return the score of a position if it is known without a search."""
        del state
        return None

    def _answered(self, state: KInARowState) -> tuple[int, int] | None:
        """Return score and best action of a position if both are known without a search."""
        del state
        return None

    def only_answer(self, state: State) -> int | None:
        """Return the action that is best because all others lose at once; None if there is none or unknown.

        Raises:
            ArenaError: the state belongs to another game.
        """
        self.checked(state)
        return None

    def warm_up(self) -> None:
        """Load or compile the code of `solve` without searching."""
        state = self.checked(self.game.initial_state())
        self._order(state, state.legal_actions)
        self._expect(state)
        self.only_answer(state)
        # Without a budget the kernel returns at its first node.
        self._memory[BUDGET] = self._memory[NODES]
        self._narrow(state, np.array([-_FAR, _FAR], np.int64), exact=False)

    def solve(
        self,
        state: State,
        *,
        nodes: int | None = None,
        seconds: float | None = None,
        distances: Distances = True,
        on_progress: OnProgress | None = None,
    ) -> Solved:
        """Solve a position; if the budget is used up, return what is known by then.

        Args:
            state: a state of this game.
            nodes: maximum number of positions to search.
            seconds: maximum wall time, to about a millisecond.
            distances: whether distances are wanted; outcomes alone take about half the time. With `"best"`
                only the value of the position and its best actions are wanted, which takes a third of the
                time; actions as good as the best one are included if they take little longer.
            on_progress: called with what is known so far, at most a few times per second.

        Raises:
            ArenaError: the state belongs to another game.
        """
        own = self.checked(state)
        meter = Meter(
            self._memory, math.inf if nodes is None else nodes, math.inf if seconds is None else seconds
        )
        root = self._root(own)
        tell = (
            None
            if on_progress is None
            else lambda: on_progress(self._answer(root, meter, distances=distances))
        )
        if distances == "best":
            self._choose(root, meter, tell)
            return self._answer(root, meter, distances=distances)
        # Outcomes first: if the budget ends, those of all actions are known rather than the distances of
        # some.
        for exact in (False, True) if distances else (False,):
            for action in self._order(root.state, root.children):
                narrow = partial(self._narrow, root.children[action], root.bounds[action], exact=exact)
                if not _is_settled(root.bounds[action], exact=exact) and not meter.run(narrow, tell):
                    return self._answer(root, meter, distances=distances)
        return self._answer(root, meter, distances=distances)

    def label(self, states: Sequence[State], *, nodes: int | None = None, distances: bool = True) -> Labels:
        """Return the values of all actions in many positions; `nodes` is the budget of each position.

        Raises:
            ArenaError: a state belongs to another game.
        """
        shape = (len(states), self.game.num_actions)
        labels = Labels(np.full(shape, ILLEGAL, np.int8), np.zeros(shape, np.int8))
        for position, state in enumerate(states):
            solved = self.solve(state, nodes=nodes, distances=distances)
            for action, (outcome, distance) in solved.actions.items():
                labels.outcomes[position, action] = UNSOLVED if outcome is None else outcome
                labels.distances[position, action] = distance or 0
        return labels

    def outcome(self, state: State, *, nodes: int | None = None) -> int | None:
        """Return 1, 0 or -1 if the side to move wins, draws or loses; None if `nodes` do not suffice.

        The result depends only on the position and `nodes`: tables are cleared first, and no book is used.

        Raises:
            ArenaError: the state belongs to another game.
        """
        own = self.checked(state)
        if own.is_terminal:
            return round(own.returns[own.current_player])
        self.clear()
        bounds = np.array([-_FAR, _FAR], np.int64)
        meter = Meter(self._memory, math.inf if nodes is None else nodes, math.inf)
        meter.run(partial(self._narrow, own, bounds, exact=False), None)
        low, high = bounds.tolist()
        return _outcome(low, high)

    def checked(self, state: State) -> KInARowState:
        """Return `state` if it belongs to the solver's game.

        Raises:
            ArenaError: it belongs to another game.
        """
        if (
            isinstance(state, KInARowState)
            and state.game.params == self.game.params
            and state.game.name == self.game.name
        ):
            return state
        raise ArenaError(f"a state of another game was given to the solver of {self.game.name}")

    def _root(self, state: KInARowState) -> _Root:
        """Return the position with its children; children equivalent under a symmetry share their bounds."""
        cells = state.cells
        # The symmetries that map the position to itself: actions that they exchange are worth the same.
        fixing = [
            symmetry.actions
            for symmetry in self.game.symmetries
            if all(cells[cell] == cells[image] for cell, image in enumerate(symmetry.cells))
        ]
        children = {action: state.child(action) for action in state.legal_actions}
        bounds: dict[int, Bounds] = {}
        for action, child in children.items():
            # The smallest image comes first in `children`, so its bounds exist already.
            first = min(actions[action] for actions in fixing)
            bounds[action] = bounds[first] if first < action else self._first_bounds(child)
        return _Root(state, children, bounds, np.array([-_FAR, _FAR], np.int64))

    def _choose(self, root: _Root, meter: Meter, tell: Callable[[], None] | None) -> None:
        """Narrow the bounds of the position and its children until a best action is known."""
        if not root.children:
            return
        root.here[:] = self._expect(root.state)
        answer = self._answered(root.state)
        if answer is not None:
            score, action = answer
            root.here[:] = score
            # The action achieves the score, so the position after it is worth at most that to the opponent,
            # negated.
            root.bounds[action][1] = -score
        low = int(root.here[0])

        def narrow(action: int, bounds: Bounds, until: float = math.inf) -> bool:
            search = partial(self._narrow, root.children[action], bounds, exact=True)
            return meter.run(search, tell, until=until)

        question = BestQuestion(
            root.here,
            root.bounds,
            self._order(root.state, root.children),
            # In two of five positions, a bound implied by the book is the exact score.
            guess=low if low > -_FAR else 0,
        )
        # A long search has used the time for finding more of them.
        if find_best(question, narrow) and meter.nodes < _LONG * self.usual_nodes:
            find_equal(question, partial(narrow, until=meter.nodes + self.usual_nodes // _EQUALS))

    def _expect(self, state: KInARowState) -> tuple[int, int]:
        """Return bounds of an unfinished state's score that are known without a search."""
        known = self._recall(state)
        return (-_FAR, _FAR) if known is None else (known, known)

    def _first_bounds(self, state: KInARowState) -> Bounds:
        if state.is_terminal:
            score = _END_SCORES[state.returns[state.current_player]]
            return np.array([score, score], np.int64)
        return np.array(self._expect(state), np.int64)

    def _answer(self, root: _Root, meter: Meter, *, distances: Distances) -> Solved:
        """Return the result from the current bounds."""
        state = root.state
        actions = {action: self._worth_of(root, action) for action in root.children}
        if state.is_terminal:
            return Solved(Worth(round(state.returns[state.current_player]), 0), {}, 0, is_complete=True)
        if distances == "best":
            low, high = root.here.tolist()
            found = [action for action, bounds in root.bounds.items() if low == high and -bounds[1] >= low]
            worth = actions[found[0]] if found else Worth(_outcome(low, high), None)
            return Solved(worth, actions, meter.nodes, is_complete=bool(found))
        is_complete = all(
            worth.outcome is not None and (worth.distance is not None or not distances)
            for worth in actions.values()
        )
        return Solved(_best_of(list(actions.values())), actions, meter.nodes, is_complete)

    def _worth_of(self, root: _Root, action: int) -> Worth:
        """Return the value of an action for the side that plays it."""
        child, (low, high) = root.children[action], root.bounds[action].tolist()
        if child.is_terminal:
            return Worth(round(child.returns[root.state.current_player]), 1)
        outcome = _outcome(low, high)
        distance = 1 + self._distance(low, ply_of(child)) if low == high else None
        return Worth(None if outcome is None else -outcome, distance)


def ply_of(state: KInARowState) -> int:
    """Return the number of stones."""
    return (state.own | state.opp).bit_count()


def _outcome(low: int, high: int) -> int | None:
    """Return the sign of a score between two bounds, if it is certain."""
    if low > 0:
        return 1
    if high < 0:
        return -1
    return 0 if low == high else None


def _is_settled(bounds: Bounds, *, exact: bool) -> bool:
    low, high = bounds.tolist()
    return low == high or (not exact and _outcome(low, high) is not None)


def _best_of(actions: list[Worth]) -> Worth:
    """Return the value of a position from the values of its actions."""
    known = [worth for worth in actions if worth.outcome is not None]
    top = max(known, key=rank, default=UNKNOWN)
    # Unless the best known action wins, an unknown one might be better.
    if len(known) < len(actions) and top.outcome != 1:
        return UNKNOWN
    # Among equal outcomes, the best distance is only certain if all distances are known.
    rivals = [worth for worth in actions if worth.outcome in {top.outcome, None}]
    return top if all(worth.distance is not None for worth in rivals) else Worth(top.outcome, None)
