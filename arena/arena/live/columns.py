"""Lays out text in columns: as many as fit, numbers aligned to the right, no cell cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence


class TextColumn(msgspec.Struct, frozen=True):
    """A column of a text table."""

    head: str
    rank: int = 0
    """A column of rank 0 is always kept; of the others, the highest ranks are dropped first if space is
    short."""
    is_name: bool = False
    """Whether the column holds text, which is aligned to the left."""


def lay_out(
    columns: Sequence[TextColumn], rows: Sequence[Sequence[str]], width: int | None = None
) -> list[str]:
    """Return the header and the rows, with two blanks between columns.

    Args:
        columns: the columns in order.
        rows: texts, `[rows][columns]`. They are never cut, so lines may exceed `width` if the columns of rank
            0 do.
        width: cells of the terminal; None for no limit.
    """
    # Imported late: viewers without a screen use only the column definitions.
    from rich.cells import cell_len

    cells = [
        max(cell_len(text) for text in (column.head, *(row[place] for row in rows)))
        for place, column in enumerate(columns)
    ]
    kept = set(range(len(columns)))
    for place in sorted(kept, key=lambda place: -columns[place].rank):
        if width is None or sum(cells[one] + 2 for one in kept) - 2 <= width or not columns[place].rank:
            break
        kept.remove(place)
    places = sorted(kept)
    return [
        "  ".join(_put(line[place], cells[place], columns[place]) for place in places).rstrip()
        for line in ([column.head for column in columns], *rows)
    ]


def _put(text: str, cells: int, column: TextColumn) -> str:
    from rich.cells import cell_len

    blanks = " " * (cells - cell_len(text))
    return text + blanks if column.is_name else blanks + text
