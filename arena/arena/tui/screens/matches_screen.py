"""Screen 3: all stored matches, filtered; one of them can be shown beside the list."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from typing_extensions import override

from arena.live.replay_views import Replay
from arena.results.condition import HINT
from arena.tui.screens.board_texts import ending_lines
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.screens.voiding import ask_and_void
from arena.tui.shell.screen import ArenaScreen
from arena.tui.text import safe
from arena.tui.widgets.bare_lines import BareLines, WrappedLines
from arena.tui.widgets.large_board import LargeBoard
from arena.tui.widgets.match_list import MatchList
from arena.watching.match_source import MatchSource
from arena.watching.one_match import load_match
from arena.watching.query_answers import Answer, Loading, Rows, Unavailable

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from arena.live.replay_views import Recorded
    from arena.watching.feed import Change, Model


class MatchesScreen(ArenaScreen):
    """The matches of the store."""

    NAME = "matches"
    KEY = "3"
    LABEL = "Matches"
    FILTER_HINT = HINT
    HELP = (
        "All stored matches, void ones too, newest first. A filter is made of bot: vs: result: end:"
        " tournament: game: and ply<20; * stands for any text. It searches all matches, the newest first;"
        " found matches can be used while it searches. Enter opens the replay, o shows the match beside the"
        " list, V declares it void or counts it again, with a reason."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "split", "Split", id="matches.split"),
        Binding("V", "void", "Void", id="matches.void"),
    ]
    CSS = """
    MatchesScreen MatchList { width: 1fr; height: 1fr; }
    MatchesScreen #beside { display: none; width: 40; height: 1fr; }
    MatchesScreen #beside LargeBoard { height: 1fr; width: 1fr; }
    MatchesScreen #beside WrappedLines { height: 3; }
    MatchesScreen.-wide #beside WrappedLines { height: 6; }
    MatchesScreen.-split #beside { display: block; }
    MatchesScreen.-single #beside, MatchesScreen.-pair #beside { width: 26; }
    MatchesScreen #asked { height: 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._source: MatchSource | None = None
        self._beside = self.query_runner("beside")

    @override
    def compose_body(self) -> ComposeResult:
        self._source = MatchSource(dashboard_of(self).tournament)
        with Vertical():
            with Horizontal():
                yield MatchList(self._source)
                with Vertical(id="beside"):
                    yield LargeBoard("match")
                    yield WrappedLines()
            yield BareLines(id="asked")

    @property
    def _list(self) -> MatchList:
        return self.query_one(MatchList)

    def show_condition(self, text: str) -> None:
        """Show the matches that match a filter, as if it had been typed."""
        self.filter_text = text
        self.filter_changed(text)

    @override
    def filter_changed(self, text: str) -> None:
        self._renew()
        self._list.reload(condition=text)
        self._tell()

    @override
    def reload(self) -> None:
        self._renew()
        self._list.reload()

    @override
    def show_model(self, model: Model, change: Change | None) -> None:
        """Show newly stored matches, unless the list is filtered and not sorted by number."""
        is_usual = not self.filter_text or self._list.sort[0] == "number"
        if change is not None and "standings" in change.facts and is_usual:
            self._list.look_again()

    @override
    def export_filter(self) -> str:
        return self.filter_text

    @override
    def text_to_copy(self) -> str:
        row = self._list.row(self._list.cursor) if self._list.total else None
        return "" if row is None else row.address

    def _renew(self) -> None:
        if self._source is not None:
            self._source.tournament = dashboard_of(self).tournament
            self._source.renew()

    def on_match_list_counted(self) -> None:
        """Show the number of matches."""
        self._tell()

    def _tell(self) -> None:
        matches = self._list
        asked = f"   filter {self.filter_text}" if self.filter_text else ""
        sort, is_descending = matches.sort
        order = "" if matches.sort == ("number", True) else f"   by {sort}{' v' if is_descending else ' ^'}"
        total = str(matches.total)
        if matches.share < 1:
            total = f">= {matches.total}, {100 * matches.share:.0f} % searched"
        if matches.trouble:
            self.query_one("#asked", BareLines).say(f" ! {safe(matches.trouble)}", "alert")
            return
        place = matches.cursor + 1 if matches.total else 0
        row = matches.row(matches.cursor) if matches.total else None
        void = f"   void: {row.void_reason}" if row is not None and row.void_reason else ""
        self.query_one("#asked", BareLines).say(f" {place}/{total}{order}{asked}{void}", "dim")

    def on_match_list_selected(self, message: MatchList.Selected) -> None:
        """Open the replay of a match."""
        message.stop()
        dashboard_of(self).push_screen(ReplayScreen(message.row.stored, self._neighbour))

    def on_match_list_moved(self, message: MatchList.Moved) -> None:
        """Show the match beside the list."""
        message.stop()
        self._tell()
        self._look_at(message.row.stored)

    def _neighbour(self, step: int) -> int | None:
        """Move the cursor; return the number of the match at its new position."""
        index = self._list.cursor + step
        row = self._list.row(index) if 0 <= index < self._list.total else None
        if row is None:
            return None
        self._list.go_to(index)
        return row.stored

    def action_void(self) -> None:
        """Declare the match at the cursor void, or count it again."""
        row = self._list.row(self._list.cursor) if self._list.total else None
        if row is not None:
            ask_and_void(
                self, row.stored, row.address, is_void=bool(row.void_reason), changed=self._list.look_again
            )

    def action_split(self) -> None:
        """Show or hide the match at the cursor beside the list."""
        self.toggle_class("-split")
        row = self._list.row(self._list.cursor)
        if row is not None:
            self._look_at(row.stored)

    def _look_at(self, number: int) -> None:
        if self.has_class("-split"):
            self._beside.run(
                lambda query: Rows(load_match(query, number).recorded), "reading the match", self._show_beside
            )

    def _show_beside(self, answer: Answer[Recorded]) -> None:
        """Show the last position of a match; the previous one stays until then."""
        if isinstance(answer, Loading):
            return
        board, below = (
            self.query_one("#beside LargeBoard", LargeBoard),
            self.query_one("#beside WrappedLines", WrappedLines),
        )
        if not isinstance(answer, Rows):
            board.title, board.pair = "board", None
            board.show(None)
            below.say(f" {answer.reason if isinstance(answer, Unavailable) else answer.why}", "alert")
            return
        replay = Replay(answer.content)
        match = replay.at(replay.num_plies)
        board.title, board.pair = match.address, match.labels
        board.short_title = match.short_address
        board.show(match)
        below.show(ending_lines(replay))
