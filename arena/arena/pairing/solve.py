"""Detects decided positions: short forced wins in any game, exact values in tiny ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena_plugins.contract import Game, State

DECIDED_PLIES = 4
"""A position from which a side can force a win within this many actions is not used as an opening."""


def is_decided(game: Game, state: State) -> bool:
    """Return whether the match is over, or one side can force a win within `DECIDED_PLIES` actions.

    A game may have `min_length`, the least length of a won match: then searches that cannot find a win are
    skipped.
    """
    if state.is_terminal:
        return True
    # Even the shortest win would come after the last of these plies.
    if len(state.history) + DECIDED_PLIES < getattr(game, "min_length", 0):
        return False
    return any(can_force_win(state, player, DECIDED_PLIES) for player in (0, 1))


def can_force_win(state: State, player: int, plies: int) -> bool:
    """Return whether `player` can force a win within `plies` actions, by the plain rules alone."""
    if state.is_terminal:
        return state.returns[player] > 0
    if plies == 0:
        return False
    # A generator, so that the first answer that decides ends the search.
    outcomes = (can_force_win(state.child(action), player, plies - 1) for action in state.legal_actions)
    return any(outcomes) if state.current_player == player else all(outcomes)


def exact_value(state: State, known: dict[tuple[int, ...], float]) -> float:
    """Return the value for player 0 under perfect play; `known` caches positions between calls."""
    if state.is_terminal:
        return state.returns[0]
    # Without the history, so that all orders of moves to a position share its value.
    position = (*state.cells, state.current_player)
    if position not in known:
        values = [exact_value(state.child(action), known) for action in state.legal_actions]
        known[position] = max(values) if state.current_player == 0 else min(values)
    return known[position]
