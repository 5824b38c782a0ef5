"""Screen 2: the standings of the tournament or a leaderboard over all, with a plot and details of a bot."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

import msgspec
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from typing_extensions import override

from arena.live.labels import fits_words
from arena.live.table_views import StandingsView
from arena.results.by_place import EventTables
from arena.results.condition import word
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.opening import show_matches
from arena.tui.shell.screen import NAME_HINT, ArenaScreen
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.charts import LineChart, RatingPlot
from arena.tui.widgets.standings_table import STANDINGS, PlacesTable, RankedBot, StandingsTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from arena.live.table_views import Series, StandingRow
    from arena.results.place_table import PlaceRow
    from arena.tui.text import Line
    from arena.tui.widgets.row_list import RowList
    from arena.watching.feed import Change, Model


class StandingsScreen(ArenaScreen):
    """The ranking of the bots, and its uncertainty."""

    NAME = "standings"
    KEY = "2"
    LABEL = "Standings"
    FILTER_HINT = NAME_HINT
    HELP = (
        "Ratings with half of their 95 % intervals. a shows the leaderboard over all tournaments of this game"
        " and limit, g those of other games and limits. A Swiss tournament or a knockout is shown by place; b"
        " shows its ratings instead. Ties in points are broken, in this order, by Buchholz (points of all"
        " opponents), the same without the lowest (cut1), without lowest and highest (median),"
        " Sonneborn-Berger (SB: points taken times those of the opponent), direct encounter, wins. Enter"
        " opens the matches of a bot."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "all", "All", id="standings.all"),
        Binding("g", "game", "Game", id="standings.game"),
        Binding("b", "by_place", "Place/Elo", id="standings.by-place"),
    ]
    CSS = """
    StandingsScreen StandingsTable { width: 1fr; max-height: 60%; }
    StandingsScreen PlacesTable { width: 1fr; max-height: 60%; height: auto; display: none; }
    StandingsScreen.-places PlacesTable { display: block; }
    StandingsScreen.-places StandingsTable { display: none; }
    StandingsScreen #details { height: 2; }
    StandingsScreen RatingPlot { height: 1fr; }
    StandingsScreen LineChart { display: none; height: 14; }
    StandingsScreen.-tall LineChart { display: block; }
    StandingsScreen.-flat RatingPlot { display: none; }
    StandingsScreen.-flat StandingsTable, StandingsScreen.-flat PlacesTable { max-height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._board: int | None = None
        self._view = StandingsView()
        self._by_place, self._has_places = True, False

    @override
    def compose_body(self) -> ComposeResult:
        with Vertical():
            yield BareLines(id="goal")
            yield StandingsTable()
            yield PlacesTable()
            yield BareLines(id="details")
            yield RatingPlot()
            yield LineChart("rating over matches")

    @override
    def show_model(self, model: Model, change: Change | None) -> None:
        boards = self._boards(model)
        event, ranked = model.facts.get("event"), model.facts.get("by_place")
        self._has_places = isinstance(ranked, StandingsView)
        is_ranked = self._by_place and self._has_places and self._board is None
        view = (ranked if is_ranked else model.facts.get("standings")) if self._board is None else None
        if boards and self._board is not None:
            view = boards[self._board % len(boards)]
        if isinstance(view, StandingsView):
            what = "" if self._board is None else "leaderboard "
            rows = tuple(row for row in view.rows if fits_words(self.filter_text, row.name))
            self._view = msgspec.structs.replace(
                view, title=f"{what}{view.title}{self.filter_note}", rows=rows
            )
            self.query_one(StandingsTable).show(self._view)
            self.query_one(RatingPlot).show(sorted(rows, key=lambda row: -row.elo))
            places = event.places if is_ranked and isinstance(event, EventTables) else []
            self._show_places([place for place in places if fits_words(self.filter_text, place.name)], rows)
        self._show_goal(model.view.progress.goal if self._board is None else "")
        trend = model.facts.get("trend")
        if trend is not None:
            self.query_one(LineChart).show(
                cast("list[Series]", trend) if self._board is None else [],
                nothing=str(model.facts.get("trend_doing", "")),
            )
        self._describe()

    def _show_places(self, places: Sequence[PlaceRow], rows: Sequence[StandingRow]) -> None:
        """Show the table by place of a Swiss tournament, or the ratings if there are no places."""
        if bool(places) != self.has_class("-places"):
            had_focus = self.query_one(StandingsTable).has_focus or self.query_one(PlacesTable).has_focus
            self.set_class(bool(places), "-places")
            if had_focus:
                self.call_after_refresh(self._list.focus)
        known = {row.name: row for row in rows}
        found = [RankedBot(place, known[place.name]) for place in places]
        self.query_one(PlacesTable).show(found, title=f"places {self._view.title}".strip())

    @property
    def _list(self) -> RowList:
        """The table that is shown."""
        return self.query_one(PlacesTable if self.has_class("-places") else StandingsTable)

    @property
    def _row(self) -> StandingRow | None:
        """The bot at the cursor."""
        if self.has_class("-places"):
            found = self.query_one(PlacesTable).current
            return None if found is None else found.standing
        table = self.query_one(StandingsTable)
        return table.row(table.cursor) if table.num_rows else None

    def _show_goal(self, goal: str) -> None:
        """Show the result of a sequential test and the notes on the table, above the table."""
        said: list[Line] = [((f" {goal}", "title"),)] if goal else []
        said += [((f" {note}", "dim"),) for note in self._view.notes]
        lines = self.query_one("#goal", BareLines)
        lines.display, lines.styles.height = bool(said), len(said)
        lines.show(said)

    @override
    def filter_changed(self, text: str) -> None:
        self._again()

    @staticmethod
    def _boards(model: Model) -> tuple[StandingsView, ...]:
        return cast("tuple[StandingsView, ...]", model.facts.get("leaderboards", ()))

    def _describe(self) -> None:
        row, details = self._row, self.query_one("#details", BareLines)
        if row is None:
            has_filter = bool(self.filter_text) and not self._view.doing
            nothing = self._view.doing or "no results yet"
            details.say(" no bot matches the filter; esc clears it" if has_filter else f" {nothing}", "dim")
            return
        details.show(_details(row))

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        """Describe the bot at the cursor."""
        message.stop()
        self._describe()

    async def on_row_list_selected(self, message: RowList.Selected) -> None:
        """Show the matches of a bot."""
        message.stop()
        await show_matches(self, self._words())

    @override
    def export_filter(self) -> str:
        return " ".join(self._words())

    def _words(self) -> list[str]:
        """Return the filter for the bot at the cursor."""
        words = [] if self._row is None else [word("bot", self._row.name)]
        if self._board is None and dashboard_of(self).tournament:
            words.insert(0, word("tournament", dashboard_of(self).tournament))
        elif self._view.game:
            words += [word("game", self._view.game), word("pool", self._view.pool)]
        return words

    @override
    def opponent(self) -> str:
        return self.text_to_copy()

    @override
    def text_to_copy(self) -> str:
        return "" if self._row is None else self._row.name

    def action_all(self) -> None:
        """Switch between the leaderboard over all tournaments and the standings of this one."""
        self._board = 0 if self._board is None else None
        self._again()

    def action_game(self) -> None:
        """Show the leaderboard of the next game and limit."""
        num = len(self._boards(dashboard_of(self).model))
        self._board = 0 if self._board is None else (self._board + 1) % max(1, num)
        self._again()

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "by_place":
            return self._has_places and self._board is None
        return super().check_action(action, parameters)

    def action_by_place(self) -> None:
        """Switch between places and ratings, for a tournament paired by results."""
        self._by_place = not self._by_place
        self._again()

    def _again(self) -> None:
        self.show_model(dashboard_of(self).model, None)


def _details(row: StandingRow) -> list[Line]:
    low, high = (_end(end) for end in (row.elo_low, row.elo_high))
    standing = f"   {STANDINGS[row.standing]}" if row.standing else ""
    prior = "   unbeaten or winless: the figure comes from the prior" if row.rests_on_prior else ""
    sides = [
        f"{name} {100 * score:.0f}%"
        for name, score in (("first", row.score_first), ("second", row.score_second))
        if score is not None
    ]
    los = "" if row.los is None else f"   LOS {100 * row.los:.0f}%"
    faults = f"   faults {row.faults}"
    return [
        ((f" {row.place} {row.name}{standing}", "title"),),
        ((f"   {row.elo:.0f} ({low} to {high}){prior}   {' '.join(sides)}{los}{faults}", ""),),
    ]


def _end(elo: float | None) -> str:
    return "?" if elo is None else f"{elo:.0f}"
