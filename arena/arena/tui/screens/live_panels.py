"""The panels of the live screen: a grid of boards, finished matches, notices, and help for a first start."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.geometry import Size
from typing_extensions import override

from arena.home import store_place
from arena.live.views import LiveView
from arena.live.wall import SORTS, WallView, wall
from arena.results.condition import Condition
from arena.tui.look import app_of
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.text import clip
from arena.tui.widgets.blank_containers import BlankContainer
from arena.tui.widgets.panel import Panel
from arena.tui.widgets.small_board import SmallBoard, board_size, short_termination

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events
    from textual.app import ComposeResult

    from arena.live.views import FinishedMatch, MatchView, Notice
    from arena.live.wall import Sort
    from arena.tui.text import Line

MAX_BOARDS = 40
"""Maximum number of boards on a page."""
_MAX_ZOOM = 3
"""Maximum number of zoom steps."""
_FEW_ROWS, _FEW_COLUMNS = 6, 7
"""Rows and columns of a board that are assumed while no match is running."""


class Fit(NamedTuple):
    """The number of boards side by side and one below the other."""

    columns: int
    rows: int


def fit_boards(space: tuple[int, int], shape: tuple[int, int], zoom: int, scale: int = 1) -> Fit:
    """Return how many boards fit; each step of `zoom` removes a column of boards, at least one stays.

    Args:
        space: width and height in cells of the terminal.
        shape: rows and columns of a board.
        zoom: number of columns of boards that are removed.
        scale: cells of the terminal for a cell of a board.
    """
    (width, height), (rows, columns) = space, shape
    board_width, board_height = board_size(rows, columns, scale)
    if board_width > width:
        board_width = max(18, columns + 4)
    across = max(1, width // board_width - zoom)
    down = max(1, height // board_height)
    return Fit(across, min(down, max(1, MAX_BOARDS // across)))


class WallPanel(BlankContainer):
    """A page of boards; the focused one always stays in view."""

    DEFAULT_CSS = """
    WallPanel { layout: grid; width: 1fr; height: 1fr; }
    WallPanel SmallBoard { width: 1fr; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "walk(0,-1)", "Board above", show=False, id="wall.up"),
        Binding("down,j", "walk(0,1)", "Board below", show=False, id="wall.down"),
        Binding("left,h", "walk(-1,0)", "Board before", show=False, id="wall.left"),
        Binding("right,l", "walk(1,0)", "Next board", show=False, id="wall.right"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__(id=id)
        self._view = LiveView()
        self._now = 0.0
        self._fit = Fit(0, 0)
        self._boards = [SmallBoard(id="board-0")]
        self._laid_out: tuple[int, ...] = ()
        self._fitted = Size()
        """The size into which the boards were fitted."""
        self._followed: int | None = None
        """Number of the match that the focus is moving to."""
        self._has_begun = False
        self.condition = Condition()
        """The filter for the matches that are shown."""
        self.sort: Sort = "place"
        self.zoom = 0
        self.page = 0
        self.shows_evals = True
        self.keep: int | None = None
        """Number of the match that stays in view; None keeps the page."""
        self.shown: WallView = wall(LiveView())
        """The page that is shown."""

    @override
    def compose(self) -> ComposeResult:
        yield from self._boards

    def show(self, view: LiveView, now: float) -> None:
        """Show the matches of a view at `now`, UTC seconds."""
        self._view, self._now = view, now
        self._arrange()

    def tick(self, now: float) -> None:
        """Update the clocks."""
        self._now = now
        for board in self._boards[: len(self.shown.boards)]:
            board.tick(now)

    def on_resize(self, event: events.Resize) -> None:
        """Fit the boards again, unless that was done when the screen was laid out."""
        if event.size != self._fitted:
            self.fit()

    def fit(self) -> None:
        """Fit as many boards as there is room for; the focused match stays in view."""
        self._fitted = self.size
        match = self.focused_match
        if self._followed is None and match is not None:
            self._followed = match.number
        self._arrange(self._followed)
        for board, shown in zip(self._boards, self.shown.boards, strict=False):
            if shown.number == self._followed:
                board.focus()
        # The focus moves later; until then the focused board shows another match.
        app_of(self).call_later(self._end_following)
        # Textual clears this cache only when idle, which is after the next layout.
        self._clear_arrangement_cache()

    def _end_following(self) -> None:
        self._followed = None

    def turn(self, step: int) -> None:
        """Show the next or previous page."""
        self.keep = None
        self.page = min(max(0, self.shown.page + step), self.shown.num_pages - 1)
        self._arrange()

    def next_sort(self) -> None:
        """Sort the boards by the next criterion."""
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        self._arrange()

    def change_zoom(self, step: int) -> None:
        """Show fewer and wider boards, or more."""
        self.zoom = min(max(0, self.zoom + step), _MAX_ZOOM)
        self._arrange()

    def switch_evals(self) -> None:
        """Show or hide the row of tenths."""
        self.shows_evals = not self.shows_evals
        self._arrange()

    def action_walk(self, columns: int, rows: int) -> None:
        """Focus another board; after the last one of a page comes the next page."""
        places = [place for place in range(len(self.shown.boards)) if self._board(place).has_focus]
        if not places:
            return
        place = places[0] + columns + rows * self._fit.columns
        if place < 0 < self.shown.page:
            self.turn(-1)
            place = self._fit.columns * self._fit.rows - 1
        elif place >= len(self.shown.boards) and self.shown.page + 1 < self.shown.num_pages:
            self.turn(1)
            place = 0
        if 0 <= place < len(self.shown.boards):
            self._board(place).focus()

    @property
    def focused_match(self) -> MatchView | None:
        """The match of the focused board."""
        focused = self.screen.focused
        return focused.match if isinstance(focused, SmallBoard) else None

    def caption(self) -> tuple[str, ...]:
        """Return the captions of the page, a text for each fact."""
        shown = self.shown
        evals = "on" if self.shows_evals else "off"
        pages = f"page {shown.page + 1}/{shown.num_pages}"
        return (pages, f"sort: {self.sort}", f"evals: {evals}", shown.caption)

    def _arrange(self, keep: int | None = None) -> None:
        """Show the matches of the page; with `keep`, the page that has this match."""
        panel_size = self.size
        if not self.is_attached or panel_size.area == 0:
            return
        chosen = self._chosen()
        rows = max((match.rows for match in chosen.matches.values()), default=_FEW_ROWS)
        columns = max((match.columns for match in chosen.matches.values()), default=_FEW_COLUMNS)
        # Use large boards if there is room for all of them at once.
        scale = 2
        fit = fit_boards(panel_size, (rows, columns), self.zoom, scale)
        is_narrow = panel_size.width // fit.columns < board_size(rows, columns, scale)[0]
        if (
            is_narrow
            or fit.columns * fit.rows < len(chosen.matches)
            or panel_size.height < 2 * board_size(rows, columns, scale)[1]
        ):
            scale = 1
            fit = fit_boards(panel_size, (rows, columns), self.zoom)
        size = fit.columns * fit.rows
        self.shown = wall(
            chosen, sort=self.sort, page=self.page, size=size, keep=self.keep if keep is None else keep
        )
        self.page = self.shown.page
        if fit != self._fit:
            self._fit = fit
            self.styles.grid_size_columns = fit.columns
            self.styles.grid_size_rows = fit.rows
        self._lay_out(size, min(panel_size.height // fit.rows, board_size(rows, columns, scale)[1]))
        for board, match in zip_longest(self._boards, self.shown.boards):
            if board.can_focus != (match is not None):
                board.can_focus = match is not None
            # An empty frame carries no information.
            board.visible = match is not None
            board.show(match, self._now, evals=self.shows_evals)
        self._focus_first()

    def _focus_first(self) -> None:
        """Focus the first board once there is one: a widget that is not drawn cannot be focused."""
        if not self._has_begun and self.shown.boards:
            self._has_begun = True
            if self.screen.focused is None:
                self._board(0).focus()

    def _lay_out(self, size: int, height: int) -> None:
        """Create as many boards as fit, each of this height."""
        if self._laid_out == (size, height):
            return
        self._laid_out = (size, height)
        known = len(self._boards)
        if size > known:
            self._boards += [SmallBoard(id=f"board-{place}") for place in range(known, size)]
            self.mount_all(self._boards[known:])
        for place, board in enumerate(self._boards):
            board.display = place < size
            board.styles.height = height

    def _chosen(self) -> LiveView:
        if self.condition.is_empty:
            return self._view
        places = tuple(n for n in self._view.places if self.condition.fits_board(self._view.matches[n]))
        return LiveView(matches={n: self._view.matches[n] for n in places}, places=places)

    def _board(self, place: int) -> SmallBoard:
        return self._boards[place]


_WORDS = 58
"""Width of the longest line, in cells."""


class GettingStarted(Panel):
    """Explains how to begin a tournament; hidden once there is one."""

    DEFAULT_CSS = """
    GettingStarted { width: 1fr; height: 1fr; display: none; }
    """

    @override
    def body(self, width: int, height: int) -> list[Line]:
        app = dashboard_of(self)
        keys: list[Line] = [
            (("7 ", "focus"), ("then ", ""), ("n ", "focus"), ("opens the form of a tournament", "")),
            (("p ", "focus"), ("opens the form of a match of yours against a bot", "")),
        ]
        where = clip(f"The store is {store_place(app.store)}", min(width - 2, 200))
        lines: list[Line] = [
            (("No tournament has been played yet.", "title"),),
            (),
            *(() if app.is_read_only else keys),
            (("", ""), ("arena tournament mcts minimax", "title"), (" in another terminal does, too;", "")),
            (("what is begun there is shown here at once.", ""),),
            (),
            ((where, "dim"),),
        ]
        left = " " * max(1, (width - _WORDS) // 2)
        above = max(0, (height - len(lines)) // 3)
        return [*([()] * above), *(((left, ""), *line) if line else () for line in lines)]


@lru_cache(maxsize=256)
def finished_line(match: FinishedMatch, width: int) -> Line:
    """Format a finished match: `/312 keras 0-1 az 16`, with its plies or why it ended early.

    If it does not fit, the last part is left out, then the number; labels are never cut.
    """
    last = str(match.plies) if match.end == "rules" else short_termination(match.end)
    who = f"{match.labels[0]} {match.result} {match.labels[1]}"
    forms = (f"{match.short_address} {who} {last}", f"{match.short_address} {who}", who)
    text = next((text for text in forms if cell_len(text) < width), who)
    return ((f" {text}", ""),)


@lru_cache(maxsize=256)
def finished_text(match: FinishedMatch) -> str:
    """Format a finished match with time and reason: `09:34:12 live1/312 keras 0-1 az (rules, ply 16)`."""
    why = f"{match.end}, ply {match.plies}" if match.end == "rules" else match.why
    return f"{time_text(match.t)} {match.address} {match.labels[0]} {match.result} {match.labels[1]} ({why})"


def notice_line(notice: Notice) -> Line:
    """Format a notice: `09:33:40 ! match live1/308 td: time_game, too late by 12 ms`."""
    about = f"match {notice.address} " if notice.address else ""
    mark = ("", "") if notice.is_decision else ("! ", "alert")
    return ((f" {time_text(notice.t)} ", "dim"), mark, (f"{about}{notice.what}", ""))


def news_lines(view: LiveView, late: float, most: int) -> list[Line]:
    """Format the newest results and notices, newest first.

    Args:
        view: the tournament.
        late: decisions after this time, in UTC seconds, come before everything else; in a fast tournament,
            results would immediately push them off the list.
        most: maximum number of results, and of notices.
    """
    notices: list[tuple[bool, float, Line]] = [
        (notice.is_decision and notice.t > late, notice.t, notice_line(notice))
        for notice in view.notices[:most]
    ]
    results = [(False, match.t, ((f" {finished_text(match)}", ""),)) for match in view.finished[:most]]
    found = sorted([*notices, *results], key=lambda item: (not item[0], -item[1]))
    return [line for _, _, line in found]


def fault_lines(faults: Mapping[str, Mapping[str, int]], games: Mapping[str, int]) -> list[Line]:
    """Format the forfeits of bots: `! td: 3 time_game in 104`; `games` has the number of matches of each."""
    lines: list[Line] = []
    for name, counts in faults.items():
        what = ", ".join(f"{number} {termination}" for termination, number in sorted(counts.items()))
        played = f" in {games[name]}" if name in games else ""
        lines.append(((" ! ", "alert"), (f"{name}: {what}{played}", "")))
    return lines


def time_text(t: float) -> str:
    """Format a moment as the local time of day."""
    return datetime.fromtimestamp(t).astimezone().strftime("%H:%M:%S")
