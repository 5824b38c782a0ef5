"""A stored match, step by step: board, moves, evaluations of both bots, timeline with marks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from typing_extensions import override

from arena.coordinator.client import Link
from arena.errors import ArenaError
from arena.person.session_config import make_play, play_from, words_of
from arena.results.condition import word
from arena.tui.screens.board_texts import about_lines, grade_text, replay_header, search_texts, status_line
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.judged import JudgedScreen
from arena.tui.screens.openings_screen import OpeningsScreen
from arena.tui.screens.play_screen import PlayScreen
from arena.tui.screens.voiding import ask_and_void
from arena.tui.text import safe
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.charts import EvalChart
from arena.tui.widgets.large_board import LargeBoard
from arena.tui.widgets.moves import MoveList, Timeline
from arena.tui.widgets.panel import LinesPanel
from arena.tui.widgets.row_list import LIST_BINDINGS
from arena.watching.one_match import OneMatch, load_match, replay_of
from arena.watching.query_answers import Answer, Loading, Rows, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.timer import Timer

    from arena.live.replay_views import Replay
    from arena.person.session_config import PlayConfig
    from arena.tui.shell.chrome import HeaderPart
    from arena.watching.query import Query

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Plies per second."""
NARROWED = frozenset({"replay.run", "replay.play"})
"""Bindings that hide a global one on purpose."""


class PlyList(MoveList, inherit_bindings=False):
    """The list of moves; the screen handles the keys home, end, left and right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in Binding.make_bindings(LIST_BINDINGS)
        if binding.id not in ("list.home", "list.end")
    ]


class ReplayScreen(JudgedScreen):
    """One stored match."""

    NAME = "replay"
    HELP = (
        "A stored match. Left and right go by plies, b and B by marks: # is the end, ? a move that gave a"
        " result away and ?? one that turned a win into a loss, by the grade of a judge; ~ without grades one"
        " after which both bots evaluated the mover 20 points lower. g judges the match with the exact solver"
        " in the background, J with a judge of your choice, which may be any installed bot; g or escape stops"
        " it. arena grade does the same. v shows the grades of the next judge. p plays on from here in place"
        " of the side to move, o shows the next moves in this position over all matches. V declares the match"
        " void, or counts it again."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "Back", show=False, id="replay.back"),
        Binding("right,l", "step(1)", "Ply", key_display="left/right", id="replay.next"),
        Binding("home", "to_end(-1)", "Start", show=False, id="replay.start"),
        Binding("end,G", "to_end(1)", "End", show=False, id="replay.end"),
        Binding("space", "run", "Run", id="replay.run"),
        Binding("plus", "speed(1)", "Faster", show=False, id="replay.faster"),
        Binding("minus", "speed(-1)", "Slower", show=False, id="replay.slower"),
        Binding("left_square_bracket", "match(-1)", "Match before", show=False, id="replay.match-before"),
        Binding("right_square_bracket", "match(1)", "Match", key_display="[ ]", id="replay.match-after"),
        Binding("b", "mark(1)", "Mark", id="replay.mark"),
        Binding("B", "mark(-1)", "Mark before", show=False, id="replay.mark-before"),
        Binding("x", "flip", "Flip", id="replay.flip"),
        Binding("p", "play", "Play from here", id="replay.play"),
        Binding("V", "void", "Void", id="replay.void"),
        Binding("o", "openings", "Openings", id="replay.openings"),
        Binding("Y", "copy_moves", "Copy moves", show=False, id="replay.copy-moves"),
    ]
    CSS = """
    ReplayScreen #panels { height: 1fr; }
    ReplayScreen LargeBoard { height: 1fr; width: 38; }
    ReplayScreen MoveList { height: 1fr; }
    ReplayScreen #numbers { width: 1fr; }
    ReplayScreen EvalChart { height: 8; width: 1fr; }
    ReplayScreen #search { height: 1fr; }
    ReplayScreen #about { height: 2; }
    ReplayScreen.-pair #numbers, ReplayScreen.-single #numbers { display: none; }
    ReplayScreen.-single MoveList { display: none; }
    ReplayScreen.-pair MoveList { width: 1fr; }
    ReplayScreen.-single LargeBoard, ReplayScreen.-wide LargeBoard { width: 1fr; }
    ReplayScreen.-wide MoveList { width: 26; }
    ReplayScreen.-wide #numbers { width: 46; }
    ReplayScreen.-huge #numbers { width: 90; }
    ReplayScreen.-tall EvalChart { height: 14; }
    ReplayScreen.-high EvalChart { height: 24; }
    ReplayScreen.-tall #about { height: 3; }
    ReplayScreen.-flat #about { display: none; }
    """

    class Prepared(Message):
        """The options of a session from this position were checked."""

        def __init__(self, words: Sequence[str], trouble: str = "") -> None:
            super().__init__()
            self.words = words
            self.trouble = trouble

    def __init__(
        self,
        number: int = 0,
        neighbour: Callable[[int], int | None] | None = None,
        *,
        ply: int | None = None,
    ) -> None:
        """Create the screen.

        Args:
            number: number of the match in the store; 0 for the match that the app was started for.
            neighbour: returns the number of the next (1) or previous (-1) match of a list, None at its end;
                without it, the neighbours in the store are shown.
            ply: ply that is shown first; None for the end of the opening.
        """
        super().__init__(number)
        self._loads = self.query_runner("match")
        self._neighbour = neighbour
        self._first_ply = ply
        self._trouble = "loading"
        self.ply = 0
        """The ply that is shown, from 0."""
        self._speed = SPEEDS.index(1.0)
        self._timer: Timer | None = None

    @override
    def compose_body(self) -> ComposeResult:
        with Vertical():
            with Horizontal(id="panels"):
                yield LargeBoard()
                yield PlyList()
                with Vertical(id="numbers"):
                    yield EvalChart()
                    yield LinesPanel("search", id="search")
            yield BareLines(id="transport")
            yield Timeline()
            yield BareLines(id="about")

    def on_mount(self) -> None:
        """Load the match."""
        if not self.number:
            self.number, self._first_ply = dashboard_of(self).match, dashboard_of(self).ply
        self._load(self.number, 0)
        self.look_for_grades()

    def _load(self, number: int, step: int) -> None:
        source = partial(self._loading, number=number, step=step)
        self._loads.run(source, "reading the match", self._take)

    @staticmethod
    def _loading(query: Query, number: int, step: int) -> Rows[tuple[OneMatch, Replay]]:
        """Read the match and compute its views, in a thread."""
        match = load_match(query, number, step)
        return Rows((match, replay_of(match)))

    def _take(self, answer: Answer[tuple[OneMatch, Replay]]) -> None:
        """Show the loaded match; on an error the previous one stays."""
        if isinstance(answer, Rows):
            self.match, self.replay = answer.content
            self._trouble = ""
            self.number = self.match.recorded.stored or self.number
            self._stop()
            self.stop_grading()
            self.judge = ""
            given, self._first_ply = self._first_ply, None
            ply = self.match.recorded.num_opening if given is None else given
            self.ply = min(ply, self.replay.num_plies)
            self.query_one(MoveList).focus()
        elif not isinstance(answer, Loading):
            self._trouble = answer.reason if isinstance(answer, Unavailable) else answer.why
            if self.replay is not None:
                self.notify(self._trouble, severity="warning", markup=False)
        self.show_ply()

    def go_to(self, ply: int) -> None:
        """Show the match after `ply` plies, clamped to its length."""
        if self.replay is not None:
            self.ply = min(max(0, ply), self.replay.num_plies)
            self.show_ply()

    @override
    def show_ply(self) -> None:
        self.repaint_lines()
        replay, board = self.replay, self.query_one(LargeBoard)
        if replay is None:
            board.show(None)
            self.query_one("#transport", BareLines).say(f" {safe(self._trouble)}", "alert")
            return
        match, last = replay.at(self.ply), replay.at(replay.num_plies)
        status = status_line(match, replay.recorded, board.glyphs)
        board.show(match, status=status, grade=replay.grade(self.ply))
        self.query_one(MoveList).show(last.moves, self.ply)
        self.query_one(EvalChart).show(replay, self.ply)
        glyphs = board.glyphs
        self.query_one("#search", LinesPanel).show(search_texts(match, glyphs))
        self.query_one(Timeline).show(replay.marks, self.ply)
        state = "pause" if self._timer is not None else "run"
        where = f"speed {SPEEDS[self._speed]:g}x     ply {self.ply} / {replay.num_plies}"
        given = grade_text(match, replay.recorded)
        self.query_one("#transport", BareLines).say(f" |< <   space {state}   > >|     {where}     {given}")
        progress = "" if self.grading is None else self.grading.progress
        about = about_lines(replay, self.ply, progress, self.size.width, glyphs)
        self.query_one("#about", BareLines).show(about)

    @override
    def header_parts(self, width: int) -> Sequence[HeaderPart] | None:
        return replay_header(self.match, dashboard_of(self).glyphs, width)

    @override
    def export_filter(self) -> str:
        if self.match is None:
            return ""
        first, second = self.match.recorded.bots
        words = [word("tournament", self.match.tournament), word("bot", first), word("vs", second)]
        return " ".join(words)

    @override
    def text_to_copy(self) -> str:
        if self.match is None:
            return ""
        return f"{self.match.address}:{self.ply}" if self.ply else self.match.address

    def action_copy_moves(self) -> None:
        """Copy the moves of the match."""
        if self.replay is not None:
            moves = " ".join(move.text for move in self.replay.at(self.replay.num_plies).moves)
            dashboard_of(self).copy_to_clipboard(moves)
            self.notify(f"copied: {safe(moves)}", markup=False)

    def action_step(self, step: int) -> None:
        """Move by plies."""
        self.go_to(self.ply + step)

    def action_to_end(self, step: int) -> None:
        """Go to the first or the last position."""
        self.go_to(0 if step < 0 or self.replay is None else self.replay.num_plies)

    def action_mark(self, step: int) -> None:
        """Go to the next or previous mark."""
        if self.replay is not None:
            self.go_to(self.replay.next_mark(self.ply, step))

    def action_flip(self) -> None:
        """Flip the board."""
        self.query_one(LargeBoard).flip()

    def action_openings(self) -> None:
        """Show the openings screen at this position."""
        if self.match is not None:
            recorded = self.match.recorded
            dashboard_of(self).push_screen(OpeningsScreen(recorded.game, recorded.actions, self.ply))

    def action_void(self) -> None:
        """Declare the match void, or count it again."""
        match = self.match
        if match is not None and match.recorded.stored is not None:
            ask_and_void(
                self,
                match.recorded.stored,
                match.address,
                is_void=bool(match.void_reason),
                changed=lambda: self._load(self.number, 0),
            )

    def action_play(self) -> None:
        """Start a session from this position, with the person in place of the side to move."""
        match = self.match
        if match is None or self.replay is None or not dashboard_of(self).may_act():
            return
        if self.replay.at(self.ply).to_move < 0:
            self.notify("the match is over here; go back a ply", markup=False)
            return
        config = play_from(
            match.recorded.game,
            match.recorded.actions[: self.ply],
            match.specs,
            self.replay.at(self.ply).to_move,
        )
        self.run_worker(partial(self._preparing, config), name="prepare", group="prepare", thread=True)

    def _preparing(self, config: PlayConfig) -> None:
        """Resolve the bot, in a thread."""
        try:
            self.post_message(self.Prepared(words_of(make_play(config))))
        except ArenaError as error:
            self.post_message(self.Prepared((), str(error)))

    def on_replay_screen_prepared(self, message: Prepared) -> None:
        """Open the board, or show why that is not possible."""
        message.stop()
        if message.trouble:
            self.notify(safe(message.trouble), severity="error", markup=False)
            return
        dashboard_of(self).push_screen(PlayScreen(Link(dashboard_of(self).store, message.words)))

    def action_match(self, step: int) -> None:
        """Show the next or previous match."""
        if self._neighbour is None:
            self._load(self.number, step)
            return
        number = self._neighbour(step)
        if number is None:
            self.notify("the list ends here", markup=False)
        else:
            self._load(number, 0)

    def action_run(self) -> None:
        """Play or pause the match; at its end, play it from the start."""
        if self._timer is not None:
            self._stop()
        elif self.replay is not None:
            if self.ply >= self.replay.num_plies:
                self.ply = 0
            self._start()
        self.show_ply()

    def action_speed(self, step: int) -> None:
        """Play faster or slower."""
        self._speed = min(max(0, self._speed + step), len(SPEEDS) - 1)
        if self._timer is not None:
            self._stop()
            self._start()
        self.show_ply()

    def _start(self) -> None:
        self._timer = self.set_interval(1 / SPEEDS[self._speed], self.run_on, name="run")

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def run_on(self) -> None:
        """Advance by a ply; stop at the end."""
        self.go_to(self.ply + 1)
        if self.replay is None or self.ply >= self.replay.num_plies:
            self._stop()
            self.show_ply()

    def on_row_list_moved(self, message: MoveList.Moved) -> None:
        """Go to the ply of a move."""
        message.stop()
        self.go_to(message.row + 1)

    def on_row_list_selected(self, message: MoveList.Selected) -> None:
        """Go to the ply of a move."""
        message.stop()
        self.go_to(message.row + 1)

    def on_timeline_sought(self, message: Timeline.Sought) -> None:
        """Go to the ply that was clicked."""
        message.stop()
        self.go_to(message.ply)
