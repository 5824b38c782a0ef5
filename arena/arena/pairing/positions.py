"""The positions of a game after a number of actions, one per class of symmetric ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.games.symmetry import canonical

if TYPE_CHECKING:
    from arena_plugins.contract import Game, State

_MAX_SEQUENCES = 250_000
"""Maximum number of enumerated action sequences, symmetric ones counted once: 6x6 after 4 plies takes 2.8
s."""


def is_enumerable(game: Game, plies: int) -> bool:
    """Return whether `enumerate_positions` is fast enough, judged by the actions of the initial state."""
    return len(game.initial_state().legal_actions) ** plies <= _MAX_SEQUENCES * len(game.symmetries)


def enumerate_positions(game: Game, plies: int) -> list[State]:
    """Return one state per class of symmetric positions after exactly `plies` actions, in canonical order.

    Each is the state that the least action sequence of its class leads to; terminal states are included.
    """
    start = game.initial_state()
    layer = {canonical(game, start).key: start}
    for _ in range(plies):
        deeper: dict[tuple[tuple[int, ...], int], State] = {}
        # Each layer is sorted by history, so the first state of a class has the least one. No class is
        # missed: every prefix of a least sequence is a least sequence, since otherwise a symmetry would map
        # the whole to a smaller one.
        for state in layer.values():
            for action in state.legal_actions:
                child = state.child(action)
                deeper.setdefault(canonical(game, child).key, child)
        layer = deeper
    return [layer[key] for key in sorted(layer)]
