"""A board in words, for screen readers: the board, a column or row, last move, clocks, legal moves."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from arena.errors import ArenaError
from arena.live.geometry import find_game, geometry, position
from arena.live.plain import SIDES, eval_text, long_clock_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.live.geometry import Geometry
    from arena.live.views import MatchView

STONES = ".XO"
"""Symbols of an empty cell and of the two players' stones."""
_SAID = ("empty", "X", "O")


def board_lines(match: MatchView) -> list[str]:
    """Return the board as text, one line per row, with the names of rows and columns."""
    shape = _shape(match)
    if shape is None:
        return [match.trouble or "this game has no board"]
    width = max(map(len, (*shape.column_names, "X")))
    side = max(map(len, shape.row_names))
    lines = [" ".join(["", " " * side, *(name.rjust(width) for name in shape.column_names)])]
    for row in range(shape.rows):
        cells = match.cells[row * shape.columns : (row + 1) * shape.columns]
        stones = (STONES[cell].rjust(width) for cell in cells)
        lines.append(" ".join(["", shape.row_names[row].rjust(side), *stones]))
    return lines


def column_line(match: MatchView, name: str) -> str:
    """Return a column from the bottom: `column 4 from the bottom: X, O, 4 empty`."""
    shape = _shape(match)
    if shape is None or name not in shape.column_names:
        return _no("column", name, () if shape is None else shape.column_names)
    column = shape.column_names.index(name)
    cells = [match.cells[row * shape.columns + column] for row in reversed(range(shape.rows))]
    return f"column {name} from the bottom: {_said(cells)}"


def row_line(match: MatchView, name: str) -> str:
    """Return a row from the left: `row 2 from the left: 3 empty, X, 3 empty`."""
    shape = _shape(match)
    if shape is None or name not in shape.row_names:
        return _no("row", name, () if shape is None else shape.row_names)
    start = shape.row_names.index(name) * shape.columns
    return f"row {name} from the left: {_said(match.cells[start : start + shape.columns])}"


def last_line(match: MatchView) -> str:
    """Return the last move: `last: O minimax plays 4, X wins 71 %`."""
    if not match.moves:
        return "no move yet"
    move = match.moves[-1]
    parts = [f"last: {STONES[1 + move.player]} {match.seats[move.player].name} plays {move.text}"]
    if move.eval is not None:
        parts.append(eval_text(move.eval))
    return ", ".join(parts)


def clock_line(match: MatchView, now: float) -> str:
    """Return both clocks at `now`, in seconds since 1970 (UTC)."""
    said: list[str] = []
    for player, side in enumerate(SIDES):
        left = match.remaining_ms(player, now)
        if left is not None:
            said.append(f"{side} {STONES[1 + player]} {long_clock_text(left)}")
    return f"clock: {', '.join(said)}" if said else "clock: none in this match"


def legal_line(match: MatchView) -> str:
    """Return the legal moves."""
    try:
        state, game = position(match.game, match.actions), find_game(match.game)
    except ArenaError as error:
        return str(error)
    moves = [game.move(state, action) for action in state.legal_actions] if not match.is_over else []
    return f"legal: {' '.join(moves)}" if moves else "legal: nothing, the match is over"


def _shape(match: MatchView) -> Geometry | None:
    try:
        return geometry(match.game) if match.columns else None
    except ArenaError:
        return None


def _no(what: str, name: str, names: Sequence[str]) -> str:
    return (
        f"there is no {what} {name}; there are {' '.join(names)}" if names else f"there is no {what} {name}"
    )


def _said(cells: Sequence[int]) -> str:
    """Return cells in words; runs of empty cells are counted."""
    found: list[str] = []
    for cell, some in groupby(cells):
        number = len(list(some))
        if cell == 0:
            found.append(f"{number} empty" if number > 1 else "empty")
        else:
            found += [_SAID[cell]] * number
    return ", ".join(found)
