"""The dashboard under test: screens and widgets in a simulated terminal, with fixed data."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any, TypeVar

from rich.cells import cell_len
from textual.containers import Horizontal, Vertical
from textual.worker import WorkerCancelled
from typing_extensions import override

from arena.live.events import RunState, make_event
from arena.live.table_views import MatchRow, MatrixCell, MatrixView, Point, Series, StandingRow, StandingsView
from arena.live.wall import wall
from arena.tui.app import ArenaApp
from arena.tui.look import LookApp
from arena.tui.screens.dashboard import Dashboard, StartPoint
from arena.tui.shell.screen import ArenaScreen
from arena.tui.start import SCREENS
from arena.tui.widgets.bars import ProgressPanel
from arena.tui.widgets.match_list import MatchList
from arena.tui.widgets.small_board import SmallBoard
from arena.tui.widgets.standings_table import StandingsTable
from arena.watching.feed import FeedUpdate, Health
from arena.watching.match_source import Page
from arena.watching.query import Queries
from feeds import RecordedFeed
from live_samples import match_events

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from pathlib import Path

    from textual.app import App, ComposeResult
    from textual.message import Message
    from textual.pilot import Pilot
    from textual.widget import Widget

    from arena.tui.glyphs import GlyphName
    from arena.watching.feed import Change, Feed, Model
    from arena.watching.match_source import PageRequest
    from arena.watching.query import Query

DEADLINE_S = 240.0
"""Seconds after which a test that is still waiting fails."""
_Result = TypeVar("_Result")
NAMES = ("az", "mm5", "mcts", "td", "keras", "random")
ELO = (1913, 1757, 1690, 1359, 1323, 957)
ERRORS = (104, 89, 85, 87, 89, 143)
POINTS = (92.0, 77.0, 70.0, 36.0, 32.5, 4.5)
SCORES = (
    (None, 67, 79, 100, 98, 100),
    (33, None, 62, 88, 88, 100),
    (21, 38, None, 95, 86, 98),
    (0, 12, 5, None, 60, 95),
    (2, 12, 14, 40, None, 86),
    (0, 0, 2, 5, 14, None),
)
"""Score of row against column in percent, for the sample crosstable."""


def piloted(
    app: App[None], act: Callable[[Pilot[None]], Awaitable[_Result]], size: tuple[int, int] = (80, 24)
) -> _Result:
    """Run an app in a terminal of `size`, and `act` on it; if it takes too long, the error has the screen."""

    async def run() -> _Result:
        async with app.run_test(size=size, notifications=True) as pilot:
            try:
                async with asyncio.timeout(DEADLINE_S):
                    await settle(pilot)
                    return await act(pilot)
            except TimeoutError as error:
                error.add_note("\n".join(screen_lines(app)))
                raise

    return asyncio.run(run())


async def settle(pilot: Pilot[None]) -> None:
    """Wait until threads have delivered their results, and all of them are shown."""
    while await _was_replaced(pilot.app):
        pass
    await pilot.pause()


async def _was_replaced(app: App[Any]) -> bool:
    """Wait for all workers; return whether one was cancelled, because its successor may still be at work.

    A replaced feed has usually ended before its successor delivers, but not if its thread is slow.
    """
    ends = await asyncio.gather(*(worker.wait() for worker in app.workers), return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException) and not isinstance(end, WorkerCancelled):
            raise end
    return any(isinstance(end, WorkerCancelled) for end in ends)


class Host(LookApp):
    """Shows widgets one below the other, none of them focused."""

    AUTO_FOCUS = None

    def __init__(self, *widgets: Widget, glyphs: GlyphName = "ascii", theme: str = "") -> None:
        super().__init__(glyphs=glyphs, theme=theme, reduce_motion=True)
        self.queries = Queries(None)
        self._hosted = widgets

    @override
    def compose(self) -> ComposeResult:
        with Vertical():
            yield from self._hosted


class Heard(Host):
    """Remembers the messages of its widgets."""

    def __init__(self, *widgets: Widget) -> None:
        super().__init__(*widgets)
        self.heard: list[Message] = []

    def on_matrix_selected(self, message: Message) -> None:
        self.heard.append(message)

    on_row_list_selected = on_row_list_moved = on_matrix_selected
    on_small_board_opened = on_timeline_sought = on_matrix_selected


def lines_of(widget: Widget) -> list[str]:
    """Return what a widget paints, each line as wide as the widget in cells."""
    lines = [widget.render_line(y).text for y in range(widget.size.height)]
    assert {cell_len(line) for line in lines} <= {widget.size.width, widget.scrollable_content_region.width}
    return lines


def screen_lines(app: App[Any]) -> list[str]:
    """Return the whole screen as text."""
    strips = app.screen._compositor.render_strips(app.size)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # what a terminal would show
    return [strip.text for strip in strips]


def standings(names: Sequence[str] = NAMES) -> StandingsView:
    """Return sample standings."""
    rows = tuple(
        StandingRow(
            rank=place + 1,
            name=name,
            label=name,
            elo=ELO[place % 6],
            error=ERRORS[place % 6],
            elo_low=ELO[place % 6] - ERRORS[place % 6],
            elo_high=ELO[place % 6] + ERRORS[place % 6],
            games=104,
            wins=90 - place,
            draws=4,
            losses=10 + place,
            points=POINTS[place % 6],
            score_first=0.9,
            score_second=0.8,
            faults=place,
            los=0.95,
            trend=(1.0, 2.0, 3.0, 2.0, 5.0),
        )
        for place, name in enumerate(names)
    )
    return StandingsView(title="rr-42", rows=rows)


def matrix(names: Sequence[str] = NAMES) -> MatrixView:
    """Return a sample crosstable."""
    ranks = tuple(map(str, range(1, len(names) + 1)))
    cells = tuple(map(_matrix_row, SCORES))
    return MatrixView(names=tuple(names), labels=tuple(names), ranks=ranks, cells=cells)


def _matrix_row(scores: Sequence[int | None]) -> tuple[MatrixCell | None, ...]:
    return tuple(
        None
        if score is None
        else MatrixCell(games=100, wins=score, losses=100 - score, elo=4.0 * (score - 50))
        for score in scores
    )


def lines_over_time(names: Sequence[str] = NAMES[:3]) -> list[Series]:
    """Return ratings over time that diverge."""
    return [
        Series(name, tuple(Point(10.0 * x, 1500 + (1 - place) * 13.0 * x) for x in range(31)))
        for place, name in enumerate(names)
    ]


def stored_matches(total: int, names: tuple[str, str] = ("az", "mcts:playouts=1000")) -> Provider:
    """Return a provider of `total` matches."""
    return Provider(total, names)


class Provider:
    """Provides pages of matches, newest first, and records what it was asked for."""

    def __init__(self, total: int, names: tuple[str, str]) -> None:
        self.total = total
        self.asked: list[PageRequest] = []
        self._names = names
        self._first = 0

    def __call__(self, request: PageRequest, _: Query) -> Iterator[Page]:
        """Yield a page; the rows of an ascending order count up."""
        self.asked.append(request)
        end = min(self.total, request.offset + request.limit)
        numbers = range(request.offset, end)
        self._first = self._first or self.total
        yield Page(
            num_newer=self.total - self._first if request.descending else 0,
            rows=tuple(self._row(self.total - n if request.descending else n + 1) for n in numbers),
            total=self.total,
        )

    def _row(self, number: int) -> MatchRow:
        return MatchRow(
            stored=number,
            number=number,
            names=self._names,
            outcome="first",
            termination="rules",
            plies=number % 42,
            t=0.0,
            tournament="rr-42",
            game="connect-four",
        )


class LiveLike(ArenaScreen):
    """Boards, standings and progress, as a screen of the dashboard would show them."""

    NAME = "live"
    KEY = "1"
    LABEL = "Live"
    FILTER_HINT = "bot:az"
    HELP = "The wall of boards."
    CSS = """
    #wall { width: 54; layout: grid; grid-size: 3 2; grid-rows: 10; }
    #side { width: 26; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[Change | None] = []
        self.filters: list[str] = []

    @override
    def compose_body(self) -> ComposeResult:
        with Horizontal():
            with Vertical(id="wall"):
                for place in range(6):
                    yield SmallBoard(id=f"board-{place}")
            with Vertical(id="side"):
                yield StandingsTable()
                yield ProgressPanel()

    def on_mount(self) -> None:
        for panel in (self.query_one(StandingsTable), self.query_one(ProgressPanel)):
            panel.has_frame = False

    @override
    def show_model(self, model: Model, change: Change | None) -> None:
        self.shown.append(change)
        boards = [*wall(model.view).boards, *([None] * 6)]
        for widget, board in zip(self.query(SmallBoard), boards, strict=False):
            widget.show(board, 100.0)
        table = model.facts.get("standings")
        if isinstance(table, StandingsView):
            self.query_one(StandingsTable).show(table)
        self.query_one(ProgressPanel).show(model.view.progress)

    @override
    def tick(self, now: float) -> None:
        for board in self.query(SmallBoard):
            board.tick(now)

    @override
    def filter_changed(self, text: str) -> None:
        self.filters.append(text)

    @override
    def text_to_copy(self) -> str:
        return "[b]#313[/] az v mcts"


class MatchesLike(ArenaScreen):
    """A list of matches."""

    NAME = "matches"
    KEY = "3"
    LABEL = "Matches"
    provider = stored_matches(1000)

    @override
    def compose_body(self) -> ComposeResult:
        yield MatchList(self.provider)


RUN = RunState(
    state="running",
    planned=600,
    done=312,
    name="rr-42",
    game="connect-four",
    tc="10+0.1",
    workers=8,
    rate=7.8,
)
"""A running tournament."""
RUN_EVENTS = [
    make_event(1, RUN, t=99.0),
    *(
        make_event(event.seq + 1, event.body(), t=99.5, match=313, ply=event.ply)
        for event in match_events("connect-four", ["4", "4"])
    ),
]
"""Events of the tournament, and of a match of two plies."""


class Bare(ArenaScreen):
    """A screen with one empty board."""

    NAME = "standings"
    KEY = "2"
    LABEL = "Standings"
    SHORT_LABEL = "Stand"

    @override
    def compose_body(self) -> ComposeResult:
        yield SmallBoard()


def sample_app(feed: Feed | None = None, **options: Any) -> ArenaApp:  # noqa: ANN401 # of the app
    """Return the shell with three screens and a running match; its clock advances by a second per reading."""
    ticks = itertools.count(100)
    feed = feed or RecordedFeed(
        [FeedUpdate(events=RUN_EVENTS, facts={"standings": standings()}, health=Health(store="a.db"))]
    )
    options = {"glyphs": "ascii", "clock": lambda: float(next(ticks)), "reduce_motion": True, **options}
    return ArenaApp(feed, [LiveLike, Bare, MatchesLike], **options)


def running_dashboard(
    folder: Path,
    facts: dict[str, object],
    *,
    glyphs: GlyphName,
    theme: str = "",
    goal: str | None = None,
) -> Dashboard:
    """Return the whole dashboard with that running match, at one moment, without a store."""
    return Dashboard(
        RecordedFeed([FeedUpdate(events=RUN_EVENTS, facts=facts, goal=goal)]),
        SCREENS,
        store=str(folder / "none.db"),
        at=StartPoint("rr-42"),
        glyphs=glyphs,
        theme=theme,
        clock=lambda: 100.0,
        reduce_motion=True,
    )


def live_screen(app: ArenaApp) -> LiveLike:
    """Return the current screen, the one with the boards."""
    screen = app.current
    assert isinstance(screen, LiveLike)
    return screen
