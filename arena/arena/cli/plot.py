"""Draws curves with characters: coloured marks on a terminal, ASCII otherwise."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARKS: Final = {"ascii": "*o+x#@%&", "unicode": "●○◆◇■□▲△"}
_AXES: Final = {"ascii": ("|", "+", "-"), "unicode": ("│", "└", "─")}
_STYLES: Final = ("cyan", "magenta", "green", "yellow", "blue", "red", "bright_cyan", "bright_magenta")
_HEIGHT: Final = 12
"""Number of rows of a plot."""
_MOST_COLUMNS: Final = 100
"""Maximum width of a plot, in characters."""
_NAME: Final = 40
"""Maximum number of characters of a curve's name."""
_NICE: Final = (1, 2, 5)
"""Steps between rows, times a power of ten."""
_EVERY_LABEL: Final = 4
"""Rows from one label of the vertical axis to the next."""

_Grid = list[list[tuple[str, int] | None]]


class Line(NamedTuple):
    """A curve."""

    name: str
    points: Sequence[tuple[int, float]]
    """Position from the left, counted from 0, and value."""


def print_plot(lines: Sequence[Line], left: str, right: str) -> None:
    """Print curves with their names below.

    Args:
        lines: the curves; at least one has a point.
        left: label of the left end of the axis, such as a date.
        right: label of the right end.
    """
    is_screen = sys.stdout.isatty()
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    charset = "unicode" if is_screen and encoding == "utf8" and not os.environ.get("ARENA_ASCII") else "ascii"
    width = min(_MOST_COLUMNS, _columns() if is_screen else 80)
    rows = draw(lines, left, right, width, charset)
    if not is_screen:
        for row in rows:
            click.echo("".join(text for text, _ in row).rstrip())
        return
    from rich.text import Text

    from arena.cli.output import console

    out = console()
    for row in rows:
        out.print(Text.assemble(*((text, "" if number is None else _style(number)) for text, number in row)))


def draw(
    lines: Sequence[Line], left: str, right: str, width: int, charset: str
) -> list[list[tuple[str, int | None]]]:
    """Return the rows of a plot; a row is a list of texts, each with the number of its curve or None.

    Args:
        lines: the curves; at least one has a point.
        left: label of the left end of the axis.
        right: label of the right end.
        width: characters of a row.
        charset: `ascii` or `unicode`.
    """
    values = [value for line in lines for _, value in line.points]
    low, step = _scale(min(values), max(values))
    labels = [f"{low + step * place:.0f}" for place in range(_HEIGHT)]
    margin = max(map(len, labels))
    columns = max(10, width - margin - 2)
    grid = _grid(lines, low, step, columns, _MARKS[charset])
    upright, corner, flat = _AXES[charset]
    rows: list[list[tuple[str, int | None]]] = []
    for place in reversed(range(_HEIGHT)):
        label = labels[place] if place % _EVERY_LABEL == 0 or place == _HEIGHT - 1 else ""
        cells = [(" ", None) if cell is None else cell for cell in grid[place]]
        rows.append([(f"{label:>{margin}} {upright}", None), *cells])
    rows.append([(f"{'':>{margin}} {corner}{flat * columns}", None)])
    gap = max(1, columns - len(left) - len(right))
    rows.append([(f"{'':>{margin}}  {left}{' ' * gap}{right}", None)])
    for number, line in enumerate(lines):
        mark = _MARKS[charset][number % len(_MARKS[charset])]
        rows.append([(f"{'':>{margin}}  ", None), (mark, number), (f" {clean_text(line.name, _NAME)}", None)])
    return rows


def _grid(lines: Sequence[Line], low: float, step: float, columns: int, marks: str) -> _Grid:
    """Return the marks by row from the bottom and column; in a shared cell the later curve is shown."""
    last = max(place for line in lines for place, _ in line.points)
    grid: _Grid = [[None] * columns for _ in range(_HEIGHT)]
    for number, line in enumerate(lines):
        for place, value in line.points:
            column = round(place * (columns - 1) / last) if last else 0
            grid[round((value - low) / step)][column] = marks[number % len(marks)], number
    return grid


def _scale(least: float, most: float) -> tuple[float, float]:
    """Return the value of the lowest row and the step between rows: 1, 2 or 5 times a power of ten."""
    unit = 1.0
    while True:
        for nice in _NICE:
            step = nice * unit
            low = step * (least // step)
            if low + step * (_HEIGHT - 1) >= most:
                return low, step
        unit *= 10


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def _style(number: int) -> str:
    return _STYLES[number % len(_STYLES)]
