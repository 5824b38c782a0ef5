"""Screen 8, the export of stored matches: filter, format, preview, and the command line."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from textual.containers import Horizontal, Vertical
from typing_extensions import override

from arena.errors import ArenaError, ConfigError
from arena.export.match_selection import FORMATS, ExportQuery, count
from arena.live.forms import OFF_ON, ExportForm, ExportPreview
from arena.results.condition import HINT, read_condition, word
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.form_screen import FormScreen
from arena.tui.shell.child import ChildProcess, Output
from arena.tui.text import safe
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.form import Choice, Fields, FormField, Push
from arena.tui.widgets.output_panel import OutputPanel
from arena.watching.query import NoStoreYet
from arena.watching.stored import row_of
from arena_plugins.contract import Outcome

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from arena.live.table_views import MatchRow
    from arena.watching.feed import Change, Model
    from arena.watching.query import Query
    from arena_db.records import StoredMatch
    from arena_db.store import Store

_SWITCHES: Final = ("dedup", "disjoint", "forfeits", "unrated")


class ExportScreen(FormScreen[ExportForm]):
    """A form, a preview of the export, and the output of the command."""

    NAME = "export"
    FORM = ExportForm
    WORK = "preview"
    DOING = "counting matches"
    KEY = "8"
    LABEL = "Export"
    HELP = (
        "Writes stored matches into files. The filter is that of screen 3; E on another screen copies its"
        " match or filter into it. parquet, npz, jsonl and csv are a folder of positions, pgn and sgf one"
        " file of matches. Export (press enter) runs exactly the line above it; esc ends it and leaves no"
        " files. As text: arena export"
    )
    CSS = """
    ExportScreen #fields { height: 9; }
    ExportScreen OutputPanel { height: 1fr; }
    ExportScreen #count { height: 1; }
    ExportScreen #line { height: 2; }
    ExportScreen #pushes { height: 1; }
    ExportScreen.-low #fields { height: 6; }
    ExportScreen.-flat #fields { height: 1fr; }
    ExportScreen.-flat OutputPanel { display: none; }
    ExportScreen.-flat.-output #fields { display: none; }
    ExportScreen.-flat.-output OutputPanel { display: block; }
    ExportScreen.-tall #fields { height: 10; }
    ExportScreen.-tall #line { height: 3; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._child: ChildProcess | None = None
        self._filter = ""
        self._usual = ""

    @override
    def compose_body(self) -> ComposeResult:
        with Vertical():
            with Fields(id="fields"):
                yield Choice("format", FORMATS)
                yield FormField("filter", HINT, "As on screen 3.")
                yield FormField(
                    "out", "folder, or file for pgn and sgf", "What is written; it must not be there yet."
                )
                yield FormField(
                    "split", "none", "Share of the matches for training, as 0.9; the others validate."
                )
                yield FormField("limit", "all", "The newest, at most so many.")
                for name in _SWITCHES:
                    yield Choice(name, OFF_ON)
            yield BareLines(id="count")
            yield BareLines(id="line")
            with Horizontal(id="pushes"):
                yield Push("export", "Export")
                yield Push("copy", "Copy the line")
            yield OutputPanel("newest of them")

    def on_mount(self) -> None:
        """Set the format to npz, which needs no further package; take the filter of the previous screen."""
        self.query_one("#field-format", Choice).value = "npz"
        self.query_one("#field-filter", FormField).value = self._filter
        self._take_usual()
        self.changed()

    @override
    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        if self.is_mounted:
            self._take_usual()

    def _take_usual(self) -> None:
        """Put the current tournament into the filter, unless the user has changed it."""
        field, before = self.query_one("#field-filter", FormField), self._usual
        tournament = dashboard_of(self).tournament
        self._usual = word("tournament", tournament) if tournament else ""
        if field.value == before:
            field.value = self._usual

    def on_unmount(self) -> None:
        """End a running command."""
        if self._child is not None and self._child.status is None:
            self._child.end()

    @property
    @override
    def can_filter(self) -> bool:
        return True

    @override
    def open_filter(self) -> None:
        self.query_one("#input-filter").focus()

    def show_filter(self, text: str) -> None:
        """Put a filter into the form, as if it had been typed."""
        self._filter = text
        for field in self.query("#field-filter").results(FormField):
            field.value = text

    @override
    def words(self, form: ExportForm) -> list[str]:
        return export_words(form)

    @property
    def _runs(self) -> bool:
        return self._child is not None and self._child.status is None

    @override
    def show_model(self, model: Model, change: Change | None) -> None:
        if change is None or "standings" in change.facts:
            self.changed()

    @override
    def look(self, query: Query, form: ExportForm) -> ExportPreview:
        return preview(query, form)

    @override
    def show_found(self, found: ExportPreview | None, trouble: str) -> None:
        count, panel = self.query_one("#count", BareLines), self.query_one(OutputPanel)
        if found is None:
            count.say(f" ! {safe(trouble)}", "alert")
            return
        count.say(f" {found.text}", "" if found.num_matches else "alert")
        if self._child is None:
            panel.clear("newest of them")
            panel.add(preview_line(row) for row in found.newest)
            panel.go_to(0, tell=False)

    def on_push_pushed(self, message: Push.Pushed) -> None:
        """Export, or copy the command line."""
        message.stop()
        if message.name == "export":
            self.run_line()
        else:
            dashboard_of(self).action_copy()

    def run_line(self) -> None:
        """Run the command line."""
        if not dashboard_of(self).may_act():
            return
        if self._runs:
            self.notify("an export is already running; esc ends it", markup=False)
            return
        try:
            words = export_words(self.form)
        except ArenaError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        store = dashboard_of(self).store
        self._child = ChildProcess([words[0], *(("--db", store) if store is not None else ()), *words[1:]])
        self.add_class("-output")
        panel = self.query_one(OutputPanel)
        panel.clear("exporting; esc ends it")
        panel.focus()
        self.run_worker(partial(self._child.follow, self), name="export", group="export", thread=True)

    def on_output(self, message: Output) -> None:
        """Show the output of the command."""
        message.stop()
        if message.child is not self._child:
            return
        panel = self.query_one(OutputPanel)
        panel.add(message.lines)
        if message.status is not None:
            panel.title = "exported" if message.status == 0 else "not exported"
            panel.note = "done" if message.status == 0 else f"ended with {message.status}"
            panel.repaint()

    @override
    def go_back(self) -> bool:
        if self._child is None:
            return False
        if self._runs:
            self._child.end()
            return True
        self._child = None
        self.remove_class("-output")
        self.query_one(Push).focus()
        self.changed()
        return True


_NUM_NEWEST: Final = 50
"""Maximum number of matches in the preview."""
_PAGE: Final = 100
"""Number of matches read from the store at once."""


def export_words(form: ExportForm) -> list[str]:
    """Return the command line of a form after `arena`, as a list of words.

    Raises:
        ConfigError: a field is missing or invalid.
    """
    condition = read_condition(form.filter)
    return form.words([] if condition.is_empty else [f"--where={condition.text}"])


def preview(query: Query, form: ExportForm) -> ExportPreview:
    """Count the matches that a form would export, and return the newest; an empty preview without a store.

    Raises:
        Cancelled: the query was cancelled.
        ArenaError: the form or the store cannot be read.
    """
    condition = read_condition(form.filter)
    limit = _limit(form.limit)
    try:
        with query.store() as store:
            where = condition.to_filter(store, rated_only=form.unrated != "on")
            chosen = ExportQuery(where=where, include_forfeits=form.forfeits == "on", limit=limit)
            found = count(store, chosen)
            newest = _newest(store, chosen, min(found.num_matches, _NUM_NEWEST))
    except NoStoreYet:
        return ExportPreview()
    return ExportPreview(
        num_matches=found.num_matches,
        num_positions=found.num_positions,
        games=found.games,
        newest=tuple(map(row_of, newest)),
    )


def _newest(store: Store, query: ExportQuery, num: int) -> list[StoredMatch]:
    """Return the `num` newest matches of an export, which has at least as many."""
    found: list[StoredMatch] = []
    before: int | None = None
    # Forfeits, which are left out, may fill most of a page.
    while len(found) < num and (page := store.matches.newest(query.where, before=before, limit=_PAGE)):
        found += [
            match
            for match in page
            if match.outcome != Outcome.VOID
            and not match.void_reason
            and match.termination in query.terminations
        ]
        before = page[-1].id
    return found[:num]


def preview_line(row: MatchRow) -> str:
    """Format a match: `spring/312 az 1-0 mcts rules, 23 plies`."""
    names = f"{row.names[0]} {row.result} {row.names[1]}"
    return f"{row.address} {names} {row.termination}, {row.plies} plies"


def _limit(text: str) -> int | None:
    if not text.strip():
        return None
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ConfigError(f'limit: "{text}" is no whole number from 1')
    return number
