"""The output of a program or a log, line by line; it follows the newest line until the cursor moves up."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from typing_extensions import override

from arena.tui.text import safe
from arena.tui.widgets.row_list import LIST_BINDINGS, RowList

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.tui.text import Line

MAX_LINES = 5000
"""Maximum number of newest lines that are kept, since a bot may print without end."""


class OutputPanel(RowList, inherit_bindings=False):
    """Lines with a cursor that follows the newest; long ones are wrapped."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding for binding in Binding.make_bindings(LIST_BINDINGS) if binding.id != "list.select"
    ]
    HELP = "The output of a program. Up and down (or k and j) move, end goes back to the newest line."

    def __init__(
        self,
        title: str = "",
        *,
        id: str | None = None,  # noqa: A002 # as in Textual
        classes: str | None = None,
    ) -> None:
        super().__init__(title, id=id, classes=classes)
        self._said: list[str] = []
        self._broken: list[str] = []
        self._width = 0

    @property
    def said(self) -> Sequence[str]:
        """All lines, unwrapped."""
        return self._said

    def clear(self, title: str) -> None:
        """Remove all lines."""
        self._said, self._broken = [], []
        self.title, self.note = title, ""
        self.go_to(0, tell=False)

    def add(self, lines: Iterable[str]) -> None:
        """Add lines."""
        follows = self.cursor >= self.num_rows - 1
        new = [safe(line) for line in lines]
        self._said = [*self._said, *new][-MAX_LINES:]
        if len(self._said) == MAX_LINES:
            self._broken = break_lines(self._said, self._width)
        else:
            self._broken += break_lines(new, self._width)
        if follows:
            self.go_to(self.num_rows - 1, tell=False)
        self.repaint()

    @property
    @override
    def num_rows(self) -> int:
        return len(self._broken)

    @override
    def row_line(self, row: int, width: int) -> Line:
        return ((f" {self._broken[row]}", ""),)

    @override
    def body(self, width: int, height: int) -> list[Line]:
        if width != self._width:
            follows = self.cursor >= self.num_rows - 1
            self._width = width
            self._broken = break_lines(self._said, width)
            if follows:
                self._cursor = max(0, self.num_rows - 1)
        return super().body(width, height)


def break_lines(lines: Iterable[str], width: int) -> list[str]:
    """Wrap lines that are wider than `width` cells after a blank."""
    room = max(8, width - 2)
    broken: list[str] = []
    for line in lines:
        rest = line
        while cell_len(rest) > room:
            end = room
            while cell_len(rest[:end]) > room:
                end -= 1
            blank = rest.rfind(" ", room // 2, end)
            end = blank + 1 if blank > 0 else end
            broken.append(rest[:end])
            rest = rest[end:]
        broken.append(rest)
    return broken
