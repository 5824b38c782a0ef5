"""The board of a match as an SVG picture that can be stepped through without a script.

The stone of ply n is in a group that also contains all later stones. One style rule, which hides the group of
ply n + 1, therefore shows the position after ply n.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from arena.pages.html import Html, el, join

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from arena.live.views import MatchView, MoveView

CELL: Final = 40
"""Size of one cell, in units of the picture."""
EDGE: Final = 22
"""Width of the margin for the names of columns and rows, in units of the picture."""
TOP: Final = EDGE - 6
"""Height cut off at the top, in units of the picture: there are no labels above a board."""
_LINES: Final = 7
"""Minimum number of rows of a board that is drawn as crossing lines, as in Gomoku."""


class Grid(Protocol):
    """Anything with rows and columns: a match, or the geometry of a game."""

    @property
    def rows(self) -> int:
        """Number of rows; 0 if there is no board."""
        ...

    @property
    def columns(self) -> int:
        """Number of columns."""
        ...


def kind_of(grid: Grid, *, gravity: bool) -> str:
    """Return the style of a board: `discs` behind holes, stones where `lines` cross, or `marks` in cells."""
    return "discs" if gravity else "lines" if grid.rows >= _LINES else "marks"


def size_of(grid: Grid) -> tuple[int, int]:
    """Return width and height of a picture with its margins, in its units."""
    return grid.columns * CELL + 2 * EDGE, grid.rows * CELL + 2 * EDGE


def board(
    match: MatchView, *, gravity: bool, names: tuple[Sequence[str], Sequence[str]], won: Collection[int] = ()
) -> Html:
    """Return the picture of a match at its last ply.

    Args:
        match: the match with all its moves.
        gravity: whether stones fall into columns; they are drawn as discs behind holes.
        names: names of the columns and of the rows, the top row first.
        won: winning cells, which are highlighted.
    """
    if not match.rows:
        return el("p", "The game is not installed here, so its board cannot be drawn.", class_="note")
    width, height = size_of(match)
    kind = kind_of(match, gravity=gravity)
    return el(
        "svg",
        ground(match, kind),
        edge_names(match, names),
        _stones(match, kind),
        _lit(match, won),
        viewBox=f"0 {TOP} {width} {height - TOP}",
        role="img",
        class_=f"board {kind}",
        aria_label=spoken(match),
    )


def spoken(match: MatchView) -> str:
    """Return a position as text for screen readers."""
    moves = " ".join(move.text for move in match.moves)
    return f"{match.seats[0].name} against {match.seats[1].name}, {match.ply} plies: {moves or 'no move yet'}"


def centre(match: Grid, cell: int) -> tuple[int, int]:
    """Return the centre of a cell, in units of the picture."""
    row, column = divmod(cell, match.columns)
    return EDGE + column * CELL + CELL // 2, EDGE + row * CELL + CELL // 2


def ground(match: Grid, kind: str) -> Html:
    """Return an empty board without the names around it; `kind` is the result of `kind_of`."""
    width, height = match.columns * CELL, match.rows * CELL
    sheet = el("rect", x=EDGE, y=EDGE, width=width, height=height, rx=6, class_="sheet")
    if kind == "discs":
        holes = (centre(match, cell) for cell in range(match.rows * match.columns))
        return join(sheet, *(el("circle", cx=x, cy=y, r=15, class_="hole") for x, y in holes))
    # Gomoku stones are placed on intersections, Tic-Tac-Toe marks between the lines.
    inset = CELL // 2 if kind == "lines" else 0
    left, top, right, bottom = EDGE + inset, EDGE + inset, EDGE + width - inset, EDGE + height - inset
    rows = range(top, bottom + 1, CELL) if inset else range(top + CELL, bottom, CELL)
    columns = range(left, right + 1, CELL) if inset else range(left + CELL, right, CELL)
    path = "".join([*(f"M{left} {y}H{right}" for y in rows), *(f"M{x} {top}V{bottom}" for x in columns)])
    return join(sheet, el("path", d=path, class_="grid"))


def edge_names(match: Grid, names: tuple[Sequence[str], Sequence[str]]) -> Html:
    """Return the names of columns and rows around a board, the top row first."""
    columns, rows = names
    bottom = EDGE + match.rows * CELL + 16
    return el(
        "g",
        *(
            el("text", name, x=EDGE + column * CELL + CELL // 2, y=bottom)
            for column, name in enumerate(columns)
        ),
        *(
            el("text", name, x=EDGE // 2, y=EDGE + row * CELL + CELL // 2 + 4)
            for row, name in enumerate(rows)
        ),
        class_="edges",
        aria_hidden="true",
    )


def _stones(match: MatchView, kind: str) -> Html | None:
    """Return the stones; the group of each ply is nested in that of the ply before."""
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
    # The second player's stones have a ring, because many people cannot tell stones apart by colour.
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
