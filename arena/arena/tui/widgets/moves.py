"""The moves of a match as a list, and as a timeline with marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message
from typing_extensions import override

from arena.tui.text import left
from arena.tui.widgets.canvas import Canvas
from arena.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from arena.live.views import Mark, MoveView
    from arena.tui.text import Line

MARK_NAMES = {"~": "swing", "?": "gave it away", "??": "lost a win", "#": "end"}
"""The meaning of the marks of a replay."""
_MAX_SEGMENT = 5
"""Maximum width of a ply between two separators, in cells."""
_LEGEND_GAP = 3
"""Number of blanks before each entry of the legend."""
_EDGES = 3
"""Cells of a timeline that show no plies: a blank and the brackets."""
_MIN_MOVE = 2
"""Minimum width of a move with its mark, in cells."""


class MoveList(RowList):
    """A line for each ply: number, player, move with mark, evaluation, time; cursor on the shown ply."""

    HELP = (
        "The moves; # is the end, ? a result given away and ?? a win turned into a loss, by a judge's grade;"
        " ~ without grades a swing in the evaluations of both bots."
        " Percent are the first player's chance to win."
    )
    DEFAULT_CSS = """
    MoveList { width: 21; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__("moves", id=id, classes=classes)
        self._moves: Sequence[MoveView] = ()
        self._ply = 0
        self._move_width = _MIN_MOVE

    def show(self, moves: Sequence[MoveView], ply: int) -> None:
        """Show moves, with that of `ply` (from 1; 0 is before the first) marked."""
        self._moves, self._ply = moves, ply
        self._move_width = max([_MIN_MOVE, *(len(move.text + move.mark) for move in moves)])
        self.go_to(ply - 1, tell=False)

    @property
    @override
    def num_rows(self) -> int:
        return len(self._moves)

    @override
    def row_line(self, row: int, width: int) -> Line:
        move = self._moves[row]
        mark = self.glyphs.arrow if move.ply == self._ply else " "
        percent = "" if move.eval is None else f"{move.eval:.0f}%"
        time = "open" if move.is_opening else "" if move.elapsed_ms is None else _seconds(move.elapsed_ms)
        return (
            (f"{mark}{move.ply:>2} ", ""),
            (self.glyphs.players[move.player], ("first", "second")[move.player]),
            (f" {left(move.text + move.mark, self._move_width)} {percent:>4} {time}", ""),
        )


class Timeline(Canvas):
    """All plies of a match in one line; a click selects a ply."""

    HELP = "Every ply of the match, filled up to the current ply, whose number is in brackets."
    DEFAULT_CSS = """
    Timeline { height: 1; }
    """

    class Sought(Message):
        """The user asked to see another ply."""

        def __init__(self, ply: int) -> None:
            super().__init__()
            self.ply = ply
            """Number of the ply; 0 is before the first move."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__(id=id, classes=classes)
        self._marks: Sequence[Mark] = ()
        self._ply = 0

    def show(self, marks: Sequence[Mark], ply: int) -> None:
        """Show the marks of all plies, and `ply` as the current one."""
        self._marks, self._ply = marks, ply
        self.repaint()

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        num = len(self._marks)
        if not num or width < _MAX_SEGMENT:
            return []
        legend = "".join(
            f"{'':{_LEGEND_GAP}}{mark} {name}" for mark, name in MARK_NAMES.items() if mark in self._marks
        )
        segment = self._segment(width)
        if segment:
            track = "|".join(self._piece(ply, segment) for ply in range(1, num + 1))
        else:
            cells = min(num, width - _EDGES)
            track = "".join(self._point(place, cells) for place in range(cells))
        line = f" [{track}]"
        return [((line, ""), (legend if len(line) + len(legend) <= width else "", "dim"))]

    def _segment(self, width: int) -> int:
        """Return the cells of a ply between two separators; 0 if plies share cells."""
        return max(0, min(_MAX_SEGMENT, (width - 2) // len(self._marks) - 1))

    def _piece(self, ply: int, width: int) -> str:
        fill = "=" if ply <= self._ply else "-"
        text = self._marks[ply - 1] or fill
        if ply == self._ply:
            number = f"({ply})"
            text = number if len(number) <= width else "o"
        return f"{text:{fill}^{width}}"

    def _point(self, place: int, width: int) -> str:
        """Return the character of a cell shared by several plies: current ply, else a mark, else progress."""
        begin, end = self._plies_at(place, width)
        if begin <= self._ply < end:
            return "o"
        mark = next((mark for mark in self._marks[begin - 1 : end - 1] if mark), "")
        # A cell has room for one character.
        return mark[:1] or ("=" if begin <= self._ply else "-")

    def _plies_at(self, place: int, width: int) -> tuple[int, int]:
        num = len(self._marks)
        begin = place * num // width + 1
        return begin, max(begin + 1, (place + 1) * num // width + 1)

    def on_click(self, event: events.Click) -> None:
        """Go to the ply that was clicked."""
        num = len(self._marks)
        if not num:
            return
        event.stop()
        segment = self._segment(self.size.width)
        place = event.x - 2
        ply = (
            place // (segment + 1) + 1
            if segment
            else self._plies_at(place, min(num, self.size.width - _EDGES))[0]
        )
        self.post_message(self.Sought(min(max(ply, 0), num)))


def _seconds(milliseconds: int) -> str:
    seconds = milliseconds / 1000
    return f"{seconds:.1f}s" if seconds < 100 else f"{seconds:.0f}s"  # noqa: PLR2004 # four cells either way
