"""Screen 7: all tournaments of the store: watch one, begin one, pause, stop and resume."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from typing_extensions import override

from arena.live.labels import fits_words, show_name
from arena.live.plain import moment_text
from arena.live.tournaments import TournamentRow
from arena.naming import count_text
from arena.results.condition import word
from arena.tui.screens.app import dashboard_of
from arena.tui.screens.lines import BareLines
from arena.tui.screens.new_tournament import NewTournamentScreen
from arena.tui.screens.steering import HELD, PLAYED, Steering
from arena.tui.shell.screen import NAME_HINT, ArenaScreen
from arena.tui.widgets.table import Col, Table
from arena.watching.answers import Answer, Empty, Rows, Unavailable
from arena.watching.tournaments import read_tournaments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from arena.tui.text import Line
    from arena.tui.widgets.row_list import RowList
    from arena.watching.feed import Change, Model

COLUMNS = (
    Col("tournament", lambda row: row.name, 10, is_name=True),
    Col("state", lambda row: row.state_text, 8),
    Col("done", lambda row: count_text(row.done, row.planned), 7, is_right=True),
    Col("game", lambda row: row.game, 12, 1, is_name=True),
    Col("limit", lambda row: row.tc, 7, 2),
    Col("began", lambda row: moment_text(row.created_t), 16, 3),
    Col("type", lambda row: row.type, 8, 4),
    Col("bots", lambda row: str(len(row.bots)), 4, 5, is_right=True),
)
_MAX_REFUSED = 3
"""Lines about refused bots."""
_LINES = 3
"""Lines of details that there is always room for."""
_LOOK_S = 2.0
"""Seconds between two looks at the list while it is shown."""


class TournamentsTable(Table[TournamentRow]):
    """The tournaments, a row each, newest first."""

    HELP = (
        "no coordinator: it was being played, and the process that did so is gone; R goes on with it. Enter"
        " watches a tournament."
    )


class TournamentsScreen(ArenaScreen):
    """All tournaments of the store."""

    NAME = "tournaments"
    KEY = "7"
    LABEL = "Tournaments"
    SHORT_LABEL = "Tourneys"
    FILTER_HINT = NAME_HINT
    HELP = (
        "All tournaments, newest first. Enter watches one, n begins one, P pauses one that runs or lets it go"
        " on, X stops it, K ends it at once, and R goes on with one that was stopped or whose process is gone"
        " or silent. J enters a bot in a ladder and L withdraws one. A archives a tournament or lists it"
        " again, a shows archived ones, D moves one out of the store. All but P and A ask first. A tournament"
        " is a process of its own: it goes on when the dashboard ends. As text: arena tournament, stop,"
        " resume, ladder join, ladder leave, archive, remove"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "New", id="tournaments.new"),
        Binding("P", "pause", "Pause", id="tournaments.pause"),
        Binding("X", "stop", "Stop", id="tournaments.stop"),
        Binding("R", "resume", "Resume", id="tournaments.resume"),
        Binding("K", "abort", "Abort", show=False, id="tournaments.abort"),
        Binding("J", "join", "Join", id="tournaments.join"),
        Binding("L", "leave", "Leave", id="tournaments.leave"),
        Binding("A", "archive", "Archive", show=False, id="tournaments.archive"),
        Binding("a", "all", "Archived, too", show=False, id="tournaments.all"),
        Binding("D", "remove", "Remove", show=False, id="tournaments.remove"),
    ]
    CSS = """
    TournamentsScreen TournamentsTable { height: 1fr; }
    TournamentsScreen #details { height: 3; }
    TournamentsScreen #details.-refused { height: 6; }
    TournamentsScreen.-flat #details { height: 1; }
    TournamentsScreen #said { height: 1; }
    """

    class Said(Message):
        """Something came of what was asked."""

        def __init__(self, text: str, *, is_trouble: bool = False) -> None:
            super().__init__()
            self.text = text
            self.is_trouble = is_trouble

    def __init__(self) -> None:
        super().__init__()
        self._looks = self.asks("tournaments")
        self._seeks_watched = True
        self._rows: Sequence[TournamentRow] = ()
        self._nothing = "looking ..."
        self._is_all = False
        self._steering = Steering(self, self._say, self._complain)

    @override
    def compose_body(self) -> ComposeResult:
        with Vertical():
            yield TournamentsTable(COLUMNS, "tournaments", nothing="looking ...")
            yield BareLines(id="details")
            yield BareLines(id="said")

    def on_mount(self) -> None:
        """Look at the list, and again and again while it is shown."""
        self.set_interval(_LOOK_S, self._look_if_shown, name="tournaments")
        self._look()

    @property
    def table(self) -> TournamentsTable:
        """The tournaments."""
        return self.query_one(TournamentsTable)

    @override
    def reload(self) -> None:
        self._look()

    @override
    def show_model(self, model: Model, change: Change | None) -> None:
        self._look()

    @override
    def on_screen_resume(self) -> None:
        self._seeks_watched = True
        super().on_screen_resume()

    def _look_if_shown(self) -> None:
        if self.is_current and not dashboard_of(self).is_frozen:
            self._look()

    def _look(self) -> None:
        source = partial(read_tournaments, archived=self._is_all)
        self._looks.ask(source, "reading tournaments", self._take, key=self._is_all)

    def _take(self, answer: Answer[list[TournamentRow]]) -> None:
        """Show an answer; what is there stays until there is another list."""
        if isinstance(answer, Rows):
            self._list(answer.content)
        elif isinstance(answer, Empty):
            self._nothing = "no tournament yet; n begins one"
            self._list(())
        elif isinstance(answer, Unavailable):
            self._nothing = answer.reason
            self._list(self._rows)

    def _list(self, rows: Sequence[TournamentRow]) -> None:
        """Show the list; the cursor stays on its tournament."""
        before = self.table.current
        wanted = 0 if before is None else before.id
        if self._seeks_watched:
            watched = [row.id for row in rows if row.name == dashboard_of(self).tournament]
            wanted, self._seeks_watched = (*watched, wanted)[0], not rows
        self._rows = rows
        self._show(wanted)

    @override
    def filter_changed(self, text: str) -> None:
        before = self.table.current
        self._show(0 if before is None else before.id)

    def _show(self, wanted: int) -> None:
        """Show the rows that fit the filter, the cursor on that of an id where it is there."""
        rows = [row for row in self._rows if fits_words(self.filter_text, row.name, row.game, row.state_text)]
        nothing = self._nothing
        if self._rows:
            nothing = "no tournament fits the filter; esc takes it away"
        num_running = sum(row.state == "running" for row in self._rows)
        what = "tournaments, archived ones too," if self._is_all else "tournaments"
        title = f"{what} {len(self._rows)}, running {num_running}{self.filter_note}"
        self.table.show(rows, title=title, nothing=nothing)
        places = [place for place, row in enumerate(rows) if row.id == wanted]
        if places:
            self.table.go_to(places[0], tell=False)
        self._describe()

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        """Tell more of a tournament."""
        message.stop()
        self._describe()

    def _describe(self) -> None:
        row = self.table.current
        details = self.query_one("#details", BareLines)
        lines = [] if row is None else _details(row)
        details.set_class(len(lines) > _LINES, "-refused")
        details.show(lines)

    async def on_row_list_selected(self, message: RowList.Selected) -> None:
        """Watch a tournament."""
        message.stop()
        row = self.table.current
        if row is not None:
            await dashboard_of(self).attach(row.id, row.name)

    def on_tournaments_screen_said(self, message: Said) -> None:
        """Show what came of a command."""
        message.stop()
        style = "alert" if message.is_trouble else "title"
        mark = "! " if message.is_trouble else ""
        self.query_one("#said", BareLines).say(f" {mark}{message.text}", style)
        self._look()

    def _say(self, text: str) -> None:
        self.post_message(self.Said(text))

    def _complain(self, text: str) -> None:
        self.post_message(self.Said(text, is_trouble=True))

    def action_new(self) -> None:
        """Open the form of a new tournament."""
        app = dashboard_of(self)
        if app.may_act():
            app.push_screen(NewTournamentScreen(app.model.view.progress.game))

    def action_pause(self) -> None:
        """Pause what runs, or let it go on."""
        row = self.table.current
        if row is not None and self._steering.may(row, *PLAYED):
            self._steering.pause(row.id, is_paused=row.state == "paused", lead=f"{show_name(row.name)}: ")

    def action_stop(self) -> None:
        """Stop a tournament, if that is meant."""
        row = self.table.current
        if row is not None and self._steering.may(row, *HELD):
            self._steering.stop(row.id, row.name, lead=f"{show_name(row.name)}: ")

    def action_abort(self) -> None:
        """End a tournament at once, if that is meant."""
        row = self.table.current
        if row is not None and self._steering.may(row, *HELD):
            self._steering.abort(row.id, row.name, lead=f"{show_name(row.name)}: ")

    def action_resume(self) -> None:
        """Go on with a tournament, if that is meant, also in place of a process that is silent."""
        self._steering.resume(self.table.current)

    def action_join(self) -> None:
        """Enter a bot in a ladder."""
        self._steering.join(self.table.current)

    def action_leave(self) -> None:
        """Withdraw a bot from a ladder."""
        self._steering.leave(self.table.current)

    def action_archive(self) -> None:
        """Hide a tournament from the list, or show it again."""
        self._steering.archive(self.table.current)

    def action_remove(self) -> None:
        """Move a tournament out of the store, if that is meant."""
        self._steering.remove(self.table.current)

    def action_all(self) -> None:
        """Show archived tournaments, too, or not."""
        self._is_all = not self._is_all
        self._look()

    @override
    def export_filter(self) -> str:
        row = self.table.current
        return "" if row is None else word("tournament", row.name)

    @override
    def text_to_copy(self) -> str:
        row = self.table.current
        return "" if row is None else row.name


def _details(row: TournamentRow) -> list[Line]:
    """Return what a tournament is, who plays, and the first of those it refused, each with the cause."""
    bots = ", ".join(row.bots[:12]) + (f" and {len(row.bots) - 12} more" if len(row.bots) > 12 else "")  # noqa: PLR2004 # as said before it
    return [
        ((f" {row.name} {row.state_text}, {count_text(row.done, row.planned, ' of ')} matches", "title"),),
        ((f" {row.type} of {row.game} {row.tc}, began {moment_text(row.created_t)}", ""),),
        ((f" bots: {bots}", ""),),
        *([((f" held by {row.held_by}", "alert" if row.state == "silent" else ""),)] if row.held_by else []),
        *([((" ! ", "alert"), (row.reason, ""))] if row.reason else []),
        *_refused(row),
    ]


def _refused(row: TournamentRow) -> list[Line]:
    shown = len(row.refused) if len(row.refused) <= _MAX_REFUSED else _MAX_REFUSED - 1
    lines: list[Line] = [
        ((" ! ", "alert"), (f"refused: {bot}: {why}", "")) for bot, why in row.refused[:shown]
    ]
    if shown < len(row.refused):
        rest = f"{len(row.refused) - shown} more were refused: arena show {shlex.quote(row.name)}"
        lines.append(((" ! ", "alert"), (rest, "")))
    return lines
