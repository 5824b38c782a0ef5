"""The encounters of a tournament: the crosstable as a matrix, and the bracket of a knockout as a list."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Literal

from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size
from textual.binding import Binding, BindingType
from textual.message import Message
from typing_extensions import override

from arena.live.table_views import MatrixView
from arena.results.brackets import BracketRow, TieText, tie_texts
from arena.tui.text import left, right, safe
from arena.tui.widgets.panel import Panel
from arena.tui.widgets.row_list import LIST_BINDINGS, RowList

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual import events

    from arena.live.table_views import MatrixCell
    from arena.tui.text import Line, Span

Mode = Literal["score", "wdl", "elo"]
MODES: tuple[Mode, ...] = ("score", "wdl", "elo")
_WIDTHS = {"score": 6, "wdl": 11, "elo": 6}
_QUARTERS = 4
"""Number of shades of a score."""


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
        "The score of a row's bot against a column's bot, in percent; the sign beside it repeats the number"
        " as a shade. Columns are headed by the places of their bots in the standings. Arrows move, enter"
        " shows the two bots of a cell head to head, c changes the content of cells."
    )
    DEFAULT_CSS = """
    Matrix { height: auto; }
    """

    class Selected(Message):
        """The user asked to see two bots head to head."""

        def __init__(self, row: int, column: int) -> None:
            super().__init__()
            self.row = row
            self.column = column

    class Moved(Selected):
        """The cursor moved to a cell."""

    class Changed(Message):
        """The content of cells has changed."""

        def __init__(self, mode: Mode) -> None:
            super().__init__()
            self.mode: Mode = mode

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__("matrix", id=id, classes=classes)
        # Until the first crosstable is shown, it is not known whether there are matches.
        self._view = MatrixView(doing="reading results ...")
        self._widths: dict[tuple[Mode, bool], int] = {}
        """Column widths of the current crosstable, by content, without and with numbers of matches."""
        self.mode: Mode = "score"
        """The content of cells."""
        self._row = self._column = 0

    def show(self, view: MatrixView) -> None:
        """Show another crosstable; the cursor stays on its two bots, unless it is in the top left cell."""
        is_larger = len(view.labels) != len(self._view.labels)
        before = self._view.names
        self._view = view
        self._widths.clear()
        # The order is that of the ratings and may change; enter must open the encounter that was chosen.
        if self._row or self._column:
            self._row = self._place_in(view, self._row, before)
            self._column = self._place_in(view, self._column, before)
        self._row = min(self._row, max(0, len(view.labels) - 1))
        self._column = min(self._column, max(0, len(view.labels) - 1))
        self.refresh(layout=is_larger)
        self.repaint()

    @staticmethod
    def _place_in(view: MatrixView, place: int, names: Sequence[str]) -> int:
        """Return the place in a crosstable of the bot at `place` in `names`; `place` if it is missing."""
        found = [other for other, name in enumerate(view.names) if name == names[place]]
        return min(found, key=lambda other: abs(other - place), default=place)

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
        games = f", {self._view.games_text}" if self._view.labels else ""
        self.title = f"matrix  (row {what} v column{games})"
        self.note = self.describe(self._row, self._column) if self.has_focus else ""
        return super().draw(width, height)

    @override
    def body(self, width: int, height: int) -> list[Line]:
        labels = self._view.labels
        if not labels:
            return [((f" {self._view.doing or 'no matches yet'}", "dim"),)]
        cell_width = self._cell_width(width)
        has_count = self._has_counts(width)
        rows, columns = self._shown(width, height)
        heads = "".join(right(self._rank(column), cell_width - 1) + " " for column in columns)
        lines: list[Line] = [((" " * self._head + heads, "dim"),)]
        for row in rows:
            cells = tuple(self._cell(row, column, cell_width, has_count=has_count) for column in columns)
            name = f" {right(self._rank(row), self._rank_width)} {labels[row]}"
            lines.append(((left(name, self._head), ""), *cells))
        return lines

    def _rank(self, place: int) -> str:
        """Return the rank that heads a column and precedes the label of its row."""
        return self._view.ranks[place]

    @property
    def _rank_width(self) -> int:
        return max((len(self._rank(place)) for place in range(len(self._view.labels))), default=1)

    @property
    def _head(self) -> int:
        """Width of ranks and labels at the left in cells; none of them is cut."""
        return self._rank_width + 3 + max(map(cell_len, self._view.labels), default=0)

    def _cell_width(self, width: int) -> int:
        """Return the width of a column in a matrix `width` cells wide, such that no number is cut."""
        return self._text_width(has_count=self._has_counts(width))

    def _text_width(self, *, has_count: bool) -> int:
        key = self.mode, has_count
        if key not in self._widths:
            texts = (
                self._cell_text(cell, has_count=has_count)
                for row in self._view.cells
                for cell in row
                if cell is not None
            )
            widest = 1 + max(map(cell_len, texts), default=0)
            self._widths[key] = max(_WIDTHS[self.mode], self._rank_width + 2, widest)
        return self._widths[key]

    def _has_counts(self, width: int) -> bool:
        """Return whether cells include the number of matches, which they do if all columns still fit."""
        if self.mode == "wdl":
            return False
        return len(self._view.labels) * self._text_width(has_count=True) <= width - self._head

    def _shown(self, width: int, height: int) -> tuple[range, range]:
        """Return the visible rows and columns, which include those of the cursor."""
        total = len(self._view.labels)
        columns = _window(self._column, total, max(1, (width - self._head) // self._cell_width(width)))
        return _window(self._row, total, max(1, height - 1)), columns

    def describe(self, row: int, column: int) -> str:
        """Describe a cell in words, with the scores of moving first and second."""
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

    def _cell(self, row: int, column: int, width: int, *, has_count: bool) -> Span:
        cell = self._view.cells[row][column]
        text = (
            "-- " if row == column else "  " if cell is None else self._cell_text(cell, has_count=has_count)
        )
        style = "cursor" if self.has_focus and (row, column) == (self._row, self._column) else ""
        return (right(text, width), style or ("dim" if row == column else ""))

    def _cell_text(self, cell: MatrixCell, *, has_count: bool) -> str:
        if cell.score is None:
            return "- "
        shade = self.glyphs.shades[min(_QUARTERS - 1, int(cell.score * _QUARTERS))]
        if self.mode == "wdl":
            return f"{cell.wins}-{cell.draws}-{cell.losses}{shade}"
        count = f" n{cell.games}" if has_count else ""
        if self.mode == "elo":
            return ("?" if cell.elo is None else f"{cell.elo:+z.0f}") + shade + count
        return f"{100 * cell.score:.0f}{shade}{count}"

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
        """Request the head-to-head of the cell."""
        if self._row != self._column:
            self.post_message(self.Selected(self._row, self._column))

    def action_next_mode(self) -> None:
        """Show the next kind of number."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]
        self.post_message(self.Changed(self.mode))
        self.repaint()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the cell; a second click opens it."""
        x, y = self.inner(event.x, event.y)
        rows, columns = self._shown(self.size.width - 2, self.size.height - 2)
        head = self._head
        column = (x - head) // self._cell_width(self.size.width - 2)
        if x >= head and 0 <= column < len(columns) and 1 <= y <= len(rows):
            event.stop()
            self._row, self._column = rows[y - 1], columns[column]
            self._tell()
            if event.chain > 1:
                self.action_select()


def _window(cursor: int, total: int, size: int) -> range:
    """Return the visible indices, which include the cursor."""
    start = min(max(0, cursor - size + 1), max(0, total - size))
    return range(start, min(total, start + size))


_SCORE = 13
"""Width of the score, in cells."""
_LEAST_NAME = 8
"""Minimum width of a name, in cells."""
_REMARK = 24
"""Width in cells that remarks get before names get more than their minimum."""


class BracketList(RowList):
    """Encounters with score, winner and reason; the cursor moves from encounter to encounter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *LIST_BINDINGS,
        Binding("left_square_bracket", "round(-1)", "Round before", show=False, id="bracket.before"),
        Binding("right_square_bracket", "round(1)", "Round", key_display="[ ]", id="bracket.round"),
    ]
    HELP = (
        "A heading for each round, a line for each encounter: a star marks the bot that advances, a remark"
        " after the score explains it. Byes are left out. [ and ] go to other rounds, enter opens the matches"
        " of both bots."
    )

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__("bracket", id=id, classes=classes)
        self._items: list[str | TieText] = []
        """Headings and encounters, in display order."""
        self._short: dict[str, TieText] = {}
        """Encounters by name, with the labels of bots instead of their names."""

    def show(self, rows: Sequence[BracketRow], title: str, labels: Mapping[str, str]) -> None:
        """Show a bracket; the cursor stays on its encounter, and starts at the first undecided one.

        Args:
            rows: the encounters of the bracket.
            title: title of the panel.
            labels: labels of bots, by name: shown if the names do not fit.
        """
        shorter = [labelled(row, labels) for row in rows]
        self._short = {text.row.encounter: text for text in tie_texts(shorter)}
        before = "" if self.current is None else self.current.row.encounter
        items: list[str | TieText] = []
        for name, group in groupby(tie_texts(rows), key=lambda text: text.row.round):
            items += [name, *group]
        self._items, self.title = items, title
        found = [
            place
            for place, item in enumerate(items)
            if isinstance(item, TieText)
            and (item.row.state != "decided" if not before else item.row.encounter == before)
        ]
        self.go_to(found[0] if found else len(items) - 1, tell=False)

    @property
    @override
    def num_rows(self) -> int:
        return len(self._items)

    @property
    def current(self) -> TieText | None:
        """The encounter at the cursor; None if there is none."""
        item = self._items[self.cursor] if self._items else None
        return item if isinstance(item, TieText) else None

    @override
    def go_to(self, row: int, *, tell: bool = True) -> None:
        row = min(max(0, row), len(self._items) - 1)
        step = -1 if row < self.cursor else 1
        while 0 <= row < len(self._items) and isinstance(self._items[row], str):
            row += step
        if row < 0:
            # The first line is a heading; it is shown together with the first encounter.
            row, self._first = 1, 0
        super().go_to(row, tell=tell)

    @override
    def body(self, width: int, height: int) -> list[Line]:
        if not self._items:
            return [((" nothing is drawn yet", "dim"),)]
        if self.cursor <= 1:
            self._first = 0
        return super().body(width, height)

    @override
    def row_line(self, row: int, width: int) -> Line:
        item = self._items[row]
        if isinstance(item, str):
            return ((f" {item}", "title"),)
        names = self._name_width(width)
        if names < self._longest_name():
            # A cut name could be mistaken for another one; a label is unique and the same on all screens.
            item = self._short[item.row.encounter]
            names = self._name_width(width, tuple(self._short.values()))
        style = "dim" if item.row.state == "waiting" else ""
        first, second = (
            (left(safe(name), names), "title" if winner is not None and winner == item.row.winner else style)
            for name, winner in ((item.first, item.row.first), (item.second, item.row.second))
        )
        room = max(0, width - 2 * names - _SCORE - 7)
        remark = safe(item.remark)
        if cell_len(remark) > room:
            # The whole sentence is shown below the list.
            remark = set_cell_size(remark, max(0, room - 2)) + ".."
        return (("   ", ""), first, (f" {item.score} ", style), second, (f"  {remark}", style))

    def _longest_name(self) -> int:
        return _longest([item for item in self._items if isinstance(item, TieText)])

    def _name_width(self, width: int, shown: Sequence[TieText] = ()) -> int:
        """Return the width of a name in cells: that of the longest, if the remarks keep some room."""
        ties = shown or [item for item in self._items if isinstance(item, TieText)]
        remark = min(_REMARK, max((cell_len(tie.remark) for tie in ties), default=0))
        room = (width - 3 - _SCORE - 4 - remark) // 2
        return min(_longest(ties), max(_LEAST_NAME, room))

    def action_round(self, step: int) -> None:
        """Move the cursor to the first encounter of the next or previous round."""
        heads = [place for place, item in enumerate(self._items) if isinstance(item, str)]
        at = sum(place < self.cursor for place in heads) - 1
        if heads:
            self.go_to(heads[min(max(0, at + step), len(heads) - 1)] + 1)


def labelled(row: BracketRow, labels: Mapping[str, str]) -> BracketRow:
    """Return an encounter with the labels of its bots instead of their names, if they have labels."""
    names = {
        name: None if name is None else labels.get(name, name) for name in (row.first, row.second, row.winner)
    }
    return replace(row, first=names[row.first], second=names[row.second], winner=names[row.winner])


def _longest(ties: Sequence[TieText]) -> int:
    return max((cell_len(safe(name)) for tie in ties for name in (tie.first, tie.second)), default=0)
