"""A canvas with a frame, a title in it and, when it has the focus, a heavy frame and a mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from typing_extensions import override

from arena.tui.text import clip, fit
from arena.tui.widgets.canvas import Canvas

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.tui.text import Line, Span

_FRAME = 2
"""Cells that a frame takes off width and height."""


class Panel(Canvas):
    """Override `body`; `title` stands in the upper edge, `note` in the lower one."""

    def __init__(
        self,
        title: str = "",
        *,
        id: str | None = None,  # noqa: A002 # as in Textual
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.title = title
        self.note = ""
        self.has_frame = True
        """Without a frame the title is a heading, and the body is two cells wider."""

    def body(self, width: int, height: int) -> list[Line]:
        """Give the lines inside of the frame."""
        del width, height
        return []

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        if not self.has_frame:
            return [self._heading(width), *self.body(width, height - 1)][:height]
        if width <= _FRAME or height <= _FRAME:
            return self.body(width, height)[:height]
        inner = width - _FRAME
        border = self.glyphs.heavy if self.has_focus else self.glyphs.light
        side: Span = (border.side, "focus" if self.has_focus else "border")
        lines = self.body(inner, height - _FRAME)[: height - _FRAME]
        lines += [()] * (height - _FRAME - len(lines))
        return [
            self._upper_edge(inner),
            *((side, *fit(line, inner), side) for line in lines),
            self._lower_edge(inner),
        ]

    def inner(self, x: int, y: int) -> tuple[int, int]:
        """Give the place within the body of a place within the widget; negative on the edge."""
        return (x - 1, y - 1) if self.has_frame else (x, y - 1)

    def _heading(self, width: int) -> Line:
        mark = ">" if self.has_focus else " "
        what, blank, rest = self.title.partition(" ")
        title = clip(f"{what.upper()}{blank}{rest}", width - 2)
        return ((mark, "focus"), (title, "focus" if self.has_focus else "title"))

    def _upper_edge(self, width: int) -> Line:
        border = self.glyphs.heavy if self.has_focus else self.glyphs.light
        style = "focus" if self.has_focus else "border"
        title = clip(self.title, width - 4)
        if not title:
            return ((border.top_left + border.top * width + border.top_right, style),)
        mark = ">" if self.has_focus else " "
        rest = border.top * (width - 3 - cell_len(title))
        return (
            (border.top_left + border.top + mark, style),
            (title, "title"),
            (f" {rest}{border.top_right}", style),
        )

    def _lower_edge(self, width: int) -> Line:
        border = self.glyphs.heavy if self.has_focus else self.glyphs.light
        style = "focus" if self.has_focus else "border"
        note = clip(self.note, width - 5)
        if not note:
            return ((border.bottom_left + border.top * width + border.bottom_right, style),)
        rest = border.top * (width - 5 - cell_len(note))
        return (
            (f"{border.bottom_left}{border.top}[ ", style),
            (note, "title"),
            (f" ]{rest}{border.bottom_right}", style),
        )


class LinesPanel(Panel, can_focus=True):
    """A panel of ready lines: finished matches, events, details of a search."""

    HELP = "Lines of text; what does not fit is left out at the end."

    def __init__(
        self,
        title: str = "",
        *,
        id: str | None = None,  # noqa: A002 # as in Textual
        classes: str | None = None,
    ) -> None:
        super().__init__(title, id=id, classes=classes)
        self._shown: list[Line] = []

    def show(self, lines: Iterable[Line], title: str | None = None) -> None:
        """Show other lines, and another title where one is given."""
        self._shown = list(lines)
        self.title = self.title if title is None else title
        self.repaint()

    @override
    def body(self, width: int, height: int) -> list[Line]:
        return self._shown[:height]
