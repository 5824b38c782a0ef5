"""Screen 7: all tournaments of the store: watch, begin, pause, stop and resume them."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from typing_extensions import override

from arena.coordinator.client import Link
from arena.live.labels import fits_words, show_name
from arena.live.plain import moment_text
from arena.live.tournament_views import TournamentRow
from arena.naming import count_text
from arena.results.condition import word
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.event_control import HELD, PLAYED, EventControl
from arena.tui.screens.new_events import NewTournamentScreen
from arena.tui.screens.play_screen import PlayScreen
from arena.tui.shell.child import ChildProcess, Output
from arena.tui.shell.confirm import ConfirmScreen
from arena.tui.shell.screen import NAME_HINT, ArenaScreen
from arena.tui.text import clip
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.table import Col, ColumnTable
from arena.watching.query_answers import Answer, Empty, Rows, Unavailable
from arena.watching.tournament_list import read_tournaments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
"""Maximum number of lines about refused bots."""
_LINES = 3
"""Number of lines of details that always fit."""
_MEANT: Final[Mapping[str, Callable[[TournamentRow], bool]]] = {
    "pause": lambda row: row.state in PLAYED,
    "stop": lambda row: row.is_held or row.is_orphan,
    "abort": lambda row: row.is_held,
    "resume": lambda row: row.can_resume,
    "join": lambda row: row.is_open,
    "leave": lambda row: not row.fixed,
    "disqualify": lambda row: not row.fixed,
    "archive": lambda row: not row.is_held,
    "remove": lambda row: not row.is_held,
}
"""Conditions on the row at the cursor under which the footer shows an action's key."""
_LOOK_S = 2.0
"""Seconds between two polls of the list while it is shown: other processes begin and end tournaments."""


class TournamentsTable(ColumnTable[TournamentRow]):
    """The tournaments, a row each, newest first."""

    HELP = (
        "no coordinator: it was being played, and its process is gone; R resumes it. Enter watches a"
        " tournament."
    )


class TournamentsScreen(ArenaScreen):
    """All tournaments of the store."""

    NAME = "tournaments"
    KEY = "7"
    LABEL = "Tournaments"
    SHORT_LABEL = "Tourneys"
    FILTER_HINT = NAME_HINT
    HELP = (
        "All tournaments, newest first. Enter watches one, n begins one, P pauses a running one or lets it"
        " continue, X stops it, K aborts it, and R resumes one that was stopped or whose process is gone or"
        " silent. J enters a bot, L withdraws one, which keeps its matches, and Q disqualifies one, whose"
        " matches become void; this works for a fixed plan, a Swiss tournament and a ladder, while they are"
        " played or not. A archives a tournament or lists it again, a shows archived ones, D moves one out of"
        " the store. All but P and A ask first. A match of a person without a coordinator (play, no"
        " coordinator) is resumed with R and ended with X. A tournament is a process of its own: it continues"
        " when the dashboard ends. As text: arena tournament, stop, resume, ladder join, ladder leave,"
        " entrants, archive, remove"
    )
    HINTED = tuple(_MEANT)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "New", id="tournaments.new"),
        Binding("P", "pause", "Pause", id="tournaments.pause"),
        Binding("X", "stop", "Stop", id="tournaments.stop"),
        Binding("R", "resume", "Resume", id="tournaments.resume"),
        Binding("K", "abort", "Abort", id="tournaments.abort"),
        Binding("J", "join", "Join", id="tournaments.join"),
        Binding("L", "leave", "Leave", id="tournaments.leave"),
        Binding("Q", "disqualify", "Disqualify", id="tournaments.disqualify"),
        Binding("A", "archive", "Archive", id="tournaments.archive"),
        Binding("D", "remove", "Remove", id="tournaments.remove"),
        Binding("a", "all", "Archived, too", id="tournaments.all"),
    ]
    CSS = """
    TournamentsScreen TournamentsTable { height: 1fr; }
    TournamentsScreen #details { height: 3; }
    TournamentsScreen #details.-refused { height: 6; }
    TournamentsScreen.-flat #details { height: 1; }
    TournamentsScreen #said { height: 1; }
    """

    class Said(Message):
        """The outcome of a command."""

        def __init__(self, text: str, *, is_trouble: bool = False) -> None:
            super().__init__()
            self.text = text
            self.is_trouble = is_trouble

    def __init__(self) -> None:
        super().__init__()
        self._looks = self.query_runner("tournaments")
        self._sought: str | None = None
        self._is_known = False
        self._rows: Sequence[TournamentRow] = ()
        self._nothing = "looking ..."
        self._is_all = False
        self._control = EventControl(self, self._say, self._complain)

    @override
    def compose_body(self) -> ComposeResult:
        with Vertical():
            yield TournamentsTable(COLUMNS, "tournaments", nothing="looking ...")
            yield BareLines(id="details")
            yield BareLines(id="said")

    def on_mount(self) -> None:
        """Read the list, and poll it while it is shown."""
        self.set_interval(_LOOK_S, self._look_if_shown, name="tournaments")
        self._look()

    @property
    def table(self) -> TournamentsTable:
        """The table of tournaments."""
        return self.query_one(TournamentsTable)

    @override
    def reload(self) -> None:
        self._look()

    @override
    def show_model(self, model: Model, change: Change | None) -> None:
        self._look()

    def _look_if_shown(self) -> None:
        if self.is_current and not dashboard_of(self).is_frozen:
            self._look()

    def _look(self) -> None:
        source = partial(read_tournaments, archived=self._is_all)
        self._looks.run(source, "reading tournaments", self._take, key=self._is_all)

    def _take(self, answer: Answer[list[TournamentRow]]) -> None:
        """Show an answer; the previous list stays until there is another one."""
        if isinstance(answer, Rows):
            self._is_known = True
            self._list(answer.content)
        elif isinstance(answer, Empty):
            self._is_known = True
            self._nothing = "no tournament yet; n begins one"
            self._list(())
        elif isinstance(answer, Unavailable):
            self._nothing = answer.reason
            self._list(self._rows)

    def _list(self, rows: Sequence[TournamentRow]) -> None:
        """Show the list; the cursor stays on its tournament, unless the watched tournament has changed.

        A cursor that jumped whenever a question closes, or after the user has moved it, would direct the next
        command at the wrong tournament.
        """
        before = self.table.current
        wanted = 0 if before is None else before.id
        name = dashboard_of(self).tournament
        if rows and name != self._sought:
            wanted = next((row.id for row in rows if row.name == name), wanted)
            self._sought = name
        self._rows = rows
        self._show(wanted)

    @override
    def filter_changed(self, text: str) -> None:
        before = self.table.current
        self._show(0 if before is None else before.id)

    def _show(self, wanted: int) -> None:
        """Show the rows that match the filter, with the cursor on the tournament with the id `wanted`."""
        rows = [row for row in self._rows if fits_words(self.filter_text, row.name, row.game, row.state_text)]
        nothing = self._nothing
        if self._rows:
            nothing = "no tournament matches the filter; esc clears it"
        num_running = sum(row.state == "running" for row in self._rows)
        what = "tournaments, archived ones too," if self._is_all else "tournaments"
        # A store that cannot be read may have tournaments.
        counts = f" {len(self._rows)}, running {num_running}" if self._is_known else ""
        title = f"{what}{counts}{self.filter_note}"
        self.table.show(rows, title=title, nothing=nothing)
        places = [place for place, row in enumerate(rows) if row.id == wanted]
        if places:
            self.table.go_to(places[0], tell=False)
        self._describe()

    @override
    def fit_widgets(self) -> None:
        self._describe()

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        """Describe the tournament at the cursor; a new list leaves the cursor where the user moved it."""
        message.stop()
        self._sought = dashboard_of(self).tournament
        self._describe()

    def _describe(self) -> None:
        row = self.table.current
        details = self.query_one("#details", BareLines)
        lines = [] if row is None else _details(row, self.size.width)
        details.set_class(len(lines) > _LINES, "-refused")
        details.show(lines)
        self.repaint_lines()

    async def on_row_list_selected(self, message: RowList.Selected) -> None:
        """Watch a tournament."""
        message.stop()
        row = self.table.current
        if row is not None:
            await dashboard_of(self).attach(row.id, row.name)

    def on_tournaments_screen_said(self, message: Said) -> None:
        """Show the outcome of a command."""
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
        """Pause a running tournament, or continue it."""
        row = self.table.current
        if row is not None and self._control.may(row, *PLAYED):
            self._control.pause(row.id, is_paused=row.state == "paused", lead=f"{show_name(row.name)}: ")

    def action_stop(self) -> None:
        """Stop a tournament, or end a session without coordinator, after the user confirms."""
        if (play := self._orphan()) is not None:
            dashboard_of(self).push_screen(
                ConfirmScreen(
                    f"End {show_name(play.name)}?",
                    "It has no coordinator; its last match ends without a result. R resumes it instead.",
                ),
                lambda yes: self._end(play) if yes else None,
            )
            return
        row = self.table.current
        if row is not None and self._control.may(row, *HELD):
            self._control.stop(row.id, row.name, lead=f"{show_name(row.name)}: ")

    def action_abort(self) -> None:
        """Abort a tournament, after the user confirms."""
        row = self.table.current
        if row is not None and self._control.may(row, *HELD):
            self._control.abort(row.id, row.name, lead=f"{show_name(row.name)}: ")

    def action_resume(self) -> None:
        """Resume a tournament, even one held by a silent process; a session is resumed on its own screen."""
        if (play := self._orphan()) is not None:
            link = Link(dashboard_of(self).store, Link.again(play.name))
            dashboard_of(self).push_screen(PlayScreen(link))
            return
        self._control.resume(self.table.current)

    def action_join(self) -> None:
        """Enter a bot in a tournament."""
        self._control.join(self.table.current)

    def _orphan(self) -> TournamentRow | None:
        """Return the session without coordinator at the cursor, if commands are allowed."""
        row = self.table.current
        return row if row is not None and row.is_orphan and dashboard_of(self).may_act() else None

    def _end(self, play: TournamentRow) -> None:
        """End a session with `arena stop`."""
        store = dashboard_of(self).store
        child = ChildProcess(["stop", *([] if store is None else ["--db", store]), "--", play.name])
        self.run_worker(partial(child.follow, self), name="stop", group="stop", thread=True)

    def on_output(self, message: Output) -> None:
        """Show the output of a command."""
        message.stop()
        if message.lines:
            self.post_message(self.Said(message.lines[-1], is_trouble=bool(message.status)))
        elif message.status is not None:
            self._look()

    def action_leave(self) -> None:
        """Withdraw a bot from a tournament."""
        self._control.leave(self.table.current)

    def action_disqualify(self) -> None:
        """Disqualify a bot: its matches become void."""
        self._control.disqualify(self.table.current)

    def action_archive(self) -> None:
        """Hide a tournament from the list, or show it again."""
        self._control.archive(self.table.current)

    def action_remove(self) -> None:
        """Move a tournament out of the store, after the user confirms."""
        self._control.remove(self.table.current)

    def action_all(self) -> None:
        """Show or hide archived tournaments."""
        self._is_all = not self._is_all
        self._look()

    @override
    def hints_at(self, action: str) -> bool:
        row = self.table.current
        if action in _MEANT and dashboard_of(self).is_read_only:
            return False
        return action not in _MEANT or (row is not None and _MEANT[action](row))

    @override
    def export_filter(self) -> str:
        row = self.table.current
        return "" if row is None else word("tournament", row.name)

    @override
    def text_to_copy(self) -> str:
        row = self.table.current
        return "" if row is None else row.name


def _details(row: TournamentRow, width: int) -> list[Line]:
    """Return the details of a tournament: its state, its bots, and the first refused bots with causes."""
    return [
        ((f" {row.name} {row.state_text}, {count_text(row.done, row.planned, ' of ')} matches", "title"),),
        ((f" {row.type} of {row.game} {row.tc}, began {moment_text(row.created_t)}", ""),),
        ((f" bots: {_names(row.bots, width - 7)}", ""),),
        *([((f" held by {row.held_by}", "alert" if row.state == "silent" else ""),)] if row.held_by else []),
        *([((" ! ", "alert"), (row.reason, ""))] if row.reason else []),
        *_refused(row),
    ]


def _names(bots: Sequence[str], width: int) -> str:
    """Return as many names as fit, and the number of the others; a single long name is cut in the middle."""
    text = rest = ""
    for num in range(len(bots), 0, -1):
        rest = f" and {len(bots) - num} more" if num < len(bots) else ""
        text = f"{', '.join(bots[:num])}{rest}"
        if cell_len(text) <= width:
            return text
    return f"{clip(bots[0], width - cell_len(rest))}{rest}" if bots else ""


def _refused(row: TournamentRow) -> list[Line]:
    shown = len(row.refused) if len(row.refused) <= _MAX_REFUSED else _MAX_REFUSED - 1
    lines: list[Line] = [
        ((" ! ", "alert"), (f"refused: {bot}: {why}", "")) for bot, why in row.refused[:shown]
    ]
    if shown < len(row.refused):
        rest = f"{len(row.refused) - shown} more were refused: arena show {shlex.quote(row.name)}"
        lines.append(((" ! ", "alert"), (rest, "")))
    return lines
