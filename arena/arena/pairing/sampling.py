"""Random openings, for games with too many positions to list."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from arena.games.symmetry import canonical
from arena.pairing.solve import is_decided

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena_plugins.contract import Game, State

_CENTRE = 4
"""Gomoku openings stay within this many rows and columns of the centre: stones far apart do not interact."""
_HASH_BYTES = 8
"""Bytes of a SHA-256 that make a number."""
_PATIENCE = 200
"""Number of consecutive draws without a new opening after which sampling stops."""


def sample_openings(game: Game, plies: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Yield openings of `plies` random actions, undecided and no two symmetric; determined by the seed."""
    seen: set[tuple[tuple[int, ...], int]] = set()
    attempt = failures = 0
    while failures < _PATIENCE:
        state = _draw_state(game, plies, f"{seed}/{attempt}")
        key = canonical(game, state).key
        attempt += 1
        # A position that is known or decided counts as a failure, so that a small game ends the search.
        failures += 1
        if key not in seen:
            # A decided position is remembered, too: it would be searched again whenever it is drawn.
            seen.add(key)
            if not is_decided(game, state):
                failures = 0
                yield state.history


def draw_number(text: str) -> int:
    """Return a 64-bit hash of `text`, uniformly distributed and equal in every version of Python."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_HASH_BYTES], "big")


def _draw_state(game: Game, plies: int, seed: str) -> State:
    """Return a state after `plies` actions, or an earlier terminal one."""
    state = game.initial_state()
    while not state.is_terminal and len(state.history) < plies:
        # The bias of the remainder is below the number of actions divided by 2^64.
        actions = _sensible_actions(game, state)
        state = state.child(actions[draw_number(f"{seed}/{len(state.history)}") % len(actions)])
    return state


def _sensible_actions(game: Game, state: State) -> Sequence[int]:
    """Return the legal actions; in Gomoku, where an action is a cell, only those near the centre."""
    if game.name != "gomoku":
        return state.legal_actions
    rows, columns = game.shape
    # Distances are doubled, because the centre of a board with an even number of rows is between two cells.
    return [
        action
        for action in state.legal_actions
        if abs(2 * (action // columns) - rows + 1) <= 2 * _CENTRE
        and abs(2 * (action % columns) - columns + 1) <= 2 * _CENTRE
    ]
