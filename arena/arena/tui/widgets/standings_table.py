"""The standings by rating, and the table by place of a Swiss tournament, with uncut numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from rich.cells import cell_len
from typing_extensions import override

from arena.live.table_views import StandingRow, StandingsView
from arena.tui.glyphs import Glyphs
from arena.tui.text import left, right, safe
from arena.tui.widgets.row_list import RowList
from arena.tui.widgets.table import Col, ColumnTable

if TYPE_CHECKING:
    from arena.results.place_table import PlaceRow
    from arena.tui.text import Line

_TREND = 8
"""Width of the trend, in cells."""
STANDINGS: Mapping[str, str] = {
    "new": "new: it plays first until its rating is settled",
    "in": "still in the knockout",
    "left": "has left",
    "out": "disqualified",
}
"""Descriptions of bots whose standing in the tournament is not the normal one."""


class _Column(msgspec.Struct, frozen=True):
    head: str
    width: int
    write: Callable[[StandingRow, Glyphs], str]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}%"


def _marks(row: StandingRow) -> str:
    return f"{'?' if row.rests_on_prior else ''}{'*' if row.tested else ''}"


_COLUMNS: dict[str, _Column] = {
    "rank": _Column("#", 1, lambda row, _: row.place),
    "bot": _Column("bot", 3, lambda row, _: row.label),
    "n": _Column("n", 5, lambda row, _: str(row.games)),
    "points": _Column("pts", 5, lambda row, _: f"{row.points:.1f}"),
    "elo": _Column("Elo", 5, lambda row, _: f"{row.elo:.0f}{_marks(row)}"),
    "error": _Column("+/-", 3, lambda row, _: "-" if row.error is None else f"{row.error:.0f}"),
    "los": _Column("LOS", 5, lambda row, _: _percent(row.los)),
    "wdl": _Column("W-D-L", 13, lambda row, _: f"{row.wins}-{row.draws}-{row.losses}"),
    "first": _Column("1st", 5, lambda row, _: _percent(row.score_first)),
    "second": _Column("2nd", 5, lambda row, _: _percent(row.score_second)),
    "faults": _Column("faults", 6, lambda row, _: str(row.faults)),
    "standing": _Column("state", 5, lambda row, _: row.standing),
    "trend": _Column("trend", _TREND, lambda row, glyphs: trend(row.trend, _TREND, glyphs)),
    "name": _Column("name", 4, lambda row, _: row.name),
}
_NAMES = ("bot", "name")
_ALWAYS: Sequence[str] = ("rank", "bot", "points", "elo")
_MORE: Sequence[str] = ("standing", "n", "error", "wdl", "faults", "los", "first", "second", "trend", "name")
"""Optional columns in the order of their priority: the last ones are left out first."""


class StandingsTable(RowList):
    """The standings: points, Elo and half of its 95 % interval, and more columns if there is room."""

    HELP = (
        "pts points, Elo with half of its 95 % interval, LOS likelihood to be stronger than the next, 1st and"
        " 2nd points per match when moving first and second; ? depends only on the prior; # 2.1 leads the"
        " second of several tables that no match connects; state: new to a ladder, still in a knockout, left"
        " the event, disqualified."
        " Enter opens the bot."
    )
    DEFAULT_CSS = """
    StandingsTable { width: 26; height: auto; min-height: 3; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__("standings", id=id, classes=classes)
        self._view = StandingsView()

    def show(self, view: StandingsView) -> None:
        """Show other standings; the cursor stays on its bot, or at the top if it is on the leader."""
        is_longer = len(view.rows) != len(self._view.rows)
        before = self._view.rows[self.cursor].name if self.cursor else ""
        self._view = view
        self.stay_on(before, [row.name for row in view.rows])
        self.title = f"standings {view.title}".strip()
        self.refresh(layout=is_longer)
        self.repaint()

    @property
    @override
    def num_rows(self) -> int:
        return len(self._view.rows)

    def row(self, index: int) -> StandingRow:
        """Return a row by its index; the leader's is 0."""
        return self._view.rows[index]

    @override
    def body(self, width: int, height: int) -> list[Line]:
        lines = super().body(width, height)
        if self._view.doing and not self._view.rows:
            # An empty table would mean that no match has been played.
            lines.append(((f" {self._view.doing}", "dim"),))
        return lines[:height]

    @override
    def head_line(self, width: int) -> Line | None:
        return ((self._put([column.head for column in self._columns(width)], width), "dim"),)

    @override
    def row_line(self, row: int, width: int) -> Line:
        bot = self._view.rows[row]
        columns = self._columns(width)
        return ((self._put([column.write(bot, self.glyphs) for column in columns], width), ""),)

    @override
    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self._view.rows) + 1 + (2 if self.has_frame else 1)

    def _columns(self, width: int) -> list[_Column]:
        columns = {name: self._fitted(column) for name, column in _COLUMNS.items()}
        names = set(_ALWAYS)
        room = width - sum(columns[name].width + 1 for name in _ALWAYS)
        useless = set[str]()
        if not any(row.standing for row in self._view.rows):
            useless.add("standing")
        if not any(row.trend for row in self._view.rows):
            useless.add("trend")
        if all(row.name == row.label for row in self._view.rows):
            useless.add("name")
        for name in _MORE:
            if columns[name].width + 1 <= room and name not in useless:
                names.add(name)
                room -= columns[name].width + 1
        return [column for name, column in columns.items() if name in names]

    def _fitted(self, column: _Column) -> _Column:
        """Return a column that is wide enough for all its cells; nothing is cut."""
        longest = max((cell_len(safe(column.write(row, self.glyphs))) for row in self._view.rows), default=0)
        return msgspec.structs.replace(column, width=max(column.width, longest))

    def _put(self, texts: Sequence[str], width: int) -> str:
        columns = zip(texts, self._columns(width), strict=True)
        return "".join(
            f" {(left if column.head in _NAMES else right)(text, column.width)}" for text, column in columns
        )


def trend(values: Sequence[float], width: int, glyphs: Glyphs) -> str:
    """Draw the last values as heights."""
    shown = list(values)[-width:]
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    top = len(glyphs.levels) - 1
    return "".join(
        glyphs.levels[round((value - low) / (high - low) * top) if high > low else 0] for value in shown
    )


class RankedBot(NamedTuple):
    """A bot with its place and its rating."""

    place: PlaceRow
    standing: StandingRow


def _elo(bot: RankedBot) -> str:
    row = bot.standing
    error = "" if row.error is None else f" +/- {row.error:.0f}"
    return f"{row.elo:.0f}{'?' if row.rests_on_prior else ''}{error}"


COLUMNS: Final = (
    Col("#", lambda bot: str(bot.place.place), 2, is_right=True),
    Col("bot", lambda bot: bot.standing.label, 6, is_name=True),
    Col("pts", lambda bot: f"{bot.place.points:g}", 4, is_right=True),
    Col("Buchholz", lambda bot: f"{bot.place.buchholz:g}", 8, 1, is_right=True),
    Col("cut1", lambda bot: f"{bot.place.cut_one:g}", 4, 4, is_right=True),
    Col("median", lambda bot: f"{bot.place.median:g}", 6, 5, is_right=True),
    Col("SB", lambda bot: f"{bot.place.sonneborn_berger:g}", 5, 2, is_right=True),
    Col(
        "direct",
        lambda bot: "-" if bot.place.direct is None else f"{bot.place.direct:g}",
        6,
        6,
        is_right=True,
    ),
    Col("wins", lambda bot: str(bot.place.wins), 4, 3, is_right=True),
    Col("Elo", _elo, 12, 7, is_right=True),
    Col("state", lambda bot: bot.standing.standing, 5, 8),
    Col("name", lambda bot: bot.place.name, 8, 9, is_name=True),
)


class PlacesTable(ColumnTable[RankedBot]):
    """The bots by place."""

    HELP = (
        "By points; ties are broken by the tie-breaks in the order of their columns. Enter opens the matches"
        " of a bot."
    )

    def __init__(self) -> None:
        super().__init__(COLUMNS, "places", nothing="nothing is played yet")

    @override
    def show(
        self, rows: Sequence[RankedBot], *, title: str | None = None, nothing: str | None = None
    ) -> None:
        is_longer = len(rows) != self.num_rows
        before = "" if self.current is None or not self.cursor else self.current.place.name
        super().show(rows, title=title, nothing=nothing)
        self.stay_on(before, [row.place.name for row in rows])
        self.refresh(layout=is_longer)

    @override
    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return self.num_rows + 3
