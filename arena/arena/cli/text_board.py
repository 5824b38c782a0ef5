"""Draws a board as text, with the names of rows and columns that moves use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from arena.live.geometry import edges

if TYPE_CHECKING:
    from arena_plugins import Game, State

_MARKS = ".XO"
_STYLES = ("", "bold red", "bold yellow")


def draw_board(game: Game, state: State, before: State | None = None) -> Text:
    """Draw a position: X moves first, O second; cells that changed since `before` are in brackets.

    The other stones of a winning line are between asterisks.
    """
    rows, columns = game.shape
    column_names, row_names = edges(game)
    width = max(map(len, (*column_names, "")))
    margin = max(map(len, (*row_names, "")))
    board, won = Text(), frozenset(state.winning_cells)
    for row in range(rows):
        board.append(f"{row_names[row]:>{margin}} " if row_names else "")
        for column in range(columns):
            cell = row * columns + column
            stone = state.cells[cell]
            is_new = before is not None and before.cells[cell] != stone
            around = "[]" if is_new else "**" if cell in won else "  "
            mark = f"{around[0]}{_MARKS[stone]}{around[1]}"
            board.append(f"{mark:>{max(width + 1, 3)}}", style=_STYLES[stone])
        board.append("\n")
    if column_names:
        board.append(" " * (margin + 1) if row_names else "")
        board.append("".join(f"{name:>{max(width, 2)}} " for name in column_names))
        board.append("\n")
    return board
