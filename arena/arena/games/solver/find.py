"""Selects the solver of a game."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.games.k_in_a_row import KInARow
from arena.games.notation import spec_of

if TYPE_CHECKING:
    from arena.games.solver.solver import Solver
    from arena_plugins.contract import Game


def is_solvable(game: Game) -> bool:
    """Return whether there is a solver for a game, without loading it."""
    # Imported late, since it loads NumPy.
    from arena.games.kernels.layout import layout_of

    return isinstance(game, KInARow) and layout_of(game) is not None


def solver_for(game: Game, *, small: bool = False) -> Solver | None:
    """Return a solver with empty tables; None if there is none for the game.

    There is one for k in a row, with or without gravity, on boards that fit 63 bits with a spare cell per
    row: 7x7 fits, 8x8 does not. What it can solve depends on the budget. A `small` one has tables of at most
    2 MB, which are cleared quickly.
    """
    # Imported late, since compiled code takes a tenth of a second to load.
    from arena.games.kernels.layout import layout_of

    layout = layout_of(game)
    if layout is None or not isinstance(game, KInARow):
        return None
    if str(spec_of(game)) == "connect-four":
        from arena.games.solver.book import shipped_book
        from arena.games.solver.connect_four_solver import SMALL_BITS, TOP_BITS, ConnectFourSolver
        from arena.games.solver.stored_answers import shipped_answers

        top_bits = SMALL_BITS if small else TOP_BITS
        return ConnectFourSolver(game, shipped_book(), answers=shipped_answers(), top_bits=top_bits)
    from arena.games.solver.line_games import MAX_BITS, SMALL_BITS, LinesSolver

    return LinesSolver(game, layout, max_bits=SMALL_BITS if small else MAX_BITS)
