"""Draws a board so that people can relate it to the moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_plugins import Game, State

_MARKS = ".XO"
_STYLES = ("", "bold red", "bold yellow")


def draw_board(game: Game, state: State, before: State | None = None) -> Text:
    """Draw a position: X moves first, O second; what changed since `before` stands in brackets."""
    rows, columns = game.shape
    column_names, row_names = edges(game)
    width = max(map(len, (*column_names, "")))
    margin = max(map(len, (*row_names, "")))
    board = Text()
    for row in range(rows):
        board.append(f"{row_names[row]:>{margin}} " if row_names else "")
        for column in range(columns):
            cell = row * columns + column
            stone = state.cells[cell]
            is_new = before is not None and before.cells[cell] != stone
            mark = f"[{_MARKS[stone]}]" if is_new else f" {_MARKS[stone]} "
            board.append(f"{mark:>{max(width + 1, 3)}}", style=_STYLES[stone])
        board.append("\n")
    if column_names:
        board.append(" " * (margin + 1) if row_names else "")
        board.append("".join(f"{name:>{max(width, 2)}} " for name in column_names))
        board.append("\n")
    return board


def edges(game: Game) -> tuple[Sequence[str], Sequence[str]]:
    """Give the names of columns and rows that the moves of a game are made of; empty where there are none.

    They are read off the first moves: in Connect Four a move is the name of a column, on a board where every
    cell can be played a move is the name of its column and that of its row.
    """
    rows, columns = game.shape
    start = game.initial_state()
    moves: dict[tuple[int, int], str] = {}
    for action in start.legal_actions:
        changed = [cell for cell, stone in enumerate(start.child(action).cells) if stone != start.cells[cell]]
        if len(changed) != 1:
            return (), ()
        moves[divmod(changed[0], columns)] = game.move(start, action)
    if len(moves) == columns and len({column for _, column in moves}) == columns:
        return [moves[place] for place in sorted(moves, key=lambda place: place[1])], ()
    if len(moves) != rows * columns:
        return (), ()
    column_names = [_beginning([moves[row, column] for row in range(rows)]) for column in range(columns)]
    row_names = [moves[row, 0].removeprefix(column_names[0]) for row in range(rows)]
    if any(moves[row, column] != column_names[column] + row_names[row] for row, column in moves):
        return (), ()
    return column_names, row_names


def _beginning(moves: Sequence[str]) -> str:
    """Give what all moves begin with."""
    first, last = min(moves), max(moves)
    same = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:same]
