"""A page of text in sections: it scrolls, and rows link to matches and other pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from typing_extensions import override

from arena.tui.text import safe
from arena.tui.widgets.item_list import ItemList
from arena.tui.widgets.row_list import LIST_BINDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.tui.text import Line
    from arena.watching.page_rows import PageRow


class PagePanel(ItemList["PageRow"]):
    """Rows that are computed again for each width."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *LIST_BINDINGS,
        Binding("n", "section(1)", "Section", id="page.section"),
        Binding("N", "section(-1)", "Section before", show=False, id="page.section-before"),
        Binding("w", "losses", "Worst losses", id="page.losses"),
    ]
    HELP = (
        "Sections of a page. Up and down move, n and N go to the next and previous section, w to the losses;"
        " enter opens the match, bot or head-to-head of a row."
    )

    def __init__(self, title: str = "", *, nothing: str = "") -> None:
        """Create the panel.

        Args:
            title: title of the frame.
            nothing: text if there are no rows.
        """
        super().__init__(title, nothing=nothing)
        self._make: Callable[[int], Sequence[PageRow]] | None = None
        self._width = 0

    def show(self, make: Callable[[int], Sequence[PageRow]] | None, nothing: str = "") -> None:
        """Show other rows.

        Args:
            make: returns the rows for a width in cells; None for no rows.
            nothing: text if there are no rows.
        """
        self._make, self._nothing, self._width = make, nothing, 0
        self._fit(self.size.width - 2)
        self.repaint()

    @override
    def body(self, width: int, height: int) -> list[Line]:
        self._fit(width)
        return super().body(width, height)

    @override
    def row_line(self, row: int, width: int) -> Line:
        shown = self._rows[row]
        return ((f" {safe(shown.text)}", shown.style),)

    def action_section(self, step: int) -> None:
        """Move to the first row of the next or previous section."""
        heads = [place for place, row in enumerate(self._rows) if row.style == "title"]
        beyond = [place for place in heads if (place - self.cursor) * step > 0]
        if beyond:
            self.go_to(min(beyond, key=lambda place: abs(place - self.cursor)))

    def action_losses(self) -> None:
        """Move to the worst loss; a second time to that of the other bot, if there is one."""
        heads = [place for place, row in enumerate(self._rows) if row.text.startswith("worst losses")]
        if heads:
            head = next((place for place in heads if place > self.cursor), heads[0])
            self.go_to(head + 2)

    def _fit(self, width: int) -> None:
        if self._make is None:
            self._rows = ()
        elif width > 0 and width != self._width:
            self._rows, self._width = self._make(width - 1), width
