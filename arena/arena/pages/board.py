"""The board of a match as a picture that can be stepped through without a script.

The stone of ply n lies in a group that also holds all later ones, so one rule of the style sheet, hiding the
group of ply n + 1, shows the position after ply n.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.pages.html import Html, el, join

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from arena.live.views import MatchView, MoveView

CELL: Final = 40
"""Units of the picture for one cell."""
_EDGE: Final = 22
"""Units around the board, where the names of columns and rows stand."""
_LINES: Final = 7
"""Rows from which a board of cells is drawn as crossing lines, as Gomoku is."""


def board(
    match: MatchView, *, gravity: bool, names: tuple[Sequence[str], Sequence[str]], won: Collection[int] = ()
) -> Html:
    """Return the picture of a match at its last ply.

    Args:
        match: with all its moves.
        gravity: whether stones fall into columns; they are drawn as discs behind holes.
        names: of columns and rows, the top row first.
        won: cells that win, which are lit.
    """
    if not match.rows:
        return el("p", "The game is not installed here, so its board cannot be drawn.", class_="note")
    width, height = match.columns * CELL + 2 * _EDGE, match.rows * CELL + 2 * _EDGE
    kind = "discs" if gravity else "lines" if match.rows >= _LINES else "marks"
    return el(
        "svg",
        _ground(match, kind),
        _edges(match, names),
        _stones(match, kind),
        _lit(match, won),
        viewBox=f"0 0 {width} {height}",
        role="img",
        class_=f"board {kind}",
        aria_label=spoken(match),
    )


def spoken(match: MatchView) -> str:
    """Return a position in words, for those who do not see it."""
    moves = " ".join(move.text for move in match.moves)
    return f"{match.labels[0]} against {match.labels[1]}, {match.ply} plies: {moves or 'no move yet'}"


def centre(match: MatchView, cell: int) -> tuple[int, int]:
    """Return the middle of a cell, in units of the picture."""
    row, column = divmod(cell, match.columns)
    return _EDGE + column * CELL + CELL // 2, _EDGE + row * CELL + CELL // 2


def _ground(match: MatchView, kind: str) -> Html:
    width, height = match.columns * CELL, match.rows * CELL
    sheet = el("rect", x=_EDGE, y=_EDGE, width=width, height=height, rx=6, class_="sheet")
    if kind == "discs":
        holes = (centre(match, cell) for cell in range(match.rows * match.columns))
        return join(sheet, *(el("circle", cx=x, cy=y, r=15, class_="hole") for x, y in holes))
    # Stones of Gomoku lie where lines cross, marks of Tic-Tac-Toe between them.
    inset = CELL // 2 if kind == "lines" else 0
    left, top, right, bottom = _EDGE + inset, _EDGE + inset, _EDGE + width - inset, _EDGE + height - inset
    rows = range(top, bottom + 1, CELL) if inset else range(top + CELL, bottom, CELL)
    columns = range(left, right + 1, CELL) if inset else range(left + CELL, right, CELL)
    path = "".join([*(f"M{left} {y}H{right}" for y in rows), *(f"M{x} {top}V{bottom}" for x in columns)])
    return join(sheet, el("path", d=path, class_="grid"))


def _edges(match: MatchView, names: tuple[Sequence[str], Sequence[str]]) -> Html:
    columns, rows = names
    bottom = _EDGE + match.rows * CELL + 16
    return el(
        "g",
        *(
            el("text", name, x=_EDGE + column * CELL + CELL // 2, y=bottom)
            for column, name in enumerate(columns)
        ),
        *(
            el("text", name, x=_EDGE // 2, y=_EDGE + row * CELL + CELL // 2 + 4)
            for row, name in enumerate(rows)
        ),
        class_="edges",
        aria_hidden="true",
    )


def _stones(match: MatchView, kind: str) -> Html | None:
    """Return the stones, the group of each ply within that of the ply before."""
    inner: Html | None = None
    for move in reversed(match.moves):
        inner = el("g", _stone(match, move, kind), inner, class_=f"g{move.ply}")
    return inner


def _stone(match: MatchView, move: MoveView, kind: str) -> Html | None:
    if move.cell is None:
        return None
    x, y = centre(match, move.cell)
    name = "ab"[move.player]
    if kind == "marks":
        shape = (
            el(
                "path",
                d=f"M{x - 11} {y - 11}L{x + 11} {y + 11}M{x + 11} {y - 11}L{x - 11} {y + 11}",
                class_="mark a",
            )
            if move.player == 0
            else el("circle", cx=x, cy=y, r=12, class_="mark b")
        )
        return join(
            shape, el("rect", x=x - 18, y=y - 18, width=36, height=36, rx=4, class_=f"last l{move.ply}")
        )
    # The second player's stones have a ring: colour alone tells nothing to many people.
    ring = el("circle", cx=x, cy=y, r=8, class_="ring") if move.player else None
    return join(
        el("circle", cx=x, cy=y, r=15, class_=f"stone {name}"),
        ring,
        el("circle", cx=x, cy=y, r=4, class_=f"last l{move.ply}"),
    )


def _lit(match: MatchView, won: Collection[int]) -> Html | None:
    if not won or not match.is_over:
        return None
    spots = (centre(match, cell) for cell in sorted(won))
    return el(
        "g",
        *(el("circle", cx=x, cy=y, r=17, class_="won") for x, y in spots),
        class_=f"g{match.ply}",
    )
