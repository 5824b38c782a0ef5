"""A list with a cursor, for up to a few thousand rows in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from typing_extensions import override

from arena.tui.widgets.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from arena.tui.text import Line

LIST_BINDINGS: list[BindingType] = [
    Binding("up,k", "move(-1)", "Up", show=False, id="list.up"),
    Binding("down,j", "move(1)", "Down", show=False, id="list.down"),
    Binding("pageup", "page(-1)", "Page up", show=False, id="list.page-up"),
    Binding("pagedown", "page(1)", "Page down", show=False, id="list.page-down"),
    Binding("home", "to_end(-1)", "First", show=False, id="list.home"),
    Binding("end", "to_end(1)", "Last", show=False, id="list.end"),
    Binding("enter", "select", "Open", id="list.select"),
]
"""Keys of all widgets with rows and a cursor."""


class RowList(Panel, can_focus=True):
    """A list with a cursor: override `num_rows`, `row_line` and, for a fixed line on top, `head_line`."""

    BINDINGS: ClassVar[list[BindingType]] = LIST_BINDINGS
    HELP = "Up and down (or k and j) move the cursor, enter opens the row, a click moves the cursor, too."

    class Selected(Message):
        """The user asked to open a row."""

        def __init__(self, sender: RowList, row: int) -> None:
            super().__init__()
            self.sender = sender
            self.row = row

        @property
        @override
        def control(self) -> RowList:
            return self.sender

    class Moved(Selected):
        """The cursor moved to a row."""

    def __init__(
        self,
        title: str = "",
        *,
        id: str | None = None,  # noqa: A002 # as in Textual
        classes: str | None = None,
    ) -> None:
        super().__init__(title, id=id, classes=classes)
        self._cursor = 0
        self._first = 0
        self._room = 0

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return 0

    @property
    def cursor(self) -> int:
        """The row of the cursor, from 0."""
        return min(self._cursor, max(0, self.num_rows - 1))

    def row_line(self, row: int, width: int) -> Line:
        """Return a row."""
        del row, width
        return ()

    def head_line(self, width: int) -> Line | None:
        """Return the line above the rows; None for none."""
        del width

    def go_to(self, row: int, *, tell: bool = True) -> None:
        """Move the cursor to a row, clamped to the existing ones."""
        before = self.cursor
        self._cursor = min(max(0, row), max(0, self.num_rows - 1))
        if tell and self._cursor != before:
            self.post_message(self.Moved(self, self._cursor))
        self.repaint()

    def stay_on(self, key: str, keys: Sequence[str]) -> None:
        """Move the cursor to the nearest row with this key, without a message, if there is one.

        Rows may change while a user looks at them; the next key press must apply to the row that was chosen.

        Args:
            key: the key of the row at which the cursor was.
            keys: the keys of the rows that are shown now.
        """
        found = [place for place, each in enumerate(keys) if each == key]
        if found:
            self.go_to(min(found, key=lambda place: abs(place - self.cursor)), tell=False)

    @override
    def body(self, width: int, height: int) -> list[Line]:
        head = self.head_line(width)
        self._room = room = max(0, height - (head is not None))
        self._first = min(self._first, max(0, self.num_rows - room), self.cursor)
        self._first = max(self._first, self.cursor - room + 1, 0)
        rows = range(self._first, min(self.num_rows, self._first + room))
        lines = [self._marked(row, self.row_line(row, width)) for row in rows]
        return lines if head is None else [head, *lines]

    def _marked(self, row: int, line: Line) -> Line:
        if not (self.has_focus and row == self.cursor):
            return line
        text = "".join(text for text, _ in line)
        return ((self.glyphs.arrow + text[1:], "cursor"),)

    def action_move(self, step: int) -> None:
        """Move the cursor by rows."""
        self.go_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        """Move the cursor by pages, which overlap by a row."""
        self.go_to(self.cursor + step * max(1, self._room - 1))

    def action_to_end(self, step: int) -> None:
        """Move the cursor to the first or the last row."""
        self.go_to(0 if step < 0 else self.num_rows - 1)

    def action_select(self) -> None:
        """Open the row at the cursor."""
        if self.num_rows:
            self.post_message(self.Selected(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row; a second click opens it."""
        _, y = self.inner(event.x, event.y)
        row = self._first + y - (self.head_line(self.size.width) is not None)
        if not self._first <= row < self.num_rows:
            return
        event.stop()
        self.go_to(row)
        if event.chain > 1:
            self.action_select()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move the cursor down."""
        event.stop()
        self.action_move(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move the cursor up."""
        event.stop()
        self.action_move(-1)
