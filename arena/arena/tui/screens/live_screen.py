"""Screen 1: boards of running matches, standings, progress, results, and the focused match."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message
from typing_extensions import override

from arena.errors import ArenaError, ConfigError
from arena.live.table_views import MatrixView, StandingsView
from arena.live.wall import sorted_boards
from arena.results.brackets import count_decided
from arena.results.by_place import EventTables
from arena.results.condition import BOARD_WORDS, Condition, read_condition, word
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.event_control import HELD, PLAYED, EventControl
from arena.tui.screens.focus_panel import FocusPanel
from arena.tui.screens.live_panels import GettingStarted, WallPanel, fault_lines, finished_line, news_lines
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.shell.screen import ArenaScreen
from arena.tui.text import shorten
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.bars import ProgressPanel
from arena.tui.widgets.blank_containers import BlankHorizontal, BlankVertical
from arena.tui.widgets.charts import RatingPlot
from arena.tui.widgets.encounter_tables import Matrix
from arena.tui.widgets.large_board import LargeBoard
from arena.tui.widgets.panel import LinesPanel
from arena.tui.widgets.small_board import SmallBoard
from arena.tui.widgets.standings_table import StandingsTable
from arena.watching.tournament_list import read_tournament

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from arena.live.tournament_views import TournamentRow
    from arena.live.views import LiveView, MatchView
    from arena.watching.feed import Change, Model

_NUM_NEWS = 40
"""Maximum number of results, and of notices, in a list."""
_FRESH_S = 60.0
"""Seconds for which a decision stays above all other events."""


class LiveScreen(ArenaScreen):
    """The matches being played now."""

    NAME = "live"
    KEY = "1"
    LABEL = "Live"
    FILTER_HINT = "bot:az vs:mcts* ply<20"
    HELP = (
        "The matches being played, and the last finished ones. Enter opens one, esc leaves it. P asks the"
        " tournament to pause, or to continue; X asks it to stop and K to abort, after you confirm. R resumes"
        " one that no process plays, or takes it over from a silent process."
    )
    HINTED = ("pause", "stop", "abort", "resume")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "follow", "Follow", id="live.follow"),
        Binding("e", "evals", "Evals", id="live.evals"),
        Binding("s", "sort", "Sort", show=False, id="live.sort"),
        Binding("left_square_bracket", "page(-1)", "Page back", show=False, id="live.page-back"),
        Binding("right_square_bracket", "page(1)", "Page", key_display="[ ]", id="live.page"),
        Binding("plus", "zoom(1)", "Larger boards", show=False, id="live.larger"),
        Binding("minus", "zoom(-1)", "Smaller boards", show=False, id="live.smaller"),
        Binding("P", "pause", "Pause", id="live.pause"),
        Binding("X", "stop", "Stop", id="live.stop"),
        Binding("K", "abort", "Abort", id="live.abort"),
        Binding("R", "resume", "Resume", id="live.resume"),
    ]
    CSS = """
    LiveScreen #wall-row { height: 1fr; }
    LiveScreen #side { width: 26; height: 1fr; }
    LiveScreen #side StandingsTable { width: 1fr; max-height: 9; }
    LiveScreen #side ProgressPanel { height: 3; }
    LiveScreen #side #finished { height: 1fr; }
    LiveScreen #side Matrix { height: auto; display: none; }
    LiveScreen #caption { height: 1; }
    LiveScreen #below { display: none; height: 12; }
    LiveScreen #events { display: none; height: 4; }
    LiveScreen.-pair #side, LiveScreen.-single #side, LiveScreen.-flat #side { display: none; }
    LiveScreen.-wide.-tall #side { width: 48; }
    LiveScreen.-wide.-tall #side StandingsTable { max-height: 50%; }
    LiveScreen.-wide.-tall #side Matrix { display: block; max-height: 50%; }
    /* The header tells of progress there, and the events of what has finished. */
    LiveScreen.-wide.-tall #side ProgressPanel, LiveScreen.-wide.-tall #side #finished { display: none; }
    LiveScreen.-wide.-tall #below, LiveScreen.-wide.-tall #events { display: block; }
    LiveScreen.-wide.-high #events { height: 8; }
    LiveScreen.-wide.-tall #below FocusPanel { width: 72; }
    LiveScreen.-wide.-tall #below RatingPlot { width: 1fr; height: 1fr; }
    /* More than the size of the terminal says. */
    LiveScreen.-empty #below { display: none !important; }
    LiveScreen.-empty #events, LiveScreen.-open #events { display: none !important; }
    LiveScreen.-empty #wall-row > *, LiveScreen.-open #wall-row { display: none; }
    LiveScreen.-empty #wall-row > GettingStarted { display: block; }
    LiveScreen.-open #below { display: block; height: 1fr; }
    LiveScreen.-open #below RatingPlot { display: none; }
    """

    class Said(Message):
        """The outcome of a command to the tournament."""

        def __init__(self, text: str, *, is_trouble: bool = False) -> None:
            super().__init__()
            self.text = text
            self.is_trouble = is_trouble

    class Found(Message):
        """The current state of a tournament that the user wants to resume."""

        def __init__(self, row: TournamentRow) -> None:
            super().__init__()
            self.row = row

    def __init__(self) -> None:
        super().__init__()
        self._control = EventControl(self, self._tell, self._complain)
        self._focus: int | None = None
        self._follows = False
        self._wall = WallPanel(id="wall")
        self._progress = ProgressPanel()
        self._focus_panel = FocusPanel()
        self._caption = BareLines(id="caption")
        self._news: tuple[object, ...] = (None,) * 4

    @override
    def compose_body(self) -> ComposeResult:
        with BlankVertical():
            with BlankHorizontal(id="wall-row"):
                yield GettingStarted("no tournament yet")
                yield self._wall
                with BlankVertical(id="side"):
                    yield StandingsTable()
                    yield Matrix()
                    yield self._progress
                    yield LinesPanel("finished", id="finished")
            with BlankHorizontal(id="below"):
                yield self._focus_panel
                yield RatingPlot()
            yield LinesPanel("events", id="events")
            yield self._caption

    def on_mount(self) -> None:
        """Remove frames where there is no room for them, and apply the saved settings."""
        for panel in (self._progress, self.query_one("#finished", LinesPanel)):
            panel.has_frame = False
        self.query_one(StandingsTable).has_frame = False
        settings = dashboard_of(self).settings
        self._wall.sort, self._wall.zoom = settings.sort, settings.zoom
        self._wall.shows_evals = settings.shows_evals
        self.query_one(Matrix).mode = settings.cells

    @override
    def show_model(self, model: Model, change: Change | None) -> None:
        now = dashboard_of(self).clock()
        view = model.view
        self.set_class(not dashboard_of(self).tournament, "-empty")
        if self._follows:
            self._focus = self._most_active(view)
            self._wall.keep = self._focus
        self._wall.show(view, now)
        event = model.facts.get("event")
        bracket = event.bracket if isinstance(event, EventTables) else ()
        decided = count_decided(bracket) if bracket else None
        self._progress.show(view.progress, decided, is_awaited=model.is_awaited)
        self._show_news(model)
        standings, matrix = model.facts.get("standings"), model.facts.get("matrix")
        if isinstance(standings, StandingsView) and (change is None or "standings" in change.facts):
            ranked = model.facts.get("by_place")
            self.query_one(StandingsTable).show(ranked if isinstance(ranked, StandingsView) else standings)
            self.query_one(RatingPlot).show(standings.rows)
        if isinstance(matrix, MatrixView) and (change is None or "matrix" in change.facts):
            self.query_one(Matrix).show(matrix)
        self._focus_panel.show(self._focused(view), now)
        self._show_caption()
        self._open_wanted(view)

    def _show_news(self, model: Model) -> None:
        """Show results and notices if there are new ones."""
        view, known = model.view, self._news
        self._news = (view.finished, view.notices, view.faults, model.facts.get("standings"))
        if all(one is other for one, other in zip(known, self._news, strict=True)):
            return
        finished = self.query_one("#finished", LinesPanel)
        finished.show([finished_line(match, 26) for match in view.finished[:_NUM_NEWS]])
        ordered = news_lines(view, dashboard_of(self).clock() - _FRESH_S, _NUM_NEWS)
        games: dict[str, int] = {}
        standings = model.facts.get("standings")
        if isinstance(standings, StandingsView):
            games = {row.name: row.games for row in standings.rows}
        self.query_one("#events", LinesPanel).show([*fault_lines(view.faults, games)[:1], *ordered])

    @override
    def tick(self, now: float) -> None:
        self._wall.tick(now)
        self._focus_panel.tick(self._focused(dashboard_of(self).model.view), now)

    def _show_caption(self) -> None:
        model = dashboard_of(self).model
        goal = model.view.progress.goal
        # The goal comes first; captions that do not fit are left out completely.
        width = self._caption.size.width or self.size.width
        text = shorten(goal, width - 2)
        shown, room = "", width - cell_len(text) - 3
        caption = () if model.is_awaited else self._wall.caption()
        for part in (*caption, f"follow: {'on' if self._follows else 'off'}"):
            longer = f"{shown}   {part}" if shown else part
            if cell_len(longer) > room:
                break
            shown = longer
        self._caption.show([((f" {text}  " if text else "", "title"), (f" {shown}", "dim"))])

    @staticmethod
    def _most_active(view: LiveView) -> int | None:
        boards = sorted_boards(view, "activity")
        return boards[0].number if boards else None

    def _focused(self, view: LiveView) -> MatchView | None:
        number = self._focus if self._focus in view.matches else self._most_active(view)
        return None if number is None else view.matches.get(number)

    def _paint(self) -> None:
        self.show_model(dashboard_of(self).model, None)

    def on_small_board_opened(self, message: SmallBoard.Opened) -> None:
        """Open a match: a stored one in the replay, a running one in full size."""
        message.stop()
        match = dashboard_of(self).model.view.matches.get(message.number)
        if match is not None:
            self._open(match)

    def _open_wanted(self, view: LiveView) -> None:
        """Open the match that the dashboard was started for, as soon as it is known."""
        app = dashboard_of(self)
        running = view.matches.get(app.running)
        if app.match:
            stored, app.match = app.match, 0
            app.push_screen(ReplayScreen(stored, ply=app.ply))
        elif running is not None:
            app.running = 0
            self._open(running)

    def _open(self, match: MatchView) -> None:
        if match.is_over and match.stored is not None:
            dashboard_of(self).push_screen(ReplayScreen(match.stored))
            return
        self._follows, self._focus = False, match.number
        self._wall.keep = match.number
        self.add_class("-open")
        self.query_one(LargeBoard).focus()
        self._paint()

    @override
    def go_back(self) -> bool:
        if not self.has_class("-open"):
            return False
        self.remove_class("-open")
        self.call_after_refresh(self._focus_board)
        return True

    def _focus_board(self) -> None:
        for board in self.query(SmallBoard):
            if board.match is not None and board.match.number == self._focus:
                board.focus()

    @override
    def filter_changed(self, text: str) -> None:
        try:
            self._wall.condition = read_condition(text).only(BOARD_WORDS, "the wall")
        except ConfigError as error:
            self._wall.condition = Condition()
            self.notify(str(error), severity="warning", markup=False)
        self._paint()

    @override
    def export_filter(self) -> str:
        tournament = dashboard_of(self).tournament
        return " ".join([word("tournament", tournament)] * bool(tournament) + self.filter_text.split())

    @override
    def text_to_copy(self) -> str:
        match = self._wall.focused_match
        return "" if match is None else match.address

    def action_follow(self) -> None:
        """Keep the most recently active match focused, or stop doing so."""
        self._follows = not self._follows
        self._wall.keep = None
        self._paint()

    def action_evals(self) -> None:
        """Show or hide the search information above the boards."""
        self._wall.switch_evals()
        self._keep_look()

    def action_sort(self) -> None:
        """Sort the boards by the next criterion."""
        self._wall.next_sort()
        self._keep_look()

    def action_page(self, step: int) -> None:
        """Show the next or previous page of boards."""
        self._wall.turn(step)
        self._show_caption()

    def action_zoom(self, step: int) -> None:
        """Show fewer and wider boards, or more."""
        self._wall.change_zoom(step)
        self._keep_look()

    def _keep_look(self) -> None:
        wall = self._wall
        dashboard_of(self).keep(sort=wall.sort, zoom=wall.zoom, shows_evals=wall.shows_evals)
        self._show_caption()

    def action_pause(self) -> None:
        """Pause the tournament, or continue it."""
        app = dashboard_of(self)
        if self._may_ask():
            self._control.pause(app.tournament, is_paused=app.model.view.progress.state == "paused")

    def action_stop(self) -> None:
        """Ask the tournament to stop, after the user confirms."""
        if self._may_ask():
            self._control.stop(dashboard_of(self).tournament, dashboard_of(self).tournament)

    def action_abort(self) -> None:
        """Ask the tournament to abort, after the user confirms."""
        if self._may_ask():
            self._control.abort(dashboard_of(self).tournament, dashboard_of(self).tournament)

    def action_resume(self) -> None:
        """Resume the tournament if no process runs it, after reading its current state."""
        app = dashboard_of(self)
        if self._may_ask():
            looking = partial(self._looking, app.store, app.tournament)
            self.run_worker(looking, name="look", group="look", thread=True)

    @override
    def fit_widgets(self) -> None:
        self._wall.fit()
        self._show_caption()

    @override
    def hints_at(self, action: str) -> bool:
        if action not in self.HINTED:
            return True
        app = dashboard_of(self)
        progress, health = app.model.view.progress, app.model.health
        if not app.tournament or app.is_read_only:
            return False
        is_held = progress.state in HELD and not health.warning(app.clock())
        if action == "resume":
            return not is_held and progress.state != "" and progress.done != progress.planned
        return is_held and (action != "pause" or progress.state in PLAYED)

    def _may_ask(self) -> bool:
        app = dashboard_of(self)
        if not app.tournament:
            self.notify("no tournament is watched; 7 lists them, and n begins one there", markup=False)
        return bool(app.tournament) and app.may_act()

    def _looking(self, store: str | None, tournament: str) -> None:
        """Read the current state of the tournament, in a thread."""
        try:
            self.post_message(self.Found(read_tournament(store, tournament)))
        except ArenaError as error:
            self._complain(str(error))

    def on_live_screen_found(self, message: Found) -> None:
        """Resume the tournament, if that is possible and the user confirms."""
        message.stop()
        self._control.resume(message.row)

    def _tell(self, text: str) -> None:
        self.post_message(self.Said(text))

    def _complain(self, text: str) -> None:
        self.post_message(self.Said(text, is_trouble=True))

    def on_live_screen_said(self, message: Said) -> None:
        """Show the outcome of a command."""
        message.stop()
        severity = "warning" if message.is_trouble else "information"
        self.notify(message.text, severity=severity, markup=False)
