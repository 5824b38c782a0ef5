"""A table of rows with a cursor: as many columns as fit, names cut, numbers whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from rich.cells import cell_len
from typing_extensions import override

from arena.tui.text import left, right, safe
from arena.tui.widgets.item_list import ItemList

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.tui.text import Line

_Row = TypeVar("_Row")


class Col(msgspec.Struct, frozen=True):
    """A column."""

    head: str
    write: Callable[[Any], str]
    width: int
    """Minimum width in cells; a name may shrink to it, all other columns are never cut."""
    rank: int = 0
    """A column of rank 0 always stays; of the others the highest rank is left out first if there is no
    room."""
    is_name: bool = False
    """Whether the column may be cut, and gets the remaining room."""
    is_right: bool = False


class ColumnTable(ItemList[_Row]):
    """Rows of one type in columns; set the rows with `show`."""

    def __init__(
        self,
        columns: Sequence[Col],
        title: str = "",
        *,
        nothing: str = "",
        id: str | None = None,  # noqa: A002 # as in Textual
        classes: str | None = None,
    ) -> None:
        """Create the table.

        Args:
            columns: the columns in order, at least one of rank 0.
            title: title of the frame.
            nothing: text if there are no rows.
            id: as in Textual.
            classes: as in Textual.
        """
        super().__init__(title, nothing=nothing, id=id, classes=classes)
        self._columns = columns
        self._fitted: tuple[int, list[tuple[Col, int]]] | None = None

    def show(self, rows: Sequence[_Row], *, title: str | None = None, nothing: str | None = None) -> None:
        """Show other rows; the cursor stays where it is."""
        self._rows = rows
        self._fitted = None
        self.title = self.title if title is None else title
        self._nothing = self._nothing if nothing is None else nothing
        self.repaint()

    @override
    def head_line(self, width: int) -> Line | None:
        return ((_put((column, cells, column.head) for column, cells in self._layout(width)), "dim"),)

    @override
    def row_line(self, row: int, width: int) -> Line:
        item = self._rows[row]
        cells = ((column, cells, column.write(item)) for column, cells in self._layout(width))
        return ((_put(cells), ""),)

    def _layout(self, width: int) -> list[tuple[Col, int]]:
        """Return the columns that fit, with their widths; computed once for all rows."""
        if self._fitted is None or self._fitted[0] != width:
            self._fitted = (width, self._fit(width))
        return self._fitted[1]

    def _fit(self, width: int) -> list[tuple[Col, int]]:
        longest = {column.head: self._longest(column) for column in self._columns}
        least = {
            column.head: min(column.width, longest[column.head])
            if column.is_name
            else max(column.width, longest[column.head])
            for column in self._columns
        }
        kept = {column.head for column in self._columns if column.rank == 0}
        room = width - sum(least[head] + 1 for head in kept)
        for column in sorted(self._columns, key=lambda column: column.rank):
            if column.rank and least[column.head] + 1 <= room:
                kept.add(column.head)
                room -= least[column.head] + 1
        shown: list[tuple[Col, int]] = []
        for column in self._columns:
            if column.head in kept:
                more = min(max(0, room), longest[column.head] - least[column.head]) if column.is_name else 0
                room -= more
                shown.append((column, least[column.head] + more))
        return shown

    def _longest(self, column: Col) -> int:
        texts = (cell_len(safe(column.write(row))) for row in self._rows)
        return max(len(column.head), max(texts, default=0))


def _put(cells: Iterable[tuple[Col, int, str]]) -> str:
    return "".join(f" {(right if column.is_right else left)(text, width)}" for column, width, text in cells)
