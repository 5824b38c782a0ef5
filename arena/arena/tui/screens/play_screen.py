"""The screen of a session: a person plays a bot, with mouse or keys; the referee is a separate process."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from typing_extensions import override

from arena.coordinator.client import NotStartedError
from arena.coordinator.commands import BOARD_COMMANDS, AskHint, kind_of
from arena.errors import ArenaError
from arena.tui.screens.board_texts import PlayState, play_header, status_of
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.focus_panel import search_lines
from arena.tui.shell.confirm import ConfirmScreen
from arena.tui.shell.follow import NewData, follow
from arena.tui.shell.screen import ArenaScreen
from arena.tui.shell.wanted import still_wanted
from arena.tui.text import safe
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.line_input import LineInput
from arena.tui.widgets.moves import MoveList
from arena.tui.widgets.panel import LinesPanel
from arena.tui.widgets.play_board import PlayBoard
from arena.watching.feed import Model
from arena.watching.play_feed import PlayFeed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.widgets import Input

    from arena.coordinator.client import Link
    from arena.coordinator.commands import BoardCommand
    from arena.tui.shell.chrome import HeaderPart
    from arena_db.records import TournamentRecord

_TICK_S = 0.2
"""Seconds between two updates of the clocks."""
NARROWED = frozenset({f"board.{digit}" for digit in "123456789"})
"""Bindings that hide global ones on purpose: while the board has the focus, digits are moves."""


class MoveLine(LineInput):
    """The input line that `:` opens, in which a move is typed by its name."""

    DEFAULT_CSS = """
    MoveLine { display: none; width: 100%; }
    MoveLine.-open { display: block; }
    """


class PlayScreen(ArenaScreen):
    """One session, from its start to its end: leaving the screen ends the session."""

    NAME = "play"
    HELP = (
        "You play a bot. The board takes mouse and keys; u takes your last move back, H asks a third bot for"
        " a hint, R resigns, n begins a new match with sides swapped. Every match is stored; only rated ones"
        " count."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("u", "undo", "Undo", id="play.undo"),
        Binding("H", "hint", "Hint", id="play.hint"),
        Binding("R", "resign", "Resign", id="play.resign"),
        Binding("n", "new", "New", id="play.new"),
        Binding("colon", "open_line", "Move", key_display=":", id="play.line"),
    ]
    CSS = """
    PlayScreen #panels { height: 1fr; }
    PlayScreen PlayBoard { height: 1fr; width: 38; }
    PlayScreen MoveList { height: 1fr; }
    PlayScreen #search { height: 1fr; width: 1fr; }
    PlayScreen #status { height: 1; }
    PlayScreen.-pair #search, PlayScreen.-single #search { display: none; }
    PlayScreen.-single MoveList { display: none; }
    PlayScreen.-pair MoveList { width: 1fr; }
    PlayScreen.-single PlayBoard, PlayScreen.-wide PlayBoard { width: 1fr; }
    PlayScreen.-wide MoveList { width: 26; }
    PlayScreen.-wide #search { width: 46; }
    """

    class Begun(Message):
        """The coordinator has started."""

        def __init__(self, record: TournamentRecord) -> None:
            super().__init__()
            self.record = record

    class Failed(Message):
        """The coordinator could not be started."""

        def __init__(self, reason: str, status: int) -> None:
            super().__init__()
            self.reason = reason
            self.status = status

    class Answered(Message):
        """A command was answered."""

        def __init__(self, command: BoardCommand, answer: str) -> None:
            super().__init__()
            self.command = command
            self.answer = answer

    def __init__(self, link: Link | None = None) -> None:
        """Create the screen; it starts the coordinator of `link`, or of the app's `play` for None."""
        super().__init__()
        self._feed: PlayFeed | None = None
        self._given = link
        self._model = Model()
        self.seen = PlayState()
        """The state that the screen shows beside the board."""

    @override
    def compose_body(self) -> ComposeResult:
        with Vertical():
            with Horizontal(id="panels"):
                yield PlayBoard()
                yield MoveList()
                yield LinesPanel("match", id="search")
            yield BareLines(id="status")
            yield MoveLine(placeholder="a move, as d or h8", select_on_focus=False)

    def on_mount(self) -> None:
        """Start the coordinator."""
        self.query_one(PlayBoard).focus()
        self.set_interval(_TICK_S, self._tick, name="play")
        self._begin()

    @override
    def on_unmount(self) -> None:
        """End the session with the screen."""
        if self._feed is not None:
            self._feed.cancel()
        match = self.seen.match
        number = match.number if match is not None and not match.is_over else 0
        self._link.leave(number=number, is_rated=self.seen.is_rated)

    @property
    def _link(self) -> Link:
        link = self._given or dashboard_of(self).play
        if link is None:
            raise RuntimeError("the screen of a session was opened without one")
        return link

    def _begin(self) -> None:
        self.seen = self.seen.but(note="starting", is_dead=False)
        self._run("begin", self._beginning)

    def _run(self, name: str, work: Callable[[], None]) -> None:
        self.run_worker(work, name=name, group=name, thread=True)

    # Run in threads

    def _beginning(self) -> None:
        try:
            self.post_message(self.Begun(self._link.begin(still_wanted())))
        except NotStartedError as error:
            self.post_message(self.Failed(str(error), error.status))
        except ArenaError as error:
            self.post_message(self.Failed(str(error), 1))

    def _asking(self, command: BoardCommand) -> None:
        try:
            answer = self._link.ask(command, still_wanted())
        except ArenaError as error:
            answer = str(error)
        self.post_message(self.Answered(command, answer))

    # Results of the threads

    def on_play_screen_begun(self, message: Begun) -> None:
        """Follow the session."""
        message.stop()
        self.seen = self.seen.begun(message.record)
        for sentence in self._link.news:
            self.notify(safe(sentence), markup=False)
        feed = self._feed = PlayFeed(self._link.db, message.record.id, is_read_only=True)
        self.run_worker(lambda: follow(feed, self), name="feed", group="feed", exclusive=True, thread=True)
        self._show()

    def on_play_screen_failed(self, message: Failed) -> None:
        """Show the reason and close the screen; if it is the only screen, exit with the same status."""
        message.stop()
        app = dashboard_of(self)
        if self.seen.match is None:
            if app.screen_stack[1] is self:
                app.exit(return_code=message.status or 1, message=Text(f"arena: {safe(message.reason)}"))
            elif app.screen is self:
                app.notify(safe(message.reason), severity="error", markup=False)
                app.pop_screen()
            return
        self.seen = self.seen.but(note=message.reason, is_dead=True)
        self._show()

    def on_play_screen_answered(self, message: Answered) -> None:
        """Show an answer; a refused move is no longer pending."""
        message.stop()
        self.seen = self.seen.answered(message.command, message.answer)
        if isinstance(message.command, AskHint) and self.seen.hinted is not None:
            self.query_one(PlayBoard).point(self.seen.hinted)
        self._show()

    def on_new_data(self, message: NewData) -> None:
        """Show new events."""
        message.stop()
        self._model = message.model
        self.seen = self.seen.told(message.model.view, message.model.trouble)
        self._show()

    def on_play_board_chosen(self, message: PlayBoard.Chosen) -> None:
        """Send the chosen move, if it is the person's turn."""
        message.stop()
        if self.seen.can_move:
            self.seen = self.seen.moving(message.action)
            if self.seen.pending is not None:
                self._leave_command(self.seen.pending)
        else:
            self.seen = self.seen.but(note=self.seen.refusal)
        self._show()

    def on_play_board_refused(self, message: PlayBoard.Refused) -> None:
        """Show why the move is not possible."""
        message.stop()
        is_heard = self.seen.can_move
        self.seen = self.seen.but(note=message.reason if is_heard else self.seen.refusal)
        self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send the typed move."""
        if not isinstance(event.input, MoveLine):
            super().on_input_submitted(event)
            return
        event.stop()
        self._close_line()
        if event.value.strip():
            self.query_one(PlayBoard).action_say(event.value.strip())

    # Keys

    def action_undo(self) -> None:
        """Undo the person's last move."""
        self._order("undo")

    def action_hint(self) -> None:
        """Ask for a hint."""
        self._order("hint")

    def action_resign(self) -> None:
        """Resign, after the user confirms."""
        if self.seen.match is not None and not self.seen.match.is_over:
            self._confirm("Resign this match?", lambda: self._order("resign"))

    def action_new(self) -> None:
        """Begin a new match with sides swapped; if the coordinator has ended, restart it."""
        if self.seen.is_dead:
            self._begin()
            self._show()
        elif self.seen.match is None or self.seen.match.is_over:
            self._order("new")
        else:
            self._confirm("Leave this match and begin a new one?", lambda: self._order("new"))

    def action_open_line(self) -> None:
        """Open the input line for a move."""
        line = self.query_one(MoveLine)
        line.add_class("-open")
        line.value = ""
        line.focus()

    @override
    def go_back(self) -> bool:
        if self.query_one(MoveLine).has_class("-open"):
            self._close_line()
            return True
        board = self.query_one(PlayBoard)
        if board.has_focus:
            self.set_focus(None)
            self.repaint_lines()
            return True
        return False

    def _close_line(self) -> None:
        self.query_one(MoveLine).remove_class("-open")
        self.query_one(PlayBoard).focus()

    def _confirm(self, question: str, act: Callable[[], None]) -> None:
        def decide(answer: bool | None) -> None:  # noqa: FBT001 # as the question is answered
            if answer:
                act()

        dashboard_of(self).push_screen(ConfirmScreen(question), decide)

    def _order(self, kind: str) -> None:
        match = self.seen.match
        if match is None or self.seen.is_dead:
            self.seen = self.seen.but(
                note="the coordinator has ended" if self.seen.is_dead else "not begun yet"
            )
            self._show()
            return
        self._leave_command(BOARD_COMMANDS[kind](number=match.number, ply=match.ply))
        self._show()

    def _leave_command(self, command: BoardCommand) -> None:
        self.seen = self.seen.but(note="asked")
        self._run(f"ask-{kind_of(command)}", partial(self._asking, command))

    # Display

    def _tick(self) -> None:
        if self.seen.match is not None and not self.seen.is_dead and not self._link.is_alive:
            is_over = self._model.view.progress.state == "ended"
            note = "the play is over" if is_over else "the coordinator has ended; n continues from here"
            self.seen = self.seen.but(note=note, is_dead=True, pending=None)
        self._show()

    def _show(self) -> None:
        if not self.is_mounted:
            return
        now, seen, board = dashboard_of(self).clock(), self.seen, self.query_one(PlayBoard)
        board.set_up(seen.match, seen.player, None if seen.pending is None else seen.pending.action)
        board.status = ""
        text, style = status_of(seen, now, board.glyphs)
        self.query_one("#status", BareLines).say(f" {text}", style)
        if seen.match is not None:
            self.query_one(MoveList).show(seen.match.moves, seen.match.ply)
            panel = self.query_one("#search", LinesPanel)
            panel.show(search_lines(seen.match, now, board.glyphs, width=panel.size.width - 2))
        self.repaint_lines()

    @override
    def header_parts(self, width: int) -> Sequence[HeaderPart] | None:
        return play_header(self.seen, dashboard_of(self).glyphs)

    @override
    def farewell(self) -> tuple[str, str] | None:
        seen = self.seen
        if seen.match is None or seen.match.is_over or seen.is_dead:
            return None
        lost = "It is rated, and leaving it is a loss." if seen.is_rated else "It ends without a result."
        return "Leave this match?", lost

    @override
    def tab_note(self) -> str:
        # `has_focus` is updated only a moment later.
        return self.focused.words if isinstance(self.focused, PlayBoard) else ""

    @override
    def text_to_copy(self) -> str:
        match = self.seen.match
        return "" if match is None else " ".join(move.text for move in match.moves)
