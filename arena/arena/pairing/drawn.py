"""Openings that are exact draws: shipped for Connect Four, computed for tiny games."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arena.errors import ConfigError
from arena.games.notation import parse_moves, spec_of
from arena.pairing.positions import enumerate_positions
from arena.pairing.solve import exact_value

if TYPE_CHECKING:
    from arena_plugins.contract import Game

SHIPPED_PLIES = (2, 4, 6)
"""Numbers of plies after which the drawn positions of Connect Four are shipped."""
_TINY = 9
"""Games with at most so many actions are solved on the spot; tic-tac-toe takes a tenth of a second."""


def is_shipped(game: Game, plies: int) -> bool:
    """Return whether the draws after `plies` actions are shipped: those of Connect Four 6x7."""
    return str(spec_of(game)) == "connect-four" and plies in SHIPPED_PLIES


def drawn_openings(game: Game, plies: int) -> list[tuple[int, ...]]:
    """Return the least sequence of `plies` actions for each class of drawn positions, in canonical order.

    Raises:
        ConfigError: they are not known for this game or this number of actions.
    """
    if is_shipped(game, plies):
        return _read(game, plies)
    if game.max_length > _TINY:
        raise ConfigError(
            f"balance=drawn is not known for {spec_of(game)} after {plies} plies, only for connect-four after"
            f" {', '.join(map(str, SHIPPED_PLIES))} and for tic-tac-toe; use balance=undecided"
        )
    known: dict[tuple[int, ...], float] = {}
    return [
        state.history
        for state in enumerate_positions(game, plies)
        if not state.is_terminal and exact_value(state, known) == 0
    ]


def drawn_path(plies: int) -> Path:
    """Return the file of the drawn Connect Four positions after `plies` plies; `make book` rebuilds it."""
    return Path(__file__).parent / "data" / f"connect-four-{plies}.txt"


def _read(game: Game, plies: int) -> list[tuple[int, ...]]:
    text = drawn_path(plies).read_text(encoding="ascii")
    return [parse_moves(game, line) for line in text.splitlines() if not line.startswith("#")]
