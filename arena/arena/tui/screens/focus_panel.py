"""One running match in full size: board, search, both evaluations, clocks."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from rich.cells import cell_len
from typing_extensions import override

from arena.live.plain import long_clock_text
from arena.tui.text import safe
from arena.tui.widgets.bars import EvalStrip
from arena.tui.widgets.blank_containers import BlankHorizontal, BlankVertical
from arena.tui.widgets.large_board import LargeBoard
from arena.tui.widgets.panel import LinesPanel

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from arena.live.views import MatchView
    from arena.tui.glyphs import Glyphs
    from arena.tui.text import Line

_MAX_PV = 8
"""Number of last moves that are shown."""
_FRAME = 2
"""Width of both sides of the panel's frame, in cells."""
_LEAST = 6
"""Minimum width of wrapped text, in cells."""


class FocusPanel(BlankHorizontal):
    """The focused match."""

    DEFAULT_CSS = """
    FocusPanel { height: 1fr; width: 1fr; }
    FocusPanel LargeBoard { height: 1fr; }
    FocusPanel EvalStrip { height: 4; }
    FocusPanel LinesPanel { height: 1fr; }
    FocusPanel > Vertical { width: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._board = LargeBoard()
        self._evals = EvalStrip()
        self._search = LinesPanel("search")

    @override
    def compose(self) -> ComposeResult:
        yield self._board
        with BlankVertical():
            yield self._evals
            yield self._search

    def show(self, match: MatchView | None, now: float) -> None:
        """Show a match at `now`, UTC seconds; None for no match."""
        board = self._board
        board.title, board.pair = (f"focus {match.address}", match.labels) if match else ("focus", None)
        board.short_title = "" if match is None else f"focus {match.short_address}"
        board.show(match, live=True)
        self._evals.show(match)
        self.tick(match, now)

    def tick(self, match: MatchView | None, now: float) -> None:
        """Update the clocks."""
        # Compute nothing if the terminal has no room for the panel.
        if self.size.area:
            width = self._search.size.width - _FRAME
            self._search.show(
                [] if match is None else search_lines(match, now, self._search.glyphs, width=width)
            )


def search_lines(match: MatchView, now: float, glyphs: Glyphs, *, width: int) -> list[Line]:
    """Return moves, clocks and the last search information of a match, each if known.

    Args:
        match: the match.
        now: UTC seconds.
        glyphs: glyphs of both players.
        width: cells of a line. The reason of the ending is wrapped; a name without room beside its clock
            is replaced by the bot's label.
    """
    texts = [f" moves {' '.join(move.text for move in match.moves[-_MAX_PV:])}"]
    if match.is_over:
        texts.append(f" {match.result} {match.end}")
        texts += wrap(safe(match.reason), max(_LEAST, width), initial_indent=" ", subsequent_indent=" ")
    elif match.is_stalled:
        texts.append(" stalled: not being played now")
    elif match.to_move in (0, 1):
        texts.append(f" {glyphs.players[match.to_move]} to move")
    for player, seat in enumerate(match.seats):
        mark, glyph = "*" if match.to_move == player else " ", glyphs.players[player]
        clock = match.remaining_ms(player, now)
        time = "" if clock is None else f"  clock {long_clock_text(clock)}"
        room = width - cell_len(f"{mark}{glyph} {time}")
        name = safe(seat.name if cell_len(seat.name) <= room else seat.label)
        texts.append(f"{mark}{glyph} {name}{time}")
    found = match.last_thoughts()
    if found is not None:
        player, thoughts = found
        facts = (("nodes", thoughts.nodes), ("depth", thoughts.depth))
        known = [f"{name} {value}" for name, value in facts if value is not None]
        if known:
            texts.append(f" {glyphs.players[player]} {'  '.join(known)}")
        if thoughts.text:
            texts.append(f" {thoughts.text}")
    if match.trouble:
        texts.append(f" {match.trouble}")
    return [((text, ""),) for text in texts]
