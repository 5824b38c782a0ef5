"""A board on the screen of running matches: visits in tenths, stones, clocks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from typing_extensions import override

from arena.live.plain import clock_text
from arena.live.wall import tenths
from arena.tui.text import clip
from arena.tui.widgets.board_cells import Marks, dense_row
from arena.tui.widgets.panel import Panel

if TYPE_CHECKING:
    from textual import events

    from arena.live.views import MatchView
    from arena.tui.text import Line

LOW_MS = 3000
"""Milliseconds below which a clock is followed by `!`."""
_MIN_WIDTH = 16
"""Width of two clocks, in columns."""
_HOUR = 60
"""Minutes of an hour."""
_ROWS = 4
"""Number of lines of a board besides its rows: frame, visits, clocks."""
SHORT_TERMINATIONS = {
    "adjudicated": "adjud",
    "illegal_move": "illegal",
    "malformed": "malform",
    "oversize_line": "flood",
    "output_flood": "flood",
    "protocol_order": "order",
    "time_move": "time",
    "time_game": "time",
    "pondering": "ponder",
    "bot_error": "error",
    "no_common_protocol": "no init",
    "init_timeout": "no init",
    "init_crash": "no init",
    "disconnect": "lost",
    "walkover": "walk",
    "arena_stall": "stall",
    "arena_error": "arena",
    "aborted": "abort",
}
"""Terminations in at most 7 characters, for places where the whole word does not fit."""


def board_size(rows: int, columns: int, scale: int = 1) -> tuple[int, int]:
    """Return the columns and lines of the terminal that a board takes, including its frame.

    Args:
        rows: rows of the board.
        columns: columns of the board.
        scale: 2 for cells of twice the width and height.
    """
    return max(_MIN_WIDTH, 2 * scale * columns + 2) + 2, scale * rows + _ROWS


def short_termination(termination: str) -> str:
    """Return a termination in at most 7 characters."""
    return clip(SHORT_TERMINATIONS.get(termination, termination), 7)


class SmallBoard(Panel, can_focus=True):
    """One small board; `show` sets the match, `tick` updates its clock."""

    HELP = (
        "A running match. The first row is the search of the last mover for each column, in tenths; * is to"
        " move, ! has less than 3 seconds, [X] is the last move; stalled: its worker died, the match will be"
        " played again. Enter opens it."
    )
    DEFAULT_CSS = """
    SmallBoard { width: 18; height: 10; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", "Open", id="board.open")]

    class Opened(Message):
        """The user asked to open the match."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number
            """Number of the match in the tournament."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__(id=id, classes=classes)
        self.match: MatchView | None = None
        """The match that is shown; None for an empty place."""
        self.shows_evals = True
        """Whether the first row, the search of the last mover in tenths, is shown."""
        self._now = 0.0
        self._clocks: Line = ()
        self._due = 0.0

    def show(self, match: MatchView | None, now: float, *, evals: bool = True) -> None:
        """Show a match at `now`, UTC seconds."""
        if match is self.match and evals == self.shows_evals:
            self.tick(now)
            return
        self.match, self.shows_evals, self._now, self._due = match, evals, now, 0.0
        self.pair = match.labels if match else None
        self.note = ""
        if match is not None and match.is_over:
            self.note = f"{match.result} {match.end}"
            if len(self.note) > self.size.width - 7:
                self.note = f"{match.result} {short_termination(match.end)}"
        self.repaint()

    def tick(self, now: float) -> None:
        """Update the running clock; it is painted only if a digit changes."""
        self._now = now
        if self.match is None or not self.match.is_played or now < self._due:
            return
        self._due = self._next_second(self.match)
        if self._clock_line() != self._clocks:
            self.repaint()

    def _next_second(self, match: MatchView) -> float:
        """Return the time at which the running clock shows another second, in UTC seconds."""
        left = match.remaining_ms(match.to_move, self._now) if match.to_move in (0, 1) else None
        return math.inf if left is None else self._now + (left % 1000 + 1) / 1000

    @override
    def body(self, width: int, height: int) -> list[Line]:
        match = self.match
        if match is None:
            return [()] * height
        if not match.columns:
            return [((f" {match.trouble or 'no board'}", "alert"),)]
        is_large = 4 * match.columns + 1 <= width and 2 * match.rows <= height - 2
        pitch = 4 if is_large else 2 if 2 * match.columns + 1 <= width else 1
        rows = self._window(match, height - 2)
        marks = Marks(last=match.last_cell, lit=match.winning)
        drawn = [
            dense_row(
                match.cells[row * match.columns : (row + 1) * match.columns],
                row * match.columns,
                marks,
                self.glyphs,
                pitch,
            )
            for row in rows
        ]
        if is_large:
            drawn = [line for row in drawn for line in (row, ())]
        self._clocks = self._clock_line()
        blanks: list[Line] = [()] * (height - 2 - len(drawn))
        return [self._tenths_line(match, pitch), *drawn, *blanks, self._clocks]

    def on_click(self, event: events.Click) -> None:
        """Open the match."""
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        """Open the match."""
        if self.match is not None:
            self.post_message(self.Opened(self.match.number))

    @staticmethod
    def _window(match: MatchView, height: int) -> range:
        """Return the visible rows; if not all fit, those around the last move."""
        if match.rows <= height:
            return range(match.rows)
        last = match.rows - 1 if match.last_cell is None else match.last_cell // match.columns
        top = min(max(0, last - height // 2), match.rows - height)
        return range(top, top + max(0, height))

    def _tenths_line(self, match: MatchView, pitch: int) -> Line:
        if not self.shows_evals:
            return ()
        return ((" " + (" " * (pitch - 1)).join(tenths(match)), "eval"),)

    def _clock_line(self) -> Line:
        match = self.match
        if match is None:
            return ()
        if match.trouble:
            return ((f" {match.trouble}", "alert"),)
        if match.is_stalled:
            return ((" stalled", "alert"),)
        if match.is_over:
            return ((f" {self._over_text(match)}, ply {match.ply}", "title"),)
        spans: list[tuple[str, str]] = []
        for player, style in enumerate(("first", "second")):
            left = match.remaining_ms(player, self._now)
            mark = "*" if match.to_move == player else " "
            is_low = left is not None and left < LOW_MS
            clock = "" if left is None else _clock(left)
            spans += [(mark, "title"), (self.glyphs.players[player], style)]
            spans += [(f"{clock:>5}", "alert" if is_low else ""), ("!" if is_low else " ", "alert")]
        return tuple(spans)

    def _over_text(self, match: MatchView) -> str:
        if match.outcome in ("draw", "void"):
            return match.outcome
        return f"{self.glyphs.players[match.outcome == 'second']} wins"


def _clock(milliseconds: int) -> str:
    """Format a clock in at most 5 characters."""
    minutes = milliseconds // 60_000
    return clock_text(milliseconds) if minutes < _HOUR else f"{minutes // _HOUR}h{minutes % _HOUR:02}"
