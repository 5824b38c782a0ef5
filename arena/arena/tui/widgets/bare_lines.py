"""Lines of text between other widgets, without a frame."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from typing_extensions import override

from arena.tui.text import cut_sentence, line_width
from arena.tui.widgets.canvas import Canvas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.tui.text import Line


class BareLines(Canvas):
    """One line, or as many as the CSS allows."""

    DEFAULT_CSS = """
    BareLines { height: 1; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__(id=id, classes=classes)
        self._said: list[Line] = []

    def say(self, text: str, style: str = "") -> None:
        """Show one line."""
        self.show([((text, style),)])

    def show(self, lines: Sequence[Line]) -> None:
        """Show several lines."""
        before, self._said = self._said, list(lines)
        if before != self._said:
            self.repaint()

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        return [_fitted(line, width) for line in self._said[:height]]


class WrappedLines(BareLines):
    """Lines of one style each; lines that are too long are wrapped."""

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        lines: list[Line] = [
            ((f" {part}", line[0][1]),)
            for line in self._said
            if line
            for part in wrap(line[0][0].strip(), max(1, width - 1))
        ]
        return lines[:height]


def _fitted(line: Line, width: int) -> Line:
    """Cut a sentence that does not fit, between two words, and add two dots; other lines are unchanged."""
    if len(line) != 1 or line_width(line) <= width:
        return line
    ((text, style),) = line
    return ((cut_sentence(text, width), style),)
