"""The bracket of a knockout as a list: a heading for each round, and a line for each encounter."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size
from textual.binding import Binding, BindingType
from typing_extensions import override

from arena.results.brackets import BracketRow, TieText, tie_texts
from arena.tui.text import left, safe
from arena.tui.widgets.row_list import LIST_BINDINGS, RowList

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.tui.text import Line

_SCORE = 13
"""Width of the score, in cells."""
_LEAST_NAME = 8
"""Minimum width of a name, in cells."""
_REMARK = 24
"""Cells that a remark gets before names get more than their minimum."""


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
            rows: its encounters.
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
