"""Screen 4: every bot against every other."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from typing_extensions import override

from arena.live.labels import fits_words
from arena.live.tables import MatrixView
from arena.results.condition import word
from arena.tui.screens.app import dashboard_of
from arena.tui.screens.lines import BareLines
from arena.tui.screens.opening import show_matches
from arena.tui.screens.pages import VersusScreen
from arena.tui.shell.screen import NAME_HINT, ArenaScreen
from arena.tui.widgets.matrix import Matrix

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from arena.live.tables import MatrixCell
    from arena.tui.text import Line
    from arena.watching.feed import Change, Model


class MatrixScreen(ArenaScreen):
    """The crosstable."""

    NAME = "matrix"
    KEY = "4"
    LABEL = "Matrix"
    FILTER_HINT = NAME_HINT
    HELP = (
        "Each row against each column, best bots first. Enter shows the two bots of a cell head to head, o"
        " their matches; a filter leaves the bots whose names have these words in them. As text: arena"
        " crosstable"
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("o", "matches", "Matches", id="matrix.matches")]
    CSS = """
    MatrixScreen Matrix { height: 1fr; }
    MatrixScreen #details { height: 3; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._view = MatrixView()

    @override
    def compose_body(self) -> ComposeResult:
        with Vertical():
            yield Matrix()
            yield BareLines(id="details")

    @override
    def show_model(self, model: Model, change: Change | None) -> None:
        view = model.facts.get("matrix")
        if isinstance(view, MatrixView):
            self._view = _narrowed(view, self.filter_text)
            self.query_one(Matrix).show(self._view)
        self._describe()

    @override
    def filter_changed(self, text: str) -> None:
        self.show_model(dashboard_of(self).model, None)

    def _describe(self) -> None:
        row, column = self.query_one(Matrix).cursor
        names = self._view.names
        cell = self._view.cells[row][column] if max(row, column) < len(names) else None
        lines: list[Line] = []
        if cell is not None:
            lines = [((f" {names[row]} v {names[column]}", "title"),), *_cell_lines(cell)]
        self.query_one("#details", BareLines).show(lines)

    def on_matrix_moved(self, message: Matrix.Moved) -> None:
        """Tell more of a cell."""
        message.stop()
        self._describe()

    def on_matrix_selected(self, message: Matrix.Selected) -> None:
        """Show the two bots of a cell head to head."""
        message.stop()
        bots = self._view.names[message.row], self._view.names[message.column]
        dashboard_of(self).push_screen(VersusScreen(*bots, dashboard_of(self).tournament))

    async def action_matches(self) -> None:
        """Show the matches of a cell."""
        row, column = self.query_one(Matrix).cursor
        if row != column:
            await show_matches(self, self._words(row, column))

    @override
    def export_filter(self) -> str:
        row, column = self.query_one(Matrix).cursor
        known = max(row, column) < len(self._view.names) and row != column
        return " ".join(self._words(row, column)) if known else ""

    def _words(self, row: int, column: int) -> list[str]:
        """Give the filter for the matches of a cell."""
        names = self._view.names
        bots = [word("bot", names[row]), word("vs", names[column])]
        return [word("tournament", dashboard_of(self).tournament), *bots]

    @override
    def text_to_copy(self) -> str:
        row, column = self.query_one(Matrix).cursor
        if row == column:
            return self._view.names[row] if self._view.names else ""
        return " ".join(" ".join(self.query_one("#details", BareLines).text_lines()).split())


def _narrowed(view: MatrixView, text: str) -> MatrixView:
    """Give the rows and columns of the bots whose names fit a filter."""
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
