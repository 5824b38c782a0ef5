"""Bars: the evaluations of a match, and the progress of a tournament."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from typing_extensions import override

from arena.live.plain import duration_text
from arena.live.views import ProgressView
from arena.naming import count_text
from arena.tui.text import join, left, shorten
from arena.tui.widgets.panel import Panel

if TYPE_CHECKING:
    from arena.live.views import MatchView
    from arena.tui.glyphs import Glyphs
    from arena.tui.text import Line

_MAX_BAR = 40
"""Maximum width of a bar, in cells."""
_MARK = 2
"""Width of a heading's mark and edge, in cells."""


def bar(share: float, width: int, glyphs: Glyphs) -> Line:
    """Draw a share, 0 to 1, in `width` cells including the brackets."""
    inner = max(0, width - 2)
    done = round(min(1.0, max(0.0, share)) * inner)
    return (
        ("[", "border"),
        (glyphs.bar[0] * done, "eval"),
        (glyphs.bar[1] * (inner - done), "dim"),
        ("]", "border"),
    )


class EvalStrip(Panel):
    """The evaluations of both bots: `X az    71%  [#######---]`; percent are for the first player."""

    HELP = "The last evaluation of each bot, as the first player's chance to win; absent if it gave none."
    DEFAULT_CSS = """
    EvalStrip { height: 4; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__(id=id, classes=classes)
        self._match: MatchView | None = None

    def show(self, match: MatchView | None) -> None:
        """Show the evaluations of a match."""
        before, self._match = self._match, match
        self.title = f"eval ({self.glyphs.players[0]} wins)"
        if match is not before:
            self.repaint()

    @override
    def body(self, width: int, height: int) -> list[Line]:
        return [] if self._match is None else eval_lines(self._match, width, self.glyphs)


def eval_lines(match: MatchView, width: int, glyphs: Glyphs) -> list[Line]:
    """Draw the evaluations of both bots, a line each."""
    lines: list[Line] = []
    names = max(cell_len(seat.label) for seat in match.seats)
    for seat, glyph, style in zip(match.seats, glyphs.players, ("first", "second"), strict=True):
        name = left(seat.label, names)
        if seat.eval is None:
            lines.append(join(((f" {glyph}", style),), f" {name}   -"))
        else:
            share = bar(seat.eval / 100, min(_MAX_BAR, width - names - 10), glyphs)
            lines.append(join(((f" {glyph}", style),), f" {name} {seat.eval:3.0f}%  ", share))
    return lines


class ProgressPanel(Panel):
    """The progress of a tournament, its rate, and its remaining time."""

    HELP = (
        "Finished matches, of all; matches per minute; remaining time. The number of matches of a knockout"
        " is not known beforehand: its bar shows the decided encounters, of all."
    )
    DEFAULT_CSS = """
    ProgressPanel { height: 5; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__(id=id, classes=classes)
        self._progress = ProgressView()
        self._encounters: tuple[int, int] | None = None
        self._is_awaited = False

    def show(
        self,
        progress: ProgressView,
        encounters: tuple[int, int] | None = None,
        *,
        is_awaited: bool = False,
    ) -> None:
        """Show the progress of a tournament.

        Args:
            progress: the progress of its matches.
            encounters: for a knockout, the number of decided encounters and of all; else None.
            is_awaited: whether the progress has still to be read.
        """
        before = self._progress, self._encounters, self._is_awaited
        self._progress, self._encounters, self._is_awaited = progress, encounters, is_awaited
        if progress is not before[0] or (encounters, is_awaited) != before[1:]:
            self.repaint()

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        self.title = "progress"
        if not self.has_frame and not self._is_awaited:
            progress = self._progress
            count = count_text(progress.done, progress.planned)
            percent = _percent(progress, "   ")
            # Words are shortened before any digit is cut.
            self.title = _fitting(
                width - _MARK, f"progress   {count}{percent}", f"progress {count}", f"{count}{percent}", count
            )
        return super().draw(width, height)

    @override
    def body(self, width: int, height: int) -> list[Line]:
        if self._is_awaited:
            return [((" loading ...", "dim"),)]
        lines = progress_lines(self._progress, width, self.glyphs, self._encounters)
        return lines if self.has_frame else lines[-2:]


def progress_lines(
    progress: ProgressView, width: int, glyphs: Glyphs, encounters: tuple[int, int] | None = None
) -> list[Line]:
    """Draw three lines: count and percent, a bar, rate and remaining time.

    If the number of matches is not known, the bar shows encounters; without these the goal is shown as text,
    since an empty bar would mean that nothing is done.
    """
    if progress.planned == 0:
        return [((" nothing is planned yet", "dim"),)]
    count = f" {count_text(progress.done, progress.planned)}"
    percent = f"{_percent(progress)} "
    gap = max(1, width - len(count) - len(percent))
    state = f"{progress.state.upper()} " if progress.state in ("preparing", "paused", "stopping") else ""
    rest = _fitting(width - 1 - len(state), *_rest(progress))
    return [
        ((count + " " * gap + percent, "title"),),
        _way(progress, width, glyphs, encounters),
        join(" ", ((state, "alert"),), rest),
    ]


def _way(progress: ProgressView, width: int, glyphs: Glyphs, encounters: tuple[int, int] | None) -> Line:
    """Draw the progress: a bar, or the goal as text."""
    if progress.planned is not None:
        return join(" ", bar(progress.at().share, min(_MAX_BAR, width - 2), glyphs))
    if encounters is None or not encounters[1]:
        return ((f" {shorten(progress.goal, width - 2)}", "dim"),)
    decided, num = encounters
    count = f" {count_text(decided, num)}"
    return join(" ", bar(decided / num, min(_MAX_BAR, width - 2 - len(count)), glyphs), count)


def _rest(progress: ProgressView) -> list[str]:
    """Return rate and remaining time, or the ending, from the longest text to the shortest."""
    if progress.state == "ended":
        return [progress.ending]
    if progress.rate is None:
        return ["" if progress.state == "stopping" else "rate unknown"]
    eta_s = progress.at().eta_s
    eta = "" if eta_s is None else f"ETA {duration_text(eta_s).replace(' ', '')}"
    rates = (f"{progress.rate:.1f} matches/min", f"{progress.rate:.1f}/min", f"{progress.rate:.0f}/min")
    return [*(f"{rate} {eta}".strip() for rate in rates), eta or rates[-1]]


def _fitting(width: int, *texts: str) -> str:
    """Return the first text that fits, else the last."""
    return next((text for text in texts if cell_len(text) <= width), texts[-1])


def _percent(progress: ProgressView, before: str = "") -> str:
    return "" if progress.planned is None else f"{before}{100 * progress.at().share:.0f}%"
