"""Draws the parts of a board: stones, the winning line, and search figures of each move in three rows."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from arena.tui.text import merge, right

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.live.wall import SearchTable
    from arena.tui.glyphs import Glyphs
    from arena.tui.text import Line

STONE_STYLES = ("dim", "first", "second")
"""Styles of empty cells and of the stones of both players."""
WIDE = 4
"""Terminal cells for one cell of a board with a grid, the line beside it included."""
TALL = 8
"""Terminal cells for one cell of a board whose cells are three lines tall, which makes them square."""


class Marks(NamedTuple):
    """Highlighted cells of a board, counted from the top left; None for none."""

    last: int | None = None
    """The stone placed last, shown as `[X]`."""
    ghost: int | None = None
    """The cell where a stone of `player` would land."""
    pending: int | None = None
    """The cell of an unconfirmed stone of `player`, shown as `(x)`."""
    player: int = 0
    lit: tuple[int, ...] = ()
    """The winning line, shown as `*X*`."""

    def within(self, start: int, number: int) -> Marks:
        """Return the marks within a row, counted from its first cell."""
        last, ghost, pending = (
            None if cell is None or not 0 <= cell - start < number else cell - start for cell in self[:3]
        )
        lit = tuple(cell - start for cell in self.lit if 0 <= cell - start < number)
        return Marks(last, ghost, pending, self.player, lit)


def dense_row(cells: tuple[int, ...], start: int, marks: Marks, glyphs: Glyphs, pitch: int) -> Line:
    """Draw a row of a board without a grid.

    Args:
        cells: the cells of this row only.
        start: index of its first cell on the whole board.
        marks: the highlighted cells; brackets are left out if there are no blanks between cells.
        glyphs: glyphs to draw with.
        pitch: 2 for a blank between cells, 1 for none.
    """
    return _dense_row(cells, marks.within(start, len(cells)), glyphs, pitch)


@lru_cache(maxsize=512)
def _dense_row(cells: tuple[int, ...], marks: Marks, glyphs: Glyphs, pitch: int) -> Line:
    """Draw a row; cached, because a move changes only one or two rows of a board."""
    characters: list[str] = [" "]
    styles: list[str] = [""]
    for cell, stone in enumerate(cells):
        glyph, style = _stone(stone, cell, marks, glyphs)
        characters.append(glyph)
        styles.append(style)
        characters += [" "] * (pitch - 1)
        styles += [""] * (pitch - 1)
    for cell in marks.lit if pitch > 1 else ():
        characters[cell * pitch], styles[cell * pitch] = "*", "last"
    for cell, pair, style in ((marks.last, "[]", "last"), (marks.pending, "()", "last")):
        if pitch > 1 and cell is not None:
            place = 1 + cell * pitch
            characters[place - 1], characters[place + 1] = pair
            styles[place - 1] = styles[place + 1] = style
    return merge(characters, styles)


def grid_row(
    cells: tuple[int, ...],
    start: int,
    marks: Marks,
    glyphs: Glyphs,
    scores: tuple[tuple[int, str], ...] = (),
) -> Line:
    """Draw a row of a board with a grid, without its left edge: `   | X |[O]| +7|`.

    Args:
        cells: the cells of this row only.
        start: index of its first cell on the whole board.
        marks: the highlighted cells.
        glyphs: glyphs to draw with.
        scores: cells of this row, counted from its first one, with a text of at most three characters.
    """
    return _grid_row(cells, marks.within(start, len(cells)), glyphs, scores)


@lru_cache(maxsize=256)
def _grid_row(
    cells: tuple[int, ...], marks: Marks, glyphs: Glyphs, scores: tuple[tuple[int, str], ...]
) -> Line:
    told = dict(scores)
    characters: list[str] = []
    styles: list[str] = []
    for cell, stone in enumerate(cells):
        glyph, style = _stone(stone, cell, marks, glyphs)
        if not stone and cell in told and cell not in (marks.ghost, marks.pending):
            characters += [*f"{told[cell]:>3}", glyphs.grid_side]
            styles += ["eval", "eval", "eval", "border"]
            continue
        around = "[]" if cell == marks.last else "()" if cell == marks.pending else "  "
        around = "**" if cell in marks.lit and around == "  " else around
        characters += [around[0], " " if glyph == glyphs.empty else glyph, around[1], glyphs.grid_side]
        styles += ["last", style, "last", "border"]
    return merge(characters, styles)


def tall_row(
    cells: tuple[int, ...],
    start: int,
    marks: Marks,
    glyphs: Glyphs,
    scores: tuple[tuple[int, str], ...] = (),
) -> tuple[Line, Line, Line]:
    """Draw a row of a board with a grid and cells of three lines; see `grid_row` for the arguments."""
    return _tall_row(cells, marks.within(start, len(cells)), glyphs, scores)


@lru_cache(maxsize=256)
def _tall_row(
    cells: tuple[int, ...], marks: Marks, glyphs: Glyphs, scores: tuple[tuple[int, str], ...]
) -> tuple[Line, Line, Line]:
    told = dict(scores)
    texts: list[list[str]] = [[], [], []]
    styles: list[list[str]] = [[], [], []]
    for cell, stone in enumerate(cells):
        glyph, style = _stone(stone, cell, marks, glyphs)
        inside = glyphs.coins[stone - 1] if stone else ("", "" if glyph == glyphs.empty else glyph, "")
        if not stone and cell in told and cell not in (marks.ghost, marks.pending):
            inside, style = ("", f"{told[cell]:>3}", ""), "eval"
        around = "[]" if cell == marks.last else "()" if cell == marks.pending else "  "
        around = "**" if cell in marks.lit and around == "  " else around
        for line, text in enumerate(inside):
            left, right = around if line == 1 else "  "
            texts[line] += [left, *f"{text:^{TALL - 3}}", right, glyphs.grid_side]
            styles[line] += ["last", *[style] * (TALL - 3), "last", "border"]
    top, middle, bottom = (merge(*drawn) for drawn in zip(texts, styles, strict=True))
    return top, middle, bottom


def _stone(stone: int, cell: int, marks: Marks, glyphs: Glyphs) -> tuple[str, str]:
    if stone:
        return glyphs.players[stone - 1], STONE_STYLES[stone]
    if cell in (marks.ghost, marks.pending):
        return glyphs.ghosts[marks.player], "dim"
    return glyphs.empty, "dim"


_UNITS = ((1000, "k"), (1_000_000, "M"), (1_000_000_000, "G"))
_THREE_DIGITS = 999.5
"""Count from which a unit is needed, since rounding would result in four digits."""
_TWO_DIGITS = 99.5
"""Number of units from which the next unit is used, so that a count has at most 3 characters."""


class FigureColumns(NamedTuple):
    """The positions of figures below a board, in cells of the terminal."""

    width: int
    """Number of cells for a move."""
    margin: int
    """Number of cells for the head of a row."""
    inset: int = 0
    """Number of free cells between a number and the right end of its column."""


def search_rows(
    table: SearchTable | None, glyphs: Glyphs, order: Sequence[int], columns: FigureColumns
) -> list[Line]:
    """Return the rows of figures; the first figure ends `width - inset` cells right of the margin.

    Args:
        table: the figures; missing ones are shown as `-`.
        glyphs: glyphs to draw with.
        order: indices of the moves from left to right.
        columns: the positions of the figures.
    """
    width, margin, inset = columns
    nothing: Sequence[None] = (None,) * (max(order, default=0) + 1)
    player = " " if table is None else glyphs.players[table.player]
    visits = table.visits if table and table.visits else nothing
    shares = table.shares if table and table.shares else nothing
    policy = table.policy if table and table.policy else nothing
    rows = {
        f"N {player}": [short_count(number) for number in visits],
        "N%": [_percent(share) for share in shares],
        "P%": [_percent(share) for share in policy],
    }
    # The longest head uses the blank before the first number.
    return [
        (
            (f" {name:<{margin}}", "dim"),
            (in_columns([texts[index] for index in order], width, inset), "eval"),
        )
        for name, texts in rows.items()
    ]


def in_columns(texts: Iterable[str], width: int, inset: int = 0) -> str:
    """Align texts to the right, each `inset` cells before the end of its column, without the first blank."""
    return "".join(right(text, width) for text in texts)[1 + inset :]


def short_count(number: float | None) -> str:
    """Format a count in at most 3 characters: `7`, `611`, `12k`, `.4M`; `-` for None."""
    if number is None:
        return "-"
    if number < _THREE_DIGITS:
        return f"{number:.0f}"
    for unit, sign in _UNITS:
        if number / unit < _TWO_DIGITS:
            text = f"{number / unit:.0f}{sign}"
            return f"{number / unit:.1f}{sign}"[1:] if text.startswith("0") else text
    return "big"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}"
