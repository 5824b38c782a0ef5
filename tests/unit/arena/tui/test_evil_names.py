"""Names with control sequences, markup or excessive length change only the text that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from typing_extensions import override

from arena.live.events import Finished, RunState, make_event
from arena.live.reducer import reduce_all
from arena.live.views import FinishedMatch, LiveView, Notice
from arena.tui.app import ArenaApp
from arena.tui.screens.live_panels import fault_lines, finished_line, notice_line
from arena.tui.shell.chrome import FooterLine, HeaderLine
from arena.tui.shell.follow import NewData
from arena.tui.widgets.bars import EvalStrip
from arena.tui.widgets.charts import LineChart, RatingPlot
from arena.tui.widgets.encounter_tables import Matrix
from arena.tui.widgets.large_board import LargeBoard
from arena.tui.widgets.match_list import MatchList
from arena.tui.widgets.panel import LinesPanel
from arena.tui.widgets.small_board import SmallBoard
from arena.tui.widgets.standings_table import StandingsTable
from arena.watching.feed import FeedUpdate, Health, Model, advance
from dashboard import (
    Host,
    LiveLike,
    lines_of,
    lines_over_time,
    matrix,
    piloted,
    screen_lines,
    standings,
    stored_matches,
)
from live_samples import EVIL, match_events, played

if TYPE_CHECKING:
    from textual.pilot import Pilot
    from textual.widget import Widget


def _fill(widgets: dict[str, Any], name: str) -> None:
    """Show data with `name` in every place for names, without the cleaning that the reducer does."""
    match = played("connect-four", "4 4")
    seats = tuple(replace(seat, name=name, label=name) for seat in match.seats)
    match = replace(match, seats=seats, trouble="", termination=name, outcome="first")
    widgets["board"].show(match, 3.0)
    widgets["large"].show(match, status=name)
    widgets["evals"].show(match)
    table = standings([name] * 6)
    widgets["standings"].show(replace(table, title=name))
    widgets["ratings"].show(table.rows)
    widgets["matrix"].show(matrix([name] * 6))
    widgets["chart"].show(lines_over_time([name] * 3))
    row = FinishedMatch(
        number=1,
        names=(name, name),
        labels=(name, name),
        outcome="second",
        termination=name,
        reason=name,
        plies=3,
        t=0.0,
    )
    notice = Notice(t=0.0, number=3, label=name, termination=name, text=name)
    widgets["news"].show(
        [finished_line(row, 40), notice_line(notice)[1:], *fault_lines({name: {name: 1}}, {name: 3})], name
    )


def test_widgets_keep_their_shape() -> None:
    widgets: dict[str, Widget] = {
        "board": SmallBoard(),
        "large": LargeBoard(),
        "evals": EvalStrip(),
        "standings": StandingsTable(),
        "ratings": RatingPlot(),
        "matrix": Matrix(),
        "chart": LineChart("chart"),
        "news": LinesPanel("news"),
    }
    widgets["news"].styles.height = 7
    lists: list[Widget] = [MatchList(stored_matches(3, (name, name))) for name in EVIL]
    for widget in lists:
        widget.styles.height = 4
    app = Host(*widgets.values(), *lists)

    async def act(pilot: Pilot[None]) -> None:
        for name in ("plain", *EVIL):
            _fill(widgets, name)
            await pilot.pause()
            for kind, widget in widgets.items():
                lines = lines_of(widget)
                assert all(line.isprintable() for line in lines), (kind, name)
                assert all(line.isascii() for line in lines), (kind, name)
                frame = (lines[0][0], lines[0][-1], lines[-1][0], lines[-1][-1])
                assert frame == ("+", "+", "+", "+"), (kind, name)
        for widget in lists:
            assert all(line.isprintable() and "1-0" in line for line in lines_of(widget)[1:])

    piloted(app, act, size=(80, 160))


class Named(LiveLike):
    """A screen with texts from the data."""

    @override
    def text_to_copy(self) -> str:
        return self._name

    @override
    def tab_note(self) -> str:
        return self._name

    @override
    def show_model(self, model: Model, change: object) -> None:
        self._name = str(model.facts.get("evil", ""))

    _name = ""


def test_the_shell_keeps_its_shape() -> None:
    batches = [
        FeedUpdate(
            events=[
                *match_events("tic-tac-toe", ["b2"], bots=(name, name)),
                make_event(
                    50, RunState(state="running", planned=9, done=1, name=name, game=name, tc=name), t=1.0
                ),
            ],
            facts={"evil": name},
            health=Health(store=name),
        )
        for name in EVIL
    ]
    app = ArenaApp(None, [Named], glyphs="ascii", clock=lambda: 1e9)

    async def act(pilot: Pilot[None]) -> None:
        for batch in batches:
            app.post_message(NewData(advance(Model(), batch)))
            await pilot.pause()
            app.paint(everything=True)
            app.action_copy()
            await pilot.pause()
            assert len(app.screen.query_one(HeaderLine).text_lines()) == 1
            assert "? Help" in app.screen.query_one(FooterLine).text_lines()[0]
            lines = screen_lines(app)
            assert len(lines) == 24
            assert all(line.isprintable() for line in lines)

    piloted(app, act)


def test_views_hold_clean_text_only() -> None:
    for name in EVIL:
        events = [
            *match_events("tic-tac-toe", ["b2"], bots=(name, name)),
            make_event(
                90, Finished(outcome="first", termination=name, reason=name, plies=1), t=9.0, match=313
            ),
        ]
        view = reduce_all(LiveView(), events)
        (row,) = view.finished
        assert all(text.isprintable() for text in (*row.names, *row.labels, row.termination, row.reason))
