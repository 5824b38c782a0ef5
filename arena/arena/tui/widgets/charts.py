"""Charts that are readable without colour: evaluations by ply, lines over time, ratings with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from typing_extensions import override

from arena.results.names import shortened
from arena.tui.text import left, merge, right
from arena.tui.widgets.panel import NOTE_EDGES, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.live.replay_views import Replay
    from arena.live.table_views import Point, Series, StandingRow
    from arena.tui.text import Line

_AXIS = 5
"""Width of the axis labels at the left edge, in cells."""
_LABEL = 9
"""Width of the names at the right edge in cells, including the glyph."""
_MARKED = 2
"""Width of the glyph before a name, in cells."""
_TICK = 4
"""Number of plies from one label of the axis to the next."""
_SMALL, _TINY = 0.1, 0.01
"""Axis ranges below which two decimals and three decimals are too few."""
_WHOLE = 10
"""Minimum range of an axis whose labels are whole numbers."""


class EvalChart(Panel, can_focus=True):
    """The evaluation of each ply's mover, drawn as the mover's glyph, and the curve of a judge."""

    HELP = (
        "The first player's chance to win by ply; each glyph is the evaluation of that ply's mover, * that of"
        " the judge. The loss by a mistake is shaded."
    )
    DEFAULT_CSS = """
    EvalChart { height: 8; width: 21; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__(id=id, classes=classes)
        self._evals: Sequence[float | None] = ()
        self._players: Sequence[int] = ()
        self._ply = 0
        self._judged: Sequence[float | None] = ()
        self._losses: Mapping[int, float] = {}
        self._judge = ""

    def show(self, replay: Replay, ply: int) -> None:
        """Show the evaluations of all plies of a match, with `ply` marked."""
        moves = replay.at(replay.num_plies).moves
        self._evals, self._players, self._ply = replay.evals, [move.player for move in moves], ply
        self._judged = replay.judged
        self._losses = {
            index: after
            for index, mark in enumerate(replay.marks)
            if mark in ("?", "??") and (after := replay.eval_at(index + 1)) is not None
        }
        self.title = f"eval ({self.glyphs.players[0]} wins)"
        self._judge = replay.recorded.judge
        self.repaint()

    @override
    def body(self, width: int, height: int) -> list[Line]:
        self.note = _judge_note(self._judge, width - NOTE_EDGES)
        rows, columns = height - 1, width - _AXIS
        if rows < 2 or columns < 1:  # noqa: PLR2004 # 0 % and 100 %
            return []
        start = self._first_ply(columns)
        characters = [[" "] * columns for _ in range(rows)]
        styles = [[""] * columns for _ in range(rows)]
        for column in range(min(columns, len(self._evals) - start)):
            for row, glyph, style in self._cells(start + column, rows):
                characters[row][column] = glyph
                styles[row][column] = style
        lines: list[Line] = []
        for row in range(rows):
            percent = 100 - round(100 * row / (rows - 1))
            lines.append(
                (
                    (f"{percent:>3}%{self.glyphs.light.side}", "dim"),
                    *merge(characters[row], styles[row]),
                )
            )
        return [*lines, self._axis_line(start, columns)]

    def _cells(self, index: int, rows: int) -> list[tuple[int, str, str]]:
        """Return row, glyph and style of the cells above a ply; later ones cover earlier ones."""

        def row(percent: float) -> int:
            return round((100 - percent) / 100 * (rows - 1))

        cells: list[tuple[int, str, str]] = []
        judged = self._judged[index]
        after = self._losses.get(index)
        if judged is not None and after is not None:
            low, high = sorted((row(judged), row(after)))
            cells += [(place, self.glyphs.bar[1], "alert") for place in range(low, high + 1)]
        if judged is not None:
            cells.append((row(judged), "*", "eval"))
        said = self._evals[index]
        if said is not None:
            player = self._players[index]
            cells.append((row(said), self.glyphs.players[player], ("first", "second")[player]))
        return cells

    def _first_ply(self, columns: int) -> int:
        """Return the index of the first visible ply, such that the current one is visible."""
        excess = len(self._evals) - columns
        return 0 if excess <= 0 else min(max(0, self._ply - columns // 2), excess)

    def _axis_line(self, start: int, columns: int) -> Line:
        text = [" "] * columns
        styles = ["dim"] * columns
        looked_at = self._ply - start - 1
        for ply in range(start + 1, min(len(self._evals), start + columns) + 1):
            place, label = ply - start - 1, str(ply)
            hides = place < looked_at < place + len(label)
            if (ply - 1) % _TICK == 0 and place + len(label) <= columns and not hides:
                text[place : place + len(label)] = label
        if 0 <= looked_at < columns:
            styles[looked_at] = "cursor"
            text[looked_at] = "^" if text[looked_at] == " " else text[looked_at]
        return (("ply  ", "dim"), *merge(text, styles))


def _judge_note(judge: str, width: int) -> str:
    """Return the glyph and the name of the judge; a shorter name, never a cut one, if it does not fit."""
    if not judge:
        return ""
    room = width - _MARKED
    return f"* {judge if cell_len(judge) <= room else shortened([judge], room)[0]}"


class LineChart(Panel, can_focus=True):
    """Lines over a common axis; each has its own glyph, and its name at its end."""

    HELP = "Lines over time; each has its own glyph, which its name at the right repeats."
    DEFAULT_CSS = """
    LineChart { height: 12; }
    """

    def __init__(
        self,
        title: str = "",
        *,
        axis: str = "",
        label: int = _LABEL,
        id: str | None = None,  # noqa: A002 # as in Textual
        classes: str | None = None,
    ) -> None:
        super().__init__(title, id=id, classes=classes)
        self._series: Sequence[Series] = ()
        self._nothing = "nothing to show yet"
        self._names: Sequence[str] = ()
        self._axis = axis
        self._label = label

    def show(self, series: Sequence[Series], *, nothing: str = "", axis: str | None = None) -> None:
        """Show other lines, at most as many as there are glyphs.

        Args:
            series: the lines.
            nothing: text if there are no lines.
            axis: name of the common axis; None keeps the previous one.
        """
        self._axis = self._axis if axis is None else axis
        self._nothing = nothing or "nothing to show yet"
        self._series = [line for line in series if line.points][: len(self.glyphs.series)]
        # The right edge has a blank, a glyph and another blank before the name.
        self._names = shortened([line.name for line in self._series], self._label - _MARKED)
        self.repaint()

    @override
    def body(self, width: int, height: int) -> list[Line]:
        rows, columns = height - 2, width - _AXIS - 2 - self._label
        if rows < 2 or columns < _LABEL:  # noqa: PLR2004 # lowest and highest
            return []
        if not self._series:
            return [((f" {self._nothing}", "dim"),)]
        frame = _Frame([point for line in self._series for point in line.points], columns, rows)
        plot = [[" "] * columns for _ in range(rows)]
        names = [""] * rows
        for glyph, line, name in zip(self.glyphs.series, self._series, self._names, strict=False):
            for column, row in frame.cells(line):
                plot[row][column] = glyph
            _place_name(names, frame.row(line.points[-1].y), f"{glyph} {name}")
        lines: list[Line] = [
            (
                (frame.label(row) + self.glyphs.light.side, "dim"),
                ("".join(plot[row]), "eval"),
                (" " + left(names[row], self._label), ""),
            )
            for row in range(rows)
        ]
        return [*lines, *frame.axis(self._axis, self.glyphs.light.top)]


class _Frame:
    """Maps values to cells."""

    def __init__(self, points: Sequence[Point], columns: int, rows: int) -> None:
        self._x_min, self._x_max = min(point.x for point in points), max(point.x for point in points)
        y_min, y_max = min(point.y for point in points), max(point.y for point in points)
        spare = 0.0 if y_max > y_min else max(1.0, abs(y_max)) / 2
        self._y_min, self._y_max = y_min - spare, y_max + spare
        self._columns, self._rows = columns, rows

    def column(self, x: float) -> int:
        span = self._x_max - self._x_min
        return round((x - self._x_min) / span * (self._columns - 1)) if span > 0 else 0

    def row(self, y: float) -> int:
        return round((self._y_max - y) / (self._y_max - self._y_min) * (self._rows - 1))

    def cells(self, line: Series) -> list[tuple[int, int]]:
        """Return one cell per column from the first to the last point, by linear interpolation."""
        cells: list[tuple[int, int]] = []
        for one, two in zip(line.points, (*line.points[1:], line.points[-1]), strict=True):
            begin, end = self.column(one.x), self.column(two.x)
            for column in range(begin, end + 1):
                part = (column - begin) / (end - begin) if end > begin else 0.0
                cells.append((column, self.row(one.y + part * (two.y - one.y))))
        return cells

    def label(self, row: int) -> str:
        """Return the label of a row; every second row has none."""
        if row % 2 and row != self._rows - 1:
            return " " * _AXIS
        value = self._y_max - (self._y_max - self._y_min) * row / (self._rows - 1)
        return right(_number(value, self._y_max - self._y_min), _AXIS)

    def axis(self, name: str, line: str) -> list[Line]:
        ends = self._x_min, self._x_max
        # Numbers of matches are shown without decimals, even in a small range.
        span = _WHOLE if all(float(end).is_integer() for end in ends) else ends[1] - ends[0]
        low, high = (_number(end, span) for end in ends)
        gap = max(1, self._columns - len(low) - len(high))
        return [
            ((" " * _AXIS + "+" + line * self._columns, "dim"),),
            ((f"{left(name, _AXIS)} {low}{' ' * gap}{high}", "dim"),),
        ]


def _number(value: float, span: float) -> str:
    """Format a number of an axis in at most five cells, if possible with enough digits to tell ends apart."""
    if abs(value) < _TINY and span < _TINY:
        text = f"{value:.0e}".replace("e-0", "e-")
        # A negative number below 1e-9 is 0 on any axis that has room for nothing smaller.
        return text if len(text) <= _AXIS and value else "0"
    most = 0 if span >= _WHOLE else 2 if span >= _SMALL else 3
    texts = (f"{value:.{decimals}f}" for decimals in range(most, -1, -1))
    exponent = f"{value:.0e}".replace("e+0", "e").replace("e+", "e")
    # Decimals that do not fit are rounded away: a number that is cut would be another number.
    return next((text for text in texts if len(text) <= _AXIS), exponent)


def _place_name(names: list[str], row: int, name: str) -> None:
    """Put a name in the nearest free row."""
    free = [place for place, taken in enumerate(names) if not taken]
    if free:
        names[min(free, key=lambda place: abs(place - row))] = name


class RatingPlot(Panel, can_focus=True):
    """A plot with a line for each bot: its Elo and its 95 % interval, on a common scale."""

    HELP = (
        "Elo with the 95 % interval of each bot on one scale; where intervals overlap, order is not settled."
    )
    DEFAULT_CSS = """
    RatingPlot { height: 10; }
    """

    def __init__(
        self,
        title: str = "ratings (Elo, 95 %)",
        *,
        id: str | None = None,  # noqa: A002 # as in Textual
        classes: str | None = None,
    ) -> None:
        super().__init__(title, id=id, classes=classes)
        self._rows: Sequence[StandingRow] = ()

    def show(self, rows: Sequence[StandingRow]) -> None:
        """Show other ratings, best first."""
        self._rows = rows
        self.repaint()

    @override
    def body(self, width: int, height: int) -> list[Line]:
        rows = self._rows[: max(0, height - 1)]
        names = max((cell_len(row.label) for row in rows), default=0)
        numbers = max((len(_elo(row)) for row in rows), default=0)
        named = names + numbers + 3
        plot = width - named
        if not rows or plot < _LABEL:
            return []
        low = min(row.elo - (row.error or 0.0) for row in rows)
        high = max(row.elo + (row.error or 0.0) for row in rows)
        heads = [(f" {left(row.label, names)} ", f"{right(_elo(row), numbers)} ") for row in rows]
        lines = [
            ((name, ""), (elo, "title"), (self._interval(row, low, high, plot), "eval"))
            for (name, elo), row in zip(heads, rows, strict=True)
        ]
        gap = max(1, plot - len(f"{low:.0f}") - len(f"{high:.0f}"))
        return [*lines, ((f"{'':{named}}{low:.0f}{' ' * gap}{high:.0f}", "dim"),)]

    def _interval(self, row: StandingRow, low: float, high: float, width: int) -> str:
        def place(elo: float) -> int:
            return round((elo - low) / (high - low) * (width - 1)) if high > low else 0

        error = row.error or 0.0
        begin, middle, end = place(row.elo - error), place(row.elo), place(row.elo + error)
        opening, line, centre, closing = self.glyphs.interval
        cells = [" "] * width
        cells[begin : end + 1] = [line] * (end - begin + 1)
        cells[begin], cells[end], cells[middle] = opening, closing, centre
        return "".join(cells)


def _elo(row: StandingRow) -> str:
    return f"{row.elo:.0f}{'?' if row.rests_on_prior else ''}"
