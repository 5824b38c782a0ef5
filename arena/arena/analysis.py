"""What perfect play says about a match: where it was won and lost, and how well each side played."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ArenaError
from arena.games.solver.find import solver_for
from arena_plugins.contract import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.games.solver.solved import Solved
    from arena.games.solver.solver import Solver
    from arena_plugins.contract import Game, State

ADJUDICATION_NODES = 100_000
"""Positions searched at each ply of a match that the solver may end early: about 5 ms."""


class Ply(NamedTuple):
    """One action of a match, judged."""

    ply: int
    """From 0."""
    player: int
    """Who moved, 0 or 1."""
    action: int
    best: tuple[int, ...]
    """Strongly optimal actions, as far as known: the fastest wins, draws, or slowest losses."""
    value_before: int | None
    """1, 0 or -1: the outcome under best play, for who moved; None where the budget did not suffice."""
    value_after: int | None
    """The same after the action, still for who moved."""
    distance_before: int | None
    """Plies to the end under best play; None where that is not known."""
    distance_after: int | None
    """The same after the action."""

    @property
    def loss(self) -> int | None:
        """What the action gave away: 0 nothing, 1 half a point, 2 a whole one; None where not known."""
        if self.value_before is None or self.value_after is None:
            return None
        return self.value_before - self.value_after

    @property
    def is_blunder(self) -> bool:
        """Whether the action gave away a win or a draw, as far as known."""
        return bool(self.loss)


class Side(NamedTuple):
    """How one player played."""

    judged: int
    """Own actions that could be judged, the opening left out."""
    unknown: int
    """Own actions that could not."""
    optimal: int
    """Of `judged`, those that gave nothing away."""
    first_blunder: Ply | None
    """The first action that gave away a win or a draw."""

    @property
    def accuracy(self) -> float | None:
        """Share of weakly optimal actions among those that could be judged, in [0, 1]."""
        return self.optimal / self.judged if self.judged else None


class Analysis(NamedTuple):
    """A match, judged by an exact solver."""

    plies: tuple[Ply, ...]
    """All of them, the opening included."""
    num_opening: int
    """How many were given."""
    sides: tuple[Side, Side]
    """First and second player."""


def analyse_position(
    game: Game,
    state: State,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
    on_progress: Callable[[Solved], None] | None = None,
) -> Solved:
    """Give outcome and distance of a position and of each of its actions, as far as the budget allows.

    Raises:
        ArenaError: there is no solver for the game.
    """
    return _solver(game).solve(state, nodes=nodes, seconds=seconds, on_progress=on_progress)


def analyse_match(
    game: Game, actions: Sequence[int], *, num_opening: int = 0, nodes: int | None = None
) -> Analysis:
    """Judge every action of a match.

    Args:
        game: the rules.
        actions: from the initial state.
        num_opening: how many of them were given, and count for nobody.
        nodes: positions to search at most for each ply; None takes what is done in a tenth of a second.

    Raises:
        ArenaError: there is no solver for the game.
        IllegalMoveError: the actions are no match of this game.
    """
    solver = _solver(game)
    states = [game.initial_state()]
    for action in actions:
        states.append(states[-1].child(action))
    plies = [
        _judge(
            ply,
            states[ply].current_player,
            actions[ply],
            solver.solve(states[ply], nodes=nodes or solver.usual_nodes),
        )
        # From the end: what the solver finds out there helps with the plies before, which are harder.
        for ply in reversed(range(len(actions)))
    ][::-1]
    played = plies[num_opening:]
    return Analysis(tuple(plies), num_opening, (_side(played, 0), _side(played, 1)))


def adjudicator(game: Game, *, nodes: int) -> Callable[[State], Outcome | None]:
    """Give what names the outcome of a position under best play, or None where `nodes` do not tell.

    It uses no opening book, so that a match is played well into its middle. The same position gets the same
    answer from every process and at any time.

    Raises:
        ArenaError: there is no solver for the game.
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
    """Tell whether matches of this game can be judged."""
    return solver_for(game, small=True) is not None


def _solver(game: Game, *, small: bool = False) -> Solver:
    solver = solver_for(game, small=small)
    if solver is None:
        raise ArenaError(
            f"there is no exact solver for {game.name} {game.shape[0]}x{game.shape[1]}: it takes k in a row"
            " on boards of at most 63 cells, a spare one for each row counted (7x7 fits, 8x8 does not)"
        )
    return solver


def _judge(ply: int, player: int, action: int, solved: Solved) -> Ply:
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
    )


def _side(plies: Sequence[Ply], player: int) -> Side:
    own = [ply for ply in plies if ply.player == player]
    losses = [ply.loss for ply in own]
    return Side(
        judged=len(losses) - losses.count(None),
        unknown=losses.count(None),
        optimal=losses.count(0),
        first_blunder=next((ply for ply in own if ply.is_blunder), None),
    )
