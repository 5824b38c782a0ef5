"""The bot `solver`: perfect play where the exact solver finishes within its budget, else cautious play."""

from __future__ import annotations

import math
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING

from arena.games.solver.find import solver_for
from arena_bots.search.budget import Budget
from arena_plugins.contract import PlayResult
from arena_plugins.errors import OptionError
from arena_plugins.hookspecs import hookimpl
from arena_plugins.spec import OptionReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.games.solver.solved import Solved
    from arena.games.solver.solver import Solver
    from arena_plugins.contract import Game, Limit, State

_LINE_PLIES = 10
"""Maximum number of expected actions that are reported."""
_LINE_NODES = 20_000
"""Node limit for each of them, about a millisecond; most positions are in the table already."""
_LINE_SECONDS = 0.002
_FORCED_NODES = 4_000_000
"""Node limit for the value of a forced action: 0.3 s."""


class SolverBot:
    """Wins as fast as possible, else draws, else loses as late as possible; ties are broken at random."""

    deterministic = True

    def __init__(self, solver: Solver, seed: int) -> None:
        self._solver = solver
        self._random = Random(seed)  # noqa: S311 - play needs no secrets

    def new_match(self, seed: int) -> None:
        """Start a match: `seed` determines the ties, and results of the last match are forgotten."""
        self._random.seed(seed)
        self._solver.clear()

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Return one of the best actions; if `limit` ends the search, one that looks best by then."""
        budget = Budget.of(limit)
        seconds = None if limit.seconds is None else budget.deadline - perf_counter()
        forced, nodes = self._solver.only_answer(state), limit.nodes
        if forced is not None:
            # The action needs no search, only its value does.
            nodes = _FORCED_NODES if nodes is None else min(nodes, _FORCED_NODES)
        solved = self._solver.solve(state, nodes=nodes, seconds=seconds, distances="best")
        actions = _candidates(state, solved) if forced is None else [forced]
        action = self._random.choice(actions)
        pv = [action]
        if solved.is_complete:
            pv += self._continuation(state.child(action), budget)
        outcome = solved.worth.outcome
        return PlayResult(
            action,
            value=None if outcome is None else float(outcome),
            policy={other: float(other in actions) / len(actions) for other in state.legal_actions},
            pv=tuple(pv),
            nodes=solved.nodes,
            depth=solved.worth.distance,
            text=_remark(solved),
        )

    def _continuation(self, state: State, budget: Budget) -> list[int]:
        """Return the expected actions after the move, as far as they are found quickly."""
        line: list[int] = []
        while not state.is_terminal and len(line) < _LINE_PLIES and budget.nodes == math.inf:
            left = budget.deadline - perf_counter()
            seconds = min(left, _LINE_SECONDS)
            solved = self._solver.solve(state, nodes=_LINE_NODES, seconds=seconds, distances="best")
            if not solved.is_complete:
                break
            line.append(solved.best[0])
            state = state.child(line[-1])
        return line


def _candidates(state: State, solved: Solved) -> Sequence[int]:
    """Return the best known actions; an unknown action ranks between a draw and a loss."""
    known = solved.best
    unknown = [action for action, worth in solved.actions.items() if worth.outcome is None]
    if not unknown or (known and solved.actions[known[0]].outcome != -1):
        return known
    quiet = [action for action in unknown if not _wins_at_once(state.child(action))]
    return _near_the_middle(state, quiet or unknown)


def _wins_at_once(state: State) -> bool:
    """Return whether the side to move can win with its next action."""
    children = map(state.child, state.legal_actions)
    return any(child.returns[state.current_player] > 0 for child in children)


def _near_the_middle(state: State, actions: Sequence[int]) -> list[int]:
    """Return those of `actions` that are nearest to the middle of all legal actions."""
    legal = state.legal_actions
    middle = (legal[0] + legal[-1]) / 2
    nearest = min(abs(action - middle) for action in actions)
    return [action for action in actions if abs(action - middle) == nearest]


def _remark(solved: Solved) -> str:
    outcome, distance = solved.worth
    if outcome is None:
        return "not solved within the limit"
    word = {1: "wins", 0: "draws", -1: "loses"}[outcome]
    return word if distance is None or outcome == 0 else f"{word} in {distance} plies"


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> SolverBot:
    """Return the bot; it has no options.

    Raises:
        OptionError: there is no solver for the game.
    """
    OptionReader("solver", options).done()
    solver = solver_for(game)
    if solver is None:
        raise OptionError(
            f"solver plays k in a row on boards of at most 63 cells, including a spare one for each row"
            f" (7x7 fits, 8x8 does not), not {game.name} {game.shape[0]}x{game.shape[1]}"
        )
    # Compile now: the first move has a clock, and compiling may take longer than it allows.
    solver.warm_up()
    return SolverBot(solver, seed)
