"""The positions of a game after so many actions, one for each class of symmetric ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.games.symmetry import canonical

if TYPE_CHECKING:
    from arena_plugins.contract import Game, State

_MAX_SEQUENCES = 250_000
"""Enumerate up to so many action sequences, symmetric ones counted once: 6x6 after 4 plies takes 2.8 s."""


def is_enumerable(game: Game, plies: int) -> bool:
    """Whether `enumerate_positions` is quick enough, judged by the actions of the initial state."""
    return len(game.initial_state().legal_actions) ** plies <= _MAX_SEQUENCES * len(game.symmetries)


def enumerate_positions(game: Game, plies: int) -> list[State]:
    """Give one state per class of symmetric positions after exactly `plies` actions, in canonical order.

    It is the one that the least action sequence of its class leads to; states that are over are among them.
    """
    start = game.initial_state()
    layer = {canonical(game, start).key: start}
    for _ in range(plies):
        deeper: dict[tuple[tuple[int, ...], int], State] = {}
        # A layer is in the order of its histories, so the first state of a class has the least one. None is
        # missed: a least sequence begins with a least one, else a symmetry would map it to something less.
        for state in layer.values():
            for action in state.legal_actions:
                child = state.child(action)
                deeper.setdefault(canonical(game, child).key, child)
        layer = deeper
    return [layer[key] for key in sorted(layer)]
