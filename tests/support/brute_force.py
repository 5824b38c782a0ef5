"""Solves positions by exhaustive search on plain states: slow, and too simple to be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from arena_plugins.contract import Game, State


class Truth(NamedTuple):
    """Outcome for the side to move, and plies to the end; see `Worth`."""

    outcome: int
    distance: int

    def before(self) -> Truth:
        """Return the value of an action that leads here, for its player."""
        return Truth(-self.outcome, self.distance + 1)

    @property
    def merit(self) -> tuple[int, int]:
        """Return a key that is larger for a better result: fast wins, slow losses."""
        return self.outcome, -self.outcome * self.distance


Known = dict[tuple[tuple[int, ...], int], Truth]


def truth(state: State, known: Known) -> Truth:
    """Solve a position; `known` caches results between calls."""
    if state.is_terminal:
        return Truth(round(state.returns[state.current_player]), 0)
    key = (state.cells, state.current_player)
    if key not in known:
        known[key] = max(truths(state, known).values(), key=lambda found: found.merit)
    return known[key]


def truths(state: State, known: Known) -> dict[int, Truth]:
    """Solve each action of a position."""
    return {action: truth(state.child(action), known).before() for action in state.legal_actions}


def late_states(game: Game, rng: Random, num_matches: int, max_empty: int) -> Iterator[State]:
    """Return positions of random matches that are not over and have few empty cells."""
    for _ in range(num_matches):
        state = game.initial_state()
        while not state.is_terminal:
            if state.cells.count(0) <= max_empty:
                yield state
            state = state.child(rng.choice(state.legal_actions))


def random_states(game: Game, rng: Random, number: int, plies: int) -> list[State]:
    """Draw positions after exactly so many random actions, none of them over."""
    states: list[State] = []
    while len(states) < number:
        state = game.initial_state()
        while not state.is_terminal and len(state.history) < plies:
            state = state.child(rng.choice(state.legal_actions))
        if not state.is_terminal:
            states.append(state)
    return states
