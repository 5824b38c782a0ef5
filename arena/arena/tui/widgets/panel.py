"""A canvas with a frame and a title; a heavy frame and a mark show that it has the focus."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from typing_extensions import override

from arena.tui.text import clip, clip_pair, fit
from arena.tui.widgets.canvas import Canvas

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.tui.glyphs import Border
    from arena.tui.text import Line, Span

_FRAME = 2
"""Number of cells that a frame takes from width and height."""
_TITLE = 3
"""Number of cells of the upper edge besides the title."""
NOTE_EDGES = 5
"""Number of cells of the lower edge that a note leaves to the line and its brackets, without the corners."""
_LEAST = 1
"""Minimum number of cells of the line, for the mark of the focus."""


class Panel(Canvas):
    """A canvas with a frame: override `body`; `title` is in the upper edge, `note` in the lower one."""

    def __init__(
        self,
        title: str = "",
        *,
        id: str | None = None,  # noqa: A002 # as in Textual
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.title = title
        self.pair: tuple[str, str] | None = None
        """Two labels after the title, with ` v ` between them; they are never cut."""
        self.short_title = ""
        """Replaces the title if the title does not fit beside the two labels of `pair`."""
        self.note = ""
        self.has_frame = True
        """Whether there is a frame; without it the title is a heading, and the body is two cells wider."""

    def body(self, width: int, height: int) -> list[Line]:
        """Return the lines inside the frame."""
        del width, height
        return []

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        if not self.has_frame:
            return [self._heading(width), *self.body(width, height - 1)][:height]
        if width <= _FRAME or height <= _FRAME:
            return self.body(width, height)[:height]
        inner = width - _FRAME
        has_focus = self.has_focus
        border, style = (self.glyphs.heavy, "focus") if has_focus else (self.glyphs.light, "border")
        side: Span = (border.side, style)
        lines = self.body(inner, height - _FRAME)[: height - _FRAME]
        lines += [()] * (height - _FRAME - len(lines))
        return [
            _upper_edge(self.caption(inner - _LEAST), inner, border, style),
            *((side, *fit(line, inner), side) for line in lines),
            _lower_edge(self.note, inner, border, style),
        ]

    def caption(self, width: int) -> str:
        """Return title and pair in at most `width` cells; the title is shortened first."""
        if self.pair is None:
            return clip(self.title, width - _TITLE + _LEAST)
        pair = f"{self.pair[0]} v {self.pair[1]}"
        for lead in (self.title, self.short_title):
            if lead and cell_len(f"{lead} {pair}") <= width - _TITLE + _LEAST:
                return f"{lead} {pair}"
        return clip_pair(*self.pair, width)

    def inner(self, x: int, y: int) -> tuple[int, int]:
        """Convert a position in the widget to one in the body; negative on the edge."""
        return (x - 1, y - 1) if self.has_frame else (x, y - 1)

    def _heading(self, width: int) -> Line:
        mark = ">" if self.has_focus else " "
        what, blank, rest = self.title.partition(" ")
        title = clip(f"{what.upper()}{blank}{rest}", width - 2)
        return ((mark, "focus"), (title, "focus" if self.has_focus else "title"))


@lru_cache(maxsize=1024)
def _upper_edge(title: str, width: int, border: Border, style: str) -> Line:
    if not title:
        return ((border.top_left + border.top * width + border.top_right, style),)
    mark = ">" if style == "focus" else " "
    room = width - cell_len(title)
    if room < _TITLE:
        # The pair consists of two labels of maximum length.
        return (
            (border.top_left + mark, style),
            (title, "title"),
            (border.top * (room - 1) + border.top_right, style),
        )
    rest = border.top * (room - _TITLE)
    return (
        (border.top_left + border.top + mark, style),
        (title, "title"),
        (f" {rest}{border.top_right}", style),
    )


@lru_cache(maxsize=1024)
def _lower_edge(note: str, width: int, border: Border, style: str) -> Line:
    note = clip(note, width - NOTE_EDGES)
    if not note:
        return ((border.bottom_left + border.top * width + border.bottom_right, style),)
    rest = border.top * (width - NOTE_EDGES - cell_len(note))
    return (
        (f"{border.bottom_left}{border.top}[ ", style),
        (note, "title"),
        (f" ]{rest}{border.bottom_right}", style),
    )


class LinesPanel(Panel, can_focus=True):
    """A panel of given lines: finished matches, events, search information."""

    HELP = "Lines of text; lines that do not fit are left out at the end."

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
        """Show other lines, and another title if one is given."""
        before, self._shown = (self._shown, self.title), list(lines)
        self.title = self.title if title is None else title
        if before != (self._shown, self.title):
            self.repaint()

    @override
    def body(self, width: int, height: int) -> list[Line]:
        return self._shown[:height]
