"""A list of items in memory, with a text if there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from typing_extensions import override

from arena.tui.widgets.output_panel import break_lines
from arena.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.tui.text import Line

_Item = TypeVar("_Item")


class ItemList(RowList, Generic[_Item]):
    """A list of items in memory; override `row_line`. Without items it shows a text."""

    def __init__(
        self,
        title: str = "",
        *,
        nothing: str = "",
        id: str | None = None,  # noqa: A002 # as in Textual
        classes: str | None = None,
    ) -> None:
        """Create the list.

        Args:
            title: title of the frame.
            nothing: text if there are no items.
            id: as in Textual.
            classes: as in Textual.
        """
        super().__init__(title, id=id, classes=classes)
        self._nothing = nothing
        self._rows: Sequence[_Item] = ()

    @property
    @override
    def num_rows(self) -> int:
        return len(self._rows)

    @property
    def current(self) -> _Item | None:
        """The item at the cursor; None if there is none."""
        return self._rows[self.cursor] if self._rows else None

    def row(self, index: int) -> _Item:
        """Return an item by its index, from 0."""
        return self._rows[index]

    @override
    def body(self, width: int, height: int) -> list[Line]:
        if not self._rows:
            return [((f" {line}", "dim"),) for line in break_lines([self._nothing], width)]
        return super().body(width, height)
