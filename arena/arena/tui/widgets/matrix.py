"""The crosstable as a matrix with a shade beside each number, so that it reads at a glance, colour or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message
from typing_extensions import override

from arena.live.tables import MatrixView
from arena.tui.text import left, right
from arena.tui.widgets.panel import Panel

if TYPE_CHECKING:
    from textual import events

    from arena.live.tables import MatrixCell
    from arena.tui.text import Line, Span

Mode = Literal["score", "wdl", "elo"]
MODES: tuple[Mode, ...] = ("score", "wdl", "elo")
_WIDTHS = {"score": 6, "wdl": 11, "elo": 6}
_QUARTERS = 4


class Matrix(Panel, can_focus=True):
    """Row against column: score in percent, wins-draws-losses, or Elo difference."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1,0)", "Up", show=False, id="matrix.up"),
        Binding("down,j", "move(1,0)", "Down", show=False, id="matrix.down"),
        Binding("left,h", "move(0,-1)", "Left", show=False, id="matrix.left"),
        Binding("right,l", "move(0,1)", "Right", show=False, id="matrix.right"),
        Binding("enter", "select", "Head to head", id="matrix.select"),
        Binding("c", "next_mode", "Score/WDL/Elo", id="matrix.mode"),
    ]
    HELP = (
        "What the bot of a row scores against that of a column, in percent; the sign beside it repeats the"
        " number as a shade. Columns are headed by the places of their bots in the standings. Arrows move,"
        " enter shows the two bots of a cell head to head, c changes what cells show."
    )
    DEFAULT_CSS = """
    Matrix { height: auto; }
    """

    class Selected(Message):
        """Two bots are to be shown head to head."""

        def __init__(self, row: int, column: int) -> None:
            super().__init__()
            self.row = row
            self.column = column

    class Moved(Selected):
        """The cursor came to a cell."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__("matrix", id=id, classes=classes)
        self._view = MatrixView()
        self.mode: Mode = "score"
        """What cells show."""
        self._row = self._column = 0

    def show(self, view: MatrixView) -> None:
        """Show another crosstable."""
        is_larger = len(view.labels) != len(self._view.labels)
        self._view = view
        self._row = min(self._row, max(0, len(view.labels) - 1))
        self._column = min(self._column, max(0, len(view.labels) - 1))
        self.refresh(layout=is_larger)
        self.repaint()

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column of the cursor."""
        return self._row, self._column

    @override
    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self._view.labels) + 3

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        what = {"score": "score %", "wdl": "W-D-L", "elo": "Elo difference"}[self.mode]
        self.title = f"matrix  (row {what} v column, {self._view.games_text})"
        self.note = self.describe(self._row, self._column) if self.has_focus else ""
        return super().draw(width, height)

    @override
    def body(self, width: int, height: int) -> list[Line]:
        labels = self._view.labels
        if not labels:
            return [((f" {self._view.doing or 'nobody has met yet'}", "dim"),)]
        cell_width = self._cell_width
        rows, columns = self._shown(width, height)
        heads = "".join(right(self._rank(column), cell_width - 1) + " " for column in columns)
        lines: list[Line] = [((" " * self._head + heads, "dim"),)]
        for row in rows:
            cells = tuple(self._cell(row, column, cell_width) for column in columns)
            name = f" {right(self._rank(row), self._rank_width)} {labels[row]}"
            lines.append(((left(name, self._head), ""), *cells))
        return lines

    def _rank(self, place: int) -> str:
        """Return the number that heads a column and stands before the label of its row."""
        return self._view.ranks[place]

    @property
    def _rank_width(self) -> int:
        return max((len(self._rank(place)) for place in range(len(self._view.labels))), default=1)

    @property
    def _head(self) -> int:
        """Cells of ranks and labels at the left; none of these is cut."""
        return self._rank_width + 3 + max(map(cell_len, self._view.labels), default=0)

    @property
    def _cell_width(self) -> int:
        """Cells of a column, so many that every number is whole."""
        texts = (self._cell_text(cell) for row in self._view.cells for cell in row if cell is not None)
        return max(_WIDTHS[self.mode], self._rank_width + 2, 1 + max(map(cell_len, texts), default=0))

    def _shown(self, width: int, height: int) -> tuple[range, range]:
        """Return the rows and columns that fit, those of the cursor among them."""
        total = len(self._view.labels)
        columns = _window(self._column, total, max(1, (width - self._head) // self._cell_width))
        return _window(self._row, total, max(1, height - 1)), columns

    def describe(self, row: int, column: int) -> str:
        """Say a cell in words, with what moving first was worth."""
        if row == column or max(row, column) >= len(self._view.labels):
            return ""
        who = f"{self._view.labels[row]} v {self._view.labels[column]}"
        cell = self._view.cells[row][column]
        if cell is None or cell.score is None:
            return f"{who}: never met"
        text = f"{who}: {100 * cell.score:.0f}% of {cell.games}, {cell.wins}-{cell.draws}-{cell.losses}"
        if cell.first_score is not None:
            text += f", first {100 * cell.first_score:.0f}%"
        if cell.second_score is not None:
            text += f", second {100 * cell.second_score:.0f}%"
        return text

    def _cell(self, row: int, column: int, width: int) -> Span:
        cell = self._view.cells[row][column]
        text = "-- " if row == column else "  " if cell is None else self._cell_text(cell)
        style = "cursor" if self.has_focus and (row, column) == (self._row, self._column) else ""
        return (right(text, width), style or ("dim" if row == column else ""))

    def _cell_text(self, cell: MatrixCell) -> str:
        if cell.score is None:
            return "- "
        shade = self.glyphs.shades[min(_QUARTERS - 1, int(cell.score * _QUARTERS))]
        if self.mode == "wdl":
            return f"{cell.wins}-{cell.draws}-{cell.losses}{shade}"
        if self.mode == "elo":
            return ("?" if cell.elo is None else f"{cell.elo:+z.0f}") + shade
        return f"{100 * cell.score:.0f}{shade}"

    def action_move(self, rows: int, columns: int) -> None:
        """Move the cursor."""
        last = max(0, len(self._view.labels) - 1)
        self._row = min(max(0, self._row + rows), last)
        self._column = min(max(0, self._column + columns), last)
        self._tell()

    def _tell(self) -> None:
        self.post_message(self.Moved(self._row, self._column))
        self.repaint()

    def action_select(self) -> None:
        """Ask for the two bots of the cell."""
        if self._row != self._column:
            self.post_message(self.Selected(self._row, self._column))

    def action_next_mode(self) -> None:
        """Show the next kind of number."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]
        self.repaint()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the cell; a second click opens it."""
        x, y = self.inner(event.x, event.y)
        rows, columns = self._shown(self.size.width - 2, self.size.height - 2)
        head = self._head
        column = (x - head) // self._cell_width
        if x >= head and 0 <= column < len(columns) and 1 <= y <= len(rows):
            event.stop()
            self._row, self._column = rows[y - 1], columns[column]
            self._tell()
            if event.chain > 1:
                self.action_select()


def _window(cursor: int, total: int, size: int) -> range:
    """Give the indices that are shown, the cursor among them."""
    start = min(max(0, cursor - size + 1), max(0, total - size))
    return range(start, min(total, start + size))
