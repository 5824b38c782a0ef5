"""Screen 5, bots: their origin, whether they load and pass the conformance kit, and their forfeits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from typing_extensions import override

from arena.live.bot_views import UNTRIED, BotRow, BotsView, bot_lines
from arena.live.labels import fits_words
from arena.results.condition import word
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.page_screens import BotPageScreen
from arena.tui.shell.child import ChildProcess, Output
from arena.tui.shell.screen import NAME_HINT, ArenaScreen
from arena.tui.widgets.output_panel import OutputPanel
from arena.tui.widgets.table import Col, ColumnTable
from arena.watching.bots_source import LIST_WORDS, read_bots, read_status
from arena.watching.query_answers import Answer, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from arena.tui.widgets.row_list import RowList
    from arena.watching.feed import Change, Model


def _check(row: BotRow) -> str:
    return row.checks[0].result if row.checks else "-"


COLUMNS = (
    Col("bot", lambda row: row.name, 8, is_name=True),
    Col("status", lambda row: row.kind, 6),
    Col("matches", lambda row: str(row.games), 7, 2, is_right=True),
    Col("forfeits", lambda row: str(row.num_faults), 8, 1, is_right=True),
    Col("quarantined", lambda row: str(len(row.quarantined) or "-"), 11, 4, is_right=True),
    Col("check", _check, 5, 3),
    Col("version", lambda row: row.version or "-", 7, 5),
    Col("distribution", lambda row: row.distribution or "-", 12, 6),
    Col("place", lambda row: row.place or "-", 6, 7),
)


class BotsTable(ColumnTable[BotRow]):
    """The bots, a row each."""

    HELP = (
        "forfeits are matches lost by a fault; quarantined is the number of tournaments that quarantine the"
        " bot; check is the last result of the conformance kit, old if the bot has changed since."
    )


class BotsScreen(ArenaScreen):
    """All bots: the installed ones and those that have played."""

    NAME = "bots"
    KEY = "5"
    LABEL = "Bots"
    FILTER_HINT = NAME_HINT
    HELP = (
        "All bots that are installed or have played. Each is loaded once, in a process of its own: status"
        " is ok, fails, twice (two distributions offer the name) or another reason. i shows all known facts"
        " about a bot, t runs the conformance kit on it, enter opens its page. As text: arena bots list"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "info", "Info", id="bots.info"),
        Binding("t", "check", "Check", id="bots.check"),
    ]
    CSS = """
    BotsScreen BotsTable { height: 1fr; }
    BotsScreen OutputPanel { height: 9; }
    BotsScreen.-tall OutputPanel { height: 16; }
    BotsScreen.-flat OutputPanel { display: none; }
    BotsScreen.-flat.-output OutputPanel { display: block; height: 1fr; }
    BotsScreen.-flat.-output BotsTable { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._looks = self.query_runner("bots")
        self._view = BotsView()
        self._statuses: dict[tuple[str, str, str], str] = {}
        self._loading: ChildProcess | None = None
        self._child: ChildProcess | None = None
        self._wanted = ""

    @override
    def compose_body(self) -> ComposeResult:
        with Vertical():
            yield BotsTable(COLUMNS, "bots", nothing="looking for bots ...")
            yield OutputPanel("about")

    def on_mount(self) -> None:
        """Read the bots, and try to load each."""
        self.reload()

    @override
    def on_unmount(self) -> None:
        """End the child processes."""
        for child in (self._loading, self._child):
            if child is not None:
                child.end()

    @property
    def table(self) -> BotsTable:
        """The table of bots."""
        return self.query_one(BotsTable)

    @override
    def reload(self) -> None:
        if self._loading is None and not dashboard_of(self).is_read_only:
            self._loading = ChildProcess(LIST_WORDS)
            self._run(self._loading, "load")
        self._look()

    @override
    def show_model(self, model: Model, change: Change | None) -> None:
        if change is not None and "standings" in change.facts:
            self._look()

    def _look(self) -> None:
        self._looks.run(read_bots, "reading bots", self._take, key="all")

    def _run(self, child: ChildProcess, name: str) -> None:
        self.run_worker(partial(child.follow, self), name=name, group=name, thread=True)

    def _take(self, answer: Answer[BotsView]) -> None:
        """Show the bots; if the store cannot be read, the previous results stay."""
        if isinstance(answer, Rows) and not (answer.content.trouble and self._view.rows):
            self._view = answer.content
            self._show()

    def _show(self) -> None:
        view = self._view.with_status(self._statuses)
        rows = [row for row in view.rows if fits_words(self.filter_text, row.name, row.kind)]
        trying = "" if self._loading is None else ", loading each once ..."
        num_bad = sum(row.kind not in ("ok", UNTRIED) for row in view.rows)
        problems = f", with problems {num_bad}" if num_bad else ""
        title = f"bots {len(view.rows)}{problems}{trying}{self.filter_note}"
        nothing = "no bot matches the filter; esc clears it" if self.filter_text else "no bot is installed"
        before = self.table.current
        self.table.show(rows, title=title, nothing=nothing)
        if before is not None:
            self.table.stay_on(before.name, [row.name for row in rows])
        self._go_to_wanted(rows)
        if self._child is None:
            self._describe()

    def show_bot(self, name: str) -> None:
        """Move the cursor to a bot, by the name of its entry point, as soon as it is listed."""
        self.filter_text, self._wanted = "", name
        self._show()

    def _go_to_wanted(self, rows: Sequence[BotRow]) -> None:
        places = [place for place, row in enumerate(rows) if row.name == self._wanted]
        if places:
            self._wanted = ""
            self.table.focus()
            self.table.go_to(places[0])

    @override
    def filter_changed(self, text: str) -> None:
        self._show()

    def _describe(self) -> None:
        row, panel = self.table.current, self.query_one(OutputPanel)
        panel.clear("about")
        if row is not None:
            trouble = [f"results are missing: {self._view.trouble}"] if self._view.trouble else []
            panel.add([*trouble, *bot_lines(row)])
            panel.go_to(0, tell=False)

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        """Describe the bot at the cursor."""
        message.stop()
        if message.sender is self.table and self._is_idle:
            self._child = None
            self._describe()

    @property
    def _is_idle(self) -> bool:
        """Whether no command is running whose output is shown."""
        return self._child is None or self._child.status is not None

    def on_row_list_selected(self, message: RowList.Selected) -> None:
        """Open the page of a bot."""
        message.stop()
        row = self.table.current
        if row is not None and message.sender is self.table:
            dashboard_of(self).push_screen(BotPageScreen(row.name))

    def action_info(self) -> None:
        """Show all information about a bot."""
        self._command("info")

    def action_check(self) -> None:
        """Run the conformance kit on a bot."""
        if not dashboard_of(self).may_act():
            return
        game = dashboard_of(self).model.view.progress.game
        self._command("check", *(("--game", game) if game else ()))

    def _command(self, what: str, *options: str) -> None:
        row = self.table.current
        if row is None:
            return
        if not self._is_idle:
            self.notify("a check is already running; esc ends it", markup=False)
            return
        # After "--" a name such as --help, which an entry point may have, is not taken for an option.
        self._child = ChildProcess(["bots", what, *options, "--", row.name])
        self.add_class("-output")
        panel = self.query_one(OutputPanel)
        panel.clear(f"arena {' '.join(self._child.words)}")
        panel.focus()
        self._run(self._child, "command")

    def on_output(self, message: Output) -> None:
        """Show the output of a command; the output of `arena bots list` becomes the status of each bot."""
        message.stop()
        if message.child is self._loading:
            self._statuses |= read_status(message.lines)
            if message.status is not None:
                self._loading = None
            self._show()
        elif message.child is self._child:
            panel = self.query_one(OutputPanel)
            panel.add(message.lines)
            if message.status is not None:
                panel.note = "done" if message.status == 0 else f"ended with {message.status}"
                panel.repaint()
                self._look()

    @override
    def go_back(self) -> bool:
        if not self._is_idle:
            if self._child is not None:
                self._child.end()
            return True
        if self._child is None and not self.has_class("-output"):
            return False
        self._child = None
        self.remove_class("-output")
        self.table.focus()
        self._describe()
        return True

    @override
    def export_filter(self) -> str:
        row = self.table.current
        return "" if row is None else word("bot", row.name)

    @override
    def opponent(self) -> str:
        row = self.table.current
        return "" if row is None else row.name

    @override
    def text_to_copy(self) -> str:
        if self._child is not None:
            return "\n".join(self.query_one(OutputPanel).said)
        row = self.table.current
        return "" if row is None else row.name
