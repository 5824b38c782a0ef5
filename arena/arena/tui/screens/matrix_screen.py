"""Screen 4: every bot against every other; for a knockout, its bracket."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from typing_extensions import override

from arena.live.labels import fits_words
from arena.live.table_views import MatrixView
from arena.results.by_place import BracketPlace, EventTables
from arena.results.condition import word
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.opening import show_matches
from arena.tui.screens.page_screens import VersusScreen
from arena.tui.shell.screen import NAME_HINT, ArenaScreen
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.encounter_tables import BracketList, Matrix
from arena.tui.widgets.table import Col, ColumnTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from arena.live.table_views import MatrixCell
    from arena.results.brackets import BracketRow
    from arena.tui.text import Line
    from arena.tui.widgets.row_list import RowList
    from arena.watching.feed import Change, Model

_PLACES: Final = (
    Col("place", lambda row: "in" if row.place is None else str(row.place), 5, is_right=True),
    Col("bot", lambda row: row.name, 8, is_name=True),
)
_BRACKET: Final = "Bracket"
"""Name of the tab while it shows a bracket."""
_STATES: Final[Mapping[str, str]] = {
    "waiting": "waiting for earlier encounters",
    "open": "not decided yet",
    "level": "level, more matches are played",
    "decided": "decided",
    "not needed": "not needed",
}


class MatrixScreen(ArenaScreen):
    """The crosstable, or the bracket of a knockout."""

    NAME = "matrix"
    KEY = "4"
    LABEL = "Matrix"
    FILTER_HINT = NAME_HINT
    HELP = (
        "Each row against each column, best bots first. Enter shows the two bots of a cell head to head, o"
        " their matches; a filter keeps the bots whose names contain its words. A knockout has its bracket"
        " here: pairings, who advances and why; enter opens the matches of an encounter, b shows the"
        " crosstable instead. As text: arena crosstable"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "matches", "Matches", id="matrix.matches"),
        Binding("b", "bracket", "Bracket/Matrix", id="matrix.bracket"),
    ]
    CSS = """
    MatrixScreen Matrix { height: 1fr; }
    MatrixScreen #knockout { height: 1fr; display: none; }
    MatrixScreen BracketList { width: 1fr; height: 1fr; }
    MatrixScreen #places { width: 34; height: 1fr; display: none; }
    MatrixScreen.-wide #places { display: block; }
    MatrixScreen #details { height: 3; }
    MatrixScreen.-bracket Matrix { display: none; }
    MatrixScreen.-bracket #knockout { display: block; }
    MatrixScreen.-flat #details { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._view = MatrixView()
        self._labels: dict[str, str] = {}
        self._places = ColumnTable[BracketPlace](_PLACES, "places", id="places")
        self._wants_matrix = self._has_bracket = False

    @override
    def compose_body(self) -> ComposeResult:
        with Vertical():
            yield Matrix()
            with Horizontal(id="knockout"):
                yield BracketList()
                yield self._places
            yield BareLines(id="details")

    def on_mount(self) -> None:
        """Apply the saved content of the cells."""
        self.query_one(Matrix).mode = dashboard_of(self).settings.cells

    @override
    def tab_labels(self, model: Model) -> tuple[str, str]:
        event = model.facts.get("event")
        is_bracket = isinstance(event, EventTables) and bool(event.bracket) and not self._wants_matrix
        return (_BRACKET, _BRACKET) if is_bracket else super().tab_labels(model)

    @override
    def show_model(self, model: Model, change: Change | None) -> None:
        view, event = model.facts.get("matrix"), model.facts.get("event")
        # Without a tournament there is no crosstable.
        view = view if isinstance(view, MatrixView) else MatrixView()
        self._labels = dict(zip(view.names, view.labels, strict=True))
        self._view = _narrowed(view, self.filter_text)
        self.query_one(Matrix).show(self._view)
        has_bracket = isinstance(event, EventTables) and bool(event.bracket)
        if isinstance(event, EventTables) and has_bracket:
            rows = [
                row
                for row in event.bracket
                if fits_words(self.filter_text, row.first or "", row.second or "")
            ]
            title = f"bracket  {event.progress}{self.filter_note}"
            self.query_one(BracketList).show(rows, title, self._labels)
            self._places.show(event.bracket_places)
        self._has_bracket = has_bracket
        self._choose()

    def _choose(self) -> None:
        """Show the bracket if there is one and the user has not chosen the crosstable; the focus follows."""
        is_bracket = self._has_bracket and not self._wants_matrix
        if is_bracket != self.has_class("-bracket"):
            self.set_class(is_bracket, "-bracket")
            widget = self.query_one(BracketList) if is_bracket else self.query_one(Matrix)
            self.call_after_refresh(widget.focus)
            self.refresh_bindings()
        self._describe()

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._has_bracket if action == "bracket" else super().check_action(action, parameters)

    def action_bracket(self) -> None:
        """Switch between the bracket and the crosstable."""
        self._wants_matrix = not self._wants_matrix
        self.repaint_lines()
        self._choose()

    @override
    def filter_changed(self, text: str) -> None:
        self.show_model(dashboard_of(self).model, None)

    def _describe(self) -> None:
        if self.has_class("-bracket"):
            tie = self.query_one(BracketList).current
            self.query_one("#details", BareLines).show([] if tie is None else _tie_lines(tie.row))
            return
        row, column = self.query_one(Matrix).cursor
        names = self._view.names
        cell = self._view.cells[row][column] if max(row, column) < len(names) else None
        lines: list[Line] = []
        if cell is not None:
            lines = [((f" {names[row]} v {names[column]}", "title"),), *_cell_lines(cell)]
        self.query_one("#details", BareLines).show(lines)

    def on_matrix_moved(self, message: Matrix.Moved) -> None:
        """Describe the cell at the cursor."""
        message.stop()
        self._describe()

    def on_matrix_selected(self, message: Matrix.Selected) -> None:
        """Show the two bots of a cell head to head."""
        message.stop()
        bots = self._view.names[message.row], self._view.names[message.column]
        dashboard_of(self).push_screen(VersusScreen(*bots, dashboard_of(self).tournament))

    async def action_matches(self) -> None:
        """Show the matches of a cell."""
        if self.has_class("-bracket"):
            if words := self._row_words(self.query_one(BracketList)):
                await show_matches(self, words)
            return
        row, column = self.query_one(Matrix).cursor
        if row != column:
            await show_matches(self, self._words(row, column))

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        """Describe the encounter at the cursor."""
        message.stop()
        self._describe()

    async def on_row_list_selected(self, message: RowList.Selected) -> None:
        """Show the matches of an encounter, or of a bot."""
        message.stop()
        words = self._row_words(message.sender)
        if words:
            await show_matches(self, words)

    def _row_words(self, source: RowList) -> list[str]:
        """Return the filter for the matches of the row at the cursor; empty while its bots are unknown."""
        where = word("tournament", dashboard_of(self).tournament)
        if isinstance(source, BracketList):
            row = None if source.current is None else source.current.row
            if row is None or row.first is None or row.second is None:
                return []
            return [where, word("bot", row.first), word("vs", row.second)]
        place = self._places.current
        return [] if place is None else [where, word("bot", place.name)]

    @override
    def export_filter(self) -> str:
        if self.has_class("-bracket"):
            return " ".join(self._row_words(self.query_one(BracketList)))
        row, column = self.query_one(Matrix).cursor
        known = max(row, column) < len(self._view.names) and row != column
        return " ".join(self._words(row, column)) if known else ""

    def _words(self, row: int, column: int) -> list[str]:
        """Return the filter for the matches of a cell."""
        names = self._view.names
        bots = [word("bot", names[row]), word("vs", names[column])]
        return [word("tournament", dashboard_of(self).tournament), *bots]

    @override
    def text_to_copy(self) -> str:
        if self.has_class("-bracket"):
            return " ".join(" ".join(self.query_one("#details", BareLines).text_lines()).split())
        row, column = self.query_one(Matrix).cursor
        if row == column:
            return self._view.names[row] if self._view.names else ""
        return " ".join(" ".join(self.query_one("#details", BareLines).text_lines()).split())


def _tie_lines(row: BracketRow) -> list[Line]:
    """Return an encounter in three lines: its bots, where they come from, how it was decided."""
    names = [
        f"({origin})" if name is None else name
        for name, origin in ((row.first, row.first_origin), (row.second, row.second_origin))
    ]
    score = "" if row.state == "waiting" else f"  {row.first_points:g} : {row.second_points:g}"
    origins = [
        f"{name} {origin}"
        for name, origin in ((row.first, row.first_origin), (row.second, row.second_origin))
        if name is not None
    ]
    why = f": {row.why}" if row.why else ""
    winner = f", {row.winner} advances" if row.winner is not None else ""
    return [
        ((f" {row.encounter}: {names[0]} v {names[1]}{score}", "title"),),
        ((f" {', '.join(origins)}", ""),),
        ((f" {_STATES[row.state]}{winner}{why}", ""),),
    ]


def _narrowed(view: MatrixView, text: str) -> MatrixView:
    """Return the rows and columns of the bots whose names match a filter."""
    places = [place for place, name in enumerate(view.names) if fits_words(text, name)]
    return msgspec.structs.replace(
        view,
        names=tuple(view.names[place] for place in places),
        labels=tuple(view.labels[place] for place in places),
        ranks=tuple(view.ranks[place] for place in places),
        cells=tuple(tuple(view.cells[row][column] for column in places) for row in places),
    )


def _cell_lines(cell: MatrixCell) -> list[Line]:
    if cell.score is None:
        return [((" never met", ""),)]
    sides = [
        f"{name} {100 * score:.0f}%"
        for name, score in (("moving first", cell.first_score), ("moving second", cell.second_score))
        if score is not None
    ]
    score = f" {100 * cell.score:.0f}% of {cell.games}, {cell.wins}-{cell.draws}-{cell.losses}"
    result = "   ".join([score, *sides])
    mark = "" if cell.is_bounded else "?"
    elo = (
        ""
        if cell.elo is None or cell.error is None
        else f" Elo {cell.elo:+z.0f}{mark} +/- {cell.error:.0f} (95 %)"
    )
    pairs = f"{cell.different_pairs} of {cell.pairs} pairs, {cell.openings} openings"
    facts = [elo, "" if cell.los is None else f"LOS {100 * cell.los:.1f} %", pairs]
    if any(cell.forfeits):
        facts.append(f"forfeits {cell.forfeits[0]}-{cell.forfeits[1]}")
    return [((result, ""),), (("   ".join(filter(None, facts)), ""),)]
