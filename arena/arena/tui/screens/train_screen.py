"""Screen 6: training runs: their metrics, live, one run or several side by side."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.containers import Grid, Horizontal, Vertical
from textual.message import Message
from typing_extensions import override

from arena.home import home
from arena.live.labels import fits_words
from arena.live.plain import duration_text, moment_text
from arena.live.run_views import MetricChart, RunRow, Runs, number_text
from arena.results.names import shortened
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.event_control import TrainingControl
from arena.tui.shell.screen import NAME_HINT, ArenaScreen
from arena.tui.text import left, right
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.charts import LineChart
from arena.tui.widgets.output_panel import OutputPanel
from arena.tui.widgets.panel import LinesPanel
from arena.tui.widgets.table import Col, ColumnTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult

    from arena.tui.text import Line
    from arena.tui.widgets.row_list import RowList
    from arena.watching.feed import Change, Model

_LOOK_S = 1.0
"""Seconds between two reads of the files while the screen is shown; each reads only what is new."""
_NUM_CHARTS = 4
"""Number of charts that the largest terminal shows at once."""
_LABEL = 10
"""Width of the names beside charts, in cells."""
_LONG_AGO_S = 36 * 3600.0
"""Seconds after which a time is shown as a date."""
_VALUE = 12
"""Width of a number in the list of last values, in cells: that of `not a number`, the longest text."""


class AskedTraining(NamedTuple):
    """The data to read."""

    run: str
    """The run whose charts are shown."""
    compared: tuple[str, ...]
    """Runs whose lines are compared in one chart; empty for one run only."""
    has_log: bool


class RunsTable(ColumnTable[RunRow]):
    """The runs, a row each, the newest first; the marked ones are compared."""

    HELP = "Enter marks a run (*) or unmarks it; c compares the marked runs, or all if none is marked."


class TrainScreen(ArenaScreen):
    """The metrics of trainers."""

    NAME = "train"
    KEY = "6"
    LABEL = "Train"
    FILTER_HINT = NAME_HINT
    HELP = (
        "Training runs, from metrics.jsonl in their folders: losses, scores against reference bots, accuracy,"
        " entropy and learning rate by step, and the last value of everything. c compares runs, enter marks"
        " those to compare, l shows the log of a run, [ and ] turn to other charts. P pauses a run or resumes"
        " it; X stops it with a checkpoint, K ends it at once. As text: the file itself"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "compare", "Compare", id="train.compare"),
        Binding("l", "log", "Log", id="train.log"),
        Binding("left_square_bracket", "page(-1)", "Charts before", show=False, id="train.page-back"),
        Binding("right_square_bracket", "page(1)", "Charts", key_display="[ ]", id="train.page"),
        Binding("P", "pause", "Pause", id="train.pause"),
        Binding("X", "stop", "Stop", id="train.stop"),
        Binding("K", "abort", "Abort", show=False, id="train.abort"),
    ]
    CSS = """
    TrainScreen #side { width: 30; height: 1fr; }
    TrainScreen RunsTable { height: 1fr; }
    TrainScreen #values { height: 9; }
    TrainScreen #charts { width: 1fr; height: 1fr; grid-size: 1 1; }
    TrainScreen #charts LineChart { height: 1fr; }
    TrainScreen OutputPanel { width: 1fr; height: 1fr; display: none; }
    TrainScreen #caption { height: 1; }
    TrainScreen.-log OutputPanel { display: block; }
    TrainScreen.-log #charts { display: none; }
    TrainScreen.-wide #side { width: 40; }
    TrainScreen.-tall #values { height: 16; }
    TrainScreen.-low #values, TrainScreen.-flat #values { height: 5; }
    TrainScreen.-pair #split, TrainScreen.-single #split { layout: vertical; }
    TrainScreen.-pair #side, TrainScreen.-single #side { width: 1fr; height: 6; }
    TrainScreen.-pair #values, TrainScreen.-single #values { display: none; }
    TrainScreen.-flat.-single #side, TrainScreen.-flat.-pair #side { height: 3; }
    TrainScreen.-flat #values { display: none; }
    """

    class Read(Message):
        """The files were read."""

        def __init__(self, asked: AskedTraining, rows: Sequence[RunRow]) -> None:
            super().__init__()
            self.asked = asked
            self.rows = rows
            self.charts: Sequence[MetricChart] = ()
            self.values: Mapping[str, tuple[float, float, int]] = {}
            self.log: Sequence[str] = ()
            self.has_more = False

    class Answered(Message):
        """The result of an order to a run."""

        def __init__(self, text: str, *, is_trouble: bool) -> None:
            super().__init__()
            self.text = text
            self.is_trouble = is_trouble

    def __init__(self) -> None:
        super().__init__()
        self._answer: tuple[str, str] = ("", "dim")
        self._runs = Runs(home() / "runs")
        self._steering = TrainingControl(self, self._runs.folder, self._answered)
        self._is_reading = False
        self._is_due = False
        self._marked: set[str] = set()
        self._compares = False
        self._page = 0
        self._charts: Sequence[MetricChart] = ()
        self._log: Sequence[str] = ()

    @override
    def compose_body(self) -> ComposeResult:
        columns = (
            Col("", lambda row: "*" if row.name in self._marked else " ", 1),
            Col("run", lambda row: row.name, 8, is_name=True),
            Col("step", lambda row: number_text(row.step), 5, is_right=True),
            Col("loss", lambda row: number_text(row.loss), 6, 1, is_right=True),
            Col("score", lambda row: number_text(row.score), 5, 2, is_right=True),
        )
        with Vertical():
            with Horizontal(id="split"):
                with Vertical(id="side"):
                    yield RunsTable(columns, "runs", nothing="looking ...")
                    yield LinesPanel("last values", id="values")
                with Grid(id="charts"):
                    for place in range(_NUM_CHARTS):
                        yield LineChart(axis="step", label=_LABEL, id=f"chart-{place}")
                yield OutputPanel("log")
            yield BareLines(id="caption")

    def on_mount(self) -> None:
        """Read the files, and again at intervals while the screen is shown."""
        self.set_interval(_LOOK_S, self._look_if_shown, name="runs")
        self._look()

    @property
    def table(self) -> RunsTable:
        """The table of runs."""
        return self.query_one(RunsTable)

    @override
    def reload(self) -> None:
        self._look()

    @override
    def show_model(self, model: Model, change: Change | None) -> None:
        if change is None:
            self._look()

    def _look_if_shown(self) -> None:
        if self.is_current and not dashboard_of(self).is_frozen:
            self._look()

    def _look(self) -> None:
        """Start reading the files; if a read is in progress, repeat it afterwards."""
        self._is_due = self._is_reading
        if not self._is_reading:
            self._is_reading = True
            self.run_worker(partial(self._reading, self._asked()), name="runs", group="runs", thread=True)

    def _asked(self) -> AskedTraining:
        row = self.table.current
        compared: tuple[str, ...] = ()
        if self._compares:
            names = [self.table.row(place).name for place in range(self.table.num_rows)]
            compared = tuple(name for name in names if name in self._marked) or tuple(names)
        return AskedTraining("" if row is None else row.name, compared[:8], self.has_class("-log"))

    def _reading(self, asked: AskedTraining) -> None:
        """Read new data, in a thread."""
        has_more = self._runs.read([asked.run, *asked.compared])
        message = self.Read(asked, self._runs.rows())
        name = asked.run or (message.rows[0].name if message.rows else "")
        message.charts = self._runs.comparison(asked.compared) if asked.compared else self._runs.charts(name)
        message.values = self._runs.last_values(name)
        message.log = self._runs.log(name) if asked.has_log else ()
        message.has_more = has_more
        self.post_message(message)

    def on_train_screen_read(self, message: Read) -> None:
        """Show new data."""
        message.stop()
        self._is_reading = False
        before, table = self.table.current, self.table
        live = sum(row.is_live(dashboard_of(self).clock()) for row in message.rows)
        nothing = "no run yet; arena train begins one"
        rows = [row for row in message.rows if fits_words(self.filter_text, row.name)]
        if message.rows and not rows:
            nothing = "no run matches the filter; esc clears it"
        table.show(rows, title=f"runs {len(message.rows)}, live {live}{self.filter_note}", nothing=nothing)
        if before is not None:
            table.stay_on(before.name, [row.name for row in rows])
        self._marked &= {row.name for row in message.rows}
        if message.asked == self._asked() or not message.asked.run:
            self._charts = message.charts
            self._show_values(message.values)
            if message.asked.has_log:
                self._show_log(message.log)
        self._show_charts()
        if message.has_more or self._is_due or message.asked != self._asked():
            self._look()

    def _show_values(self, values: Mapping[str, tuple[float, float, int]]) -> None:
        panel = self.query_one("#values", LinesPanel)
        has_steps = panel.size.width > 36  # noqa: PLR2004 # room for a name, a number and a step
        width = max(8, panel.size.width - 3 - _VALUE - (9 if has_steps else 0))
        lines: list[Line] = [
            (
                (f" {left(name, width)}", ""),
                (right(number_text(value), _VALUE), "title"),
                (f" @{number_text(step)}" if has_steps else "", "dim"),
            )
            for name, (step, value, _) in zip(shortened(list(values), width), values.values(), strict=True)
        ]
        panel.show(lines or [((" no values yet", "dim"),)])

    def _show_log(self, lines: Sequence[str]) -> None:
        if lines != self._log:
            self._log = lines
            panel, row = self.query_one(OutputPanel), self.table.current
            panel.clear(f"log of {row.name}" if row is not None else "log")
            panel.add(lines or ["this run has no log"])

    def _num_shown(self) -> int:
        is_single = self.has_class("-pair") or self.has_class("-single")
        rows = 1 if self.has_class("-low") or self.has_class("-flat") or is_single else 2
        return rows * (2 if self.has_class("-wide") else 1)

    def _show_charts(self) -> None:
        room = self._num_shown()
        self.table.has_frame = not self.has_class("-flat")
        num_pages = max(1, -(-len(self._charts) // room))
        self._page %= num_pages
        shown = list(self._charts[self._page * room : (self._page + 1) * room])
        # Few charts share all the room, so that no part of the screen stays empty.
        styles = self.query_one("#charts", Grid).styles
        styles.grid_size_columns = columns = 2 if self.has_class("-wide") and len(shown) > 1 else 1
        styles.grid_size_rows = max(1, -(-len(shown) // columns))
        for place, widget in enumerate(self.query("#charts LineChart").results(LineChart)):
            chart = shown[place] if place < len(shown) else None
            widget.display = chart is not None or place == 0
            widget.title = "metrics" if chart is None else chart.title
            widget.show(() if chart is None else chart.series)
        self._describe(len(shown), num_pages)

    def _describe(self, num_shown: int, num_pages: int) -> None:
        row = self.table.current
        if row is None:
            self.query_one("#caption", BareLines).say(f" {self._runs.folder}", "dim")
            return
        page = f"charts {num_shown} of {len(self._charts)}, page {self._page + 1}/{num_pages}"
        compare = f"compare: {len(self._asked().compared)} runs" if self._compares else "compare: off"
        state = _age(row, dashboard_of(self).clock())
        parts = [(f" {row.name} {state}   {page}   {compare}", "dim")]
        if row.trouble:
            parts.append((f"   ! {row.trouble}", "alert"))
        if self._answer[0]:
            parts = [(f" {self._answer[0]}", self._answer[1])]
        self.query_one("#caption", BareLines).show([tuple(parts)])

    def on_resize(self) -> None:
        """Show as many charts as fit."""
        if self.query("#caption"):
            self.call_after_refresh(self._show_charts)

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        """Show another run."""
        message.stop()
        if message.sender is self.table:
            self._log = ()
            self._answer = ("", "dim")
            self._look()

    def on_row_list_selected(self, message: RowList.Selected) -> None:
        """Mark a run for comparison, or unmark it."""
        message.stop()
        row = self.table.current
        if row is not None:
            self._marked ^= {row.name}
            self.table.repaint()
            self._look()

    @override
    def filter_changed(self, text: str) -> None:
        self._look()

    def action_compare(self) -> None:
        """Compare the marked runs in shared charts, or show one run again."""
        self._compares = not self._compares
        self._page = 0
        self._look()

    def action_log(self) -> None:
        """Switch between the log and the charts of the run."""
        self.toggle_class("-log")
        self._log = ()
        if self.has_class("-log"):
            self.query_one(OutputPanel).focus()
        else:
            self.table.focus()
        self._look()

    def action_pause(self) -> None:
        """Pause the run, or continue it."""
        self._steering.pause(self.table.current)

    def action_stop(self) -> None:
        """Stop the run, after the user confirms."""
        self._steering.stop(self.table.current)

    def action_abort(self) -> None:
        """End the run at once, after the user confirms."""
        self._steering.abort(self.table.current)

    def _answered(self, text: str, is_trouble: bool) -> None:  # noqa: FBT001 - a callback
        self.post_message(self.Answered(text, is_trouble=is_trouble))

    def on_train_screen_answered(self, message: Answered) -> None:
        """Show the result of an order."""
        message.stop()
        self._answer = (message.text, "alert" if message.is_trouble else "dim")
        self._look()

    @override
    def go_back(self) -> bool:
        if self.has_class("-log"):
            self.action_log()
            return True
        return False

    def action_page(self, step: int) -> None:
        """Show the next or previous charts."""
        self._page += step
        self._show_charts()

    @override
    def text_to_copy(self) -> str:
        row = self.table.current
        return "" if row is None else str(self._runs.folder / row.name)


def _age(row: RunRow, now: float) -> str:
    if row.is_paused(now):
        return "paused"
    if not row.newest_t:
        return "silent"
    if row.is_live(now):
        return "live"
    age = now - row.newest_t
    return (
        f"last value {duration_text(age)} ago"
        if age < _LONG_AGO_S
        else f"last value {moment_text(row.newest_t)}"
    )
