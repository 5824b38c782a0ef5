"""The wall of boards: as many as fit, a page at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.containers import Container
from typing_extensions import override

from arena.live.views import LiveView
from arena.live.wall import SORTS, WallView, wall
from arena.tui.feed.condition import Condition
from arena.tui.widgets.small_board import SmallBoard, board_size

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from arena.live.views import MatchView
    from arena.live.wall import Sort

MAX_BOARDS = 40
_MAX_ZOOM = 3
_FEW_ROWS, _FEW_COLUMNS = 6, 7
"""What a board needs to be told where no match runs."""


class Fit(NamedTuple):
    """How many boards stand side by side and below each other."""

    columns: int
    rows: int


def fit_boards(width: int, height: int, rows: int, columns: int, zoom: int) -> Fit:
    """Give how many boards fit; each step of `zoom` takes a column of boards away, at least one stays."""
    board_width, board_height = board_size(rows, columns)
    if board_width > width:
        board_width = max(18, columns + 4)
    across = max(1, width // board_width - zoom)
    down = max(1, height // board_height)
    return Fit(across, min(down, max(1, MAX_BOARDS // across)))


class WallPanel(Container):
    """A page of boards; the one with the focus stays in view whatever changes."""

    DEFAULT_CSS = """
    WallPanel { layout: grid; width: 1fr; height: 1fr; }
    WallPanel SmallBoard { width: 1fr; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__(id=id)
        self._view = LiveView()
        self._now = 0.0
        self._fit = Fit(0, 0)
        self.condition = Condition()
        """Which matches stand on the wall."""
        self.sort: Sort = "place"
        self.zoom = 0
        self.page = 0
        self.shows_evals = True
        self.keep: int | None = None
        """Number of the match that stays in view; None keeps the page."""
        self.shown: WallView = wall(LiveView())
        """What is on the page."""

    @override
    def compose(self) -> ComposeResult:
        yield SmallBoard(id="board-0")

    def show(self, view: LiveView, now: float) -> None:
        """Show the matches of a view at `now`, UTC seconds."""
        self._view, self._now = view, now
        self._arrange()

    def tick(self, now: float) -> None:
        """Let the clocks run."""
        self._now = now
        for place in range(len(self.shown.boards)):
            self._board(place).tick(now)

    def on_resize(self, event: events.Resize) -> None:
        """Fit other boards in."""
        del event
        self._arrange()

    def turn(self, step: int) -> None:
        """Show another page."""
        self.keep = None
        self.page = min(max(0, self.shown.page + step), self.shown.num_pages - 1)
        self._arrange()

    def next_sort(self) -> None:
        """Sort by the next thing."""
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        self._arrange()

    def change_zoom(self, step: int) -> None:
        """Show fewer and wider boards, or more."""
        self.zoom = min(max(0, self.zoom + step), _MAX_ZOOM)
        self._arrange()

    def switch_evals(self) -> None:
        """Show the row of tenths, or not."""
        self.shows_evals = not self.shows_evals
        self._arrange()

    @property
    def focused_match(self) -> MatchView | None:
        """The match of the board with the focus."""
        focused = self.screen.focused
        return focused.match if isinstance(focused, SmallBoard) else None

    def caption(self) -> str:
        """Say what stands on the wall and how."""
        shown = self.shown
        evals = "on" if self.shows_evals else "off"
        pages = f"page {shown.page + 1}/{shown.num_pages}   sort: {self.sort}   evals: {evals}"
        return f"{pages}   {shown.caption}"

    def _arrange(self) -> None:
        if not self.is_attached or self.size.area == 0:
            return
        chosen = self._chosen()
        rows = max((match.rows for match in chosen.matches.values()), default=_FEW_ROWS)
        columns = max((match.columns for match in chosen.matches.values()), default=_FEW_COLUMNS)
        fit = fit_boards(*self.size, rows, columns, self.zoom)
        size = fit.columns * fit.rows
        self.shown = wall(chosen, sort=self.sort, page=self.page, size=size, keep=self.keep)
        self.page = self.shown.page
        if fit != self._fit:
            self._fit = fit
            self.styles.grid_size_columns = fit.columns
            self.styles.grid_size_rows = fit.rows
        known = len(self.query(SmallBoard))
        if size > known:
            self.mount_all(SmallBoard(id=f"board-{place}") for place in range(known, size))
        boards = (*self.shown.boards, *([None] * (max(size, known) - len(self.shown.boards))))
        height = min(self.size.height // fit.rows, board_size(rows, columns)[1])
        for place, match in enumerate(boards):
            board = self._board(place)
            board.display = place < size
            board.styles.height = height
            board.can_focus = match is not None
            board.show(match, self._now, evals=self.shows_evals)

    def _chosen(self) -> LiveView:
        if self.condition.is_empty:
            return self._view
        places = tuple(n for n in self._view.places if self.condition.fits_board(self._view.matches[n]))
        return LiveView(matches={n: self._view.matches[n] for n in places}, places=places)

    def _board(self, place: int) -> SmallBoard:
        return self.query_one(f"#board-{place}", SmallBoard)
