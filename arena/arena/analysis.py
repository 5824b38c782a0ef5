"""Analysis of matches: where a match was won and lost, and how well each side played."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ConfigError
from arena.games.solver.find import is_solvable, solver_for
from arena_db.judging import MISTAKE
from arena_plugins.contract import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from arena.games.solver.solved import Solved
    from arena.games.solver.solver import Solver
    from arena_plugins.contract import Game, State

ADJUDICATION_NODES = 100_000
"""Positions searched per ply of a match that the solver may end early; this takes about 5 ms."""


SOLVER = "solver"
"""The name of the exact solver among the judges of matches."""
MAX_LINE = 8
"""Maximum number of actions of an expected line that are kept."""
_LINE_NODES = 200_000
"""Minimum positions searched per action of a line, 10 ms; most results are already in the solver's tables."""
_LINE_SHARE = 100
"""Divisor of the positions per ply that yields the positions per action of a line."""


class ActionScore(NamedTuple):
    """The value of one action for the player who takes it."""

    value: float | None
    """Expected result in [-1, 1], exactly 1, 0 or -1 from the solver; None if unknown."""
    distance: int | None
    """Plies to the end under best play, the action included; None if unknown."""


class Ply(NamedTuple):
    """One judged action of a match."""

    ply: int
    """Number of the ply, from 0."""
    player: int
    """The player who moved, 0 or 1."""
    action: int
    best: tuple[int, ...]
    """Strongly optimal actions, as far as known: the fastest wins, the draws, or the slowest losses."""
    value_before: float | None
    """Expected result under best play for the player who moved: 1, 0 or -1 by the solver; None if the budget
    did not suffice."""
    value_after: float | None
    """Expected result under best play after the action, still for the player who moved; None if unknown."""
    distance_before: int | None
    """Plies to the end under best play; None if unknown."""
    distance_after: int | None
    """Plies to the end under best play after the action; None if unknown."""
    scores: Mapping[int, ActionScore]
    """Values of the legal actions in the position before the ply, in ascending order of actions. A bot as
    judge scores only the actions it was asked about. Empty until the ply has been judged."""
    line: tuple[int, ...]
    """The expected line from the position before the ply: at most `MAX_LINE` actions, a best one first."""

    @property
    def loss(self) -> float | None:
        """The value that the action lost: 0, 1 for half a point or 2 for a whole point; None if unknown."""
        if self.value_before is None or self.value_after is None:
            return None
        # A bot may value a position higher once it is reached; that is not a negative loss.
        return max(0, self.value_before - self.value_after)

    @property
    def is_blunder(self) -> bool:
        """Whether the action is known to have given away a win or a draw."""
        return self.loss is not None and self.loss >= MISTAKE


class Side(NamedTuple):
    """Summary of how one player played."""

    judged: int
    """Number of own actions that could be judged, without the opening."""
    unknown: int
    """Number of own actions that could not be judged."""
    optimal: int
    """Number of judged actions that lost no value."""
    first_blunder: Ply | None
    """The first action that gave away a win or a draw."""

    @property
    def accuracy(self) -> float | None:
        """Share of weakly optimal actions among the judged ones, in [0, 1]; None if none was judged."""
        return self.optimal / self.judged if self.judged else None


class Analysis(NamedTuple):
    """A judged match."""

    plies: tuple[Ply, ...]
    """All plies, opening included."""
    num_opening: int
    """Number of preset actions."""
    sides: tuple[Side, Side]
    """The summaries of the first and the second player."""
    judge: str = SOLVER
    """`solver`, or the spec of the bot that judged the match."""
    identity: str = ""
    """The identity of the judging bot; empty for the solver, whose values are exact."""


def analyse_position(
    game: Game,
    state: State,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
    on_progress: Callable[[Solved], None] | None = None,
) -> Solved:
    """Return the result and distance of a position and of each of its actions, as far as the budget allows.

    Raises:
        ConfigError: there is no solver for the game.
    """
    return _solver(game).solve(state, nodes=nodes, seconds=seconds, on_progress=on_progress)


def analyse_match(
    game: Game, actions: Sequence[int], *, num_opening: int = 0, nodes: int | None = None
) -> Analysis:
    """Judge every action of a match with the exact solver.

    Args:
        game: the rules.
        actions: all actions from the initial state.
        num_opening: number of preset actions, which count for neither player.
        nodes: maximum number of positions to search per ply; None for as many as take a tenth of a second.

    Raises:
        ConfigError: there is no solver for the game.
        IllegalMoveError: the actions are not a legal match of this game.
    """
    plies = [*judge_plies(game, actions, nodes=nodes)][::-1]
    return judged_match(plies, num_opening)


def judge_plies(
    game: Game,
    actions: Sequence[int],
    *,
    nodes: int | None = None,
    known: Mapping[int, tuple[int, ...]] | None = None,
) -> Iterator[Ply]:
    """Judge the actions of a match one by one with the exact solver, the last one first.

    The results for late plies help with the earlier ones, which are harder.

    Args:
        game: the rules.
        actions: all actions from the initial state.
        nodes: maximum number of positions to search per ply; None for as many as take a tenth of a second.
        known: lines of plies that have already been judged.

    Raises:
        ConfigError: there is no solver for the game.
        IllegalMoveError: the actions are not a legal match of this game.
    """
    solver = _solver(game)
    nodes = nodes or solver.usual_nodes
    line_nodes = max(_LINE_NODES, nodes // _LINE_SHARE)
    states = states_of(game, actions)
    after: tuple[int, ...] = ()
    for ply in reversed(range(len(actions))):
        if known and ply in known:
            after = known[ply]
            continue
        solved = solver.solve(states[ply], nodes=nodes)
        if actions[ply] not in solved.best or not after:
            after = _line(solver, states[ply], solved, line_nodes)
        else:
            after = (actions[ply], *after)[:MAX_LINE]
        yield _judge(ply, states[ply].current_player, actions[ply], solved, after)


def states_of(game: Game, actions: Sequence[int]) -> list[State]:
    """Return the states before each action and after the last one.

    Raises:
        IllegalMoveError: the actions are not a legal match of this game.
    """
    states = [game.initial_state()]
    for action in actions:
        states.append(states[-1].child(action))
    return states


def judged_match(plies: Sequence[Ply], num_opening: int, judge: str = SOLVER, identity: str = "") -> Analysis:
    """Assemble the analysis of a match from its judged plies, in order."""
    played = plies[num_opening:]
    return Analysis(tuple(plies), num_opening, (_side(played, 0), _side(played, 1)), judge, identity)


def grading_nodes(game: Game) -> int:
    """Return the number of positions that the solver may search to grade a ply, ideally enough to solve it.

    Raises:
        ConfigError: there is no solver for the game.
    """
    return _solver(game, small=True).patient_nodes


def adjudicator(game: Game, *, nodes: int) -> Callable[[State], Outcome | None]:
    """Return a function that names the result of a position under best play; None if `nodes` do not suffice.

    The solver does not use its opening book, so that a match is played well into the middle game. The result
    for a position is the same in every process and at any time.

    Raises:
        ConfigError: there is no solver for the game.
    """
    solver = _solver(game, small=True)
    winners = (Outcome.FIRST, Outcome.SECOND)

    def adjudicate(state: State) -> Outcome | None:
        value = solver.outcome(state, nodes=nodes)
        if not value:
            return None if value is None else Outcome.DRAW
        return winners[state.current_player if value > 0 else 1 - state.current_player]

    return adjudicate


def has_solver(game: Game) -> bool:
    """Return whether matches of this game can be judged, without loading compiled code."""
    return is_solvable(game)


def _solver(game: Game, *, small: bool = False) -> Solver:
    solver = solver_for(game, small=small)
    if solver is None:
        raise ConfigError(
            f"there is no exact solver for {game.name} {game.shape[0]}x{game.shape[1]}: it takes k in a row"
            " on boards of at most 63 cells, a spare one for each row counted (7x7 fits, 8x8 does not)"
        )
    return solver


def _judge(ply: int, player: int, action: int, solved: Solved, line: tuple[int, ...]) -> Ply:
    after = solved.actions[action]
    before = solved.worth
    return Ply(
        ply=ply,
        player=player,
        action=action,
        best=solved.best,
        value_before=before.outcome,
        value_after=after.outcome,
        distance_before=before.distance,
        distance_after=after.distance,
        scores={other: ActionScore(*worth) for other, worth in solved.actions.items()},
        line=line,
    )


def _line(solver: Solver, state: State, solved: Solved, nodes: int) -> tuple[int, ...]:
    """Return a line of best play from `state`, as far as `nodes` positions per action suffice to find it."""
    if solved.worth.outcome is None:
        return ()
    line = [solved.best[0]]
    state = state.child(line[0])
    while not state.is_terminal and len(line) < MAX_LINE:
        found = solver.solve(state, nodes=nodes, distances="best")
        if not found.is_complete:
            break
        line.append(found.best[0])
        state = state.child(line[-1])
    return tuple(line)


def _side(plies: Sequence[Ply], player: int) -> Side:
    own = [ply for ply in plies if ply.player == player]
    losses = [ply.loss for ply in own]
    return Side(
        judged=len(losses) - losses.count(None),
        unknown=losses.count(None),
        optimal=sum(loss is not None and not ply.is_blunder for ply, loss in zip(own, losses, strict=True)),
        first_blunder=next((ply for ply in own if ply.is_blunder), None),
    )
