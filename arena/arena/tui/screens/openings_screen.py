"""Openings: a board on which the user plays moves, and the next moves in its position in stored matches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from typing_extensions import override

from arena.errors import ArenaError
from arena.games.notation import format_moves
from arena.live.opening_views import (
    COLUMNS,
    NextMove,
    OpeningsView,
    best_line,
    cells_of,
    position,
    with_best_play,
)
from arena.results.condition import HINT, read_condition
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.shell.child import ChildProcess
from arena.tui.shell.screen import ArenaScreen
from arena.tui.text import safe
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.large_board import LargeBoard
from arena.tui.widgets.output_panel import break_lines
from arena.tui.widgets.table import Col, ColumnTable
from arena.watching.bot_pages import read_openings, read_solved, solving_words
from arena.watching.query_answers import Empty, Loading, Rows
from arena_plugins import load_game

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from arena.live.opening_views import BestPlay
    from arena.tui.shell.child import Output
    from arena.tui.widgets.row_list import RowList
    from arena.watching.query_answers import Answer

_Row: TypeAlias = tuple[NextMove, tuple[str, ...]]
"""A move, and its figures as texts."""
_NOTE_WIDTH = 38
"""Width of the notes below the table in cells, on the narrowest terminal with a board beside it."""


def _cell(place: int, row: _Row) -> str:
    return row[1][place]


class NextMoves(ColumnTable[_Row]):
    """The next moves, a row each, with their figures as texts."""

    HELP = (
        "n matches, score of the side to move with its 95 % interval, given: how often the opening of a"
        " tournament gave the move. Enter plays it on the board."
    )


class OpeningsScreen(ArenaScreen):
    """The openings of a game, from a position on."""

    NAME = "openings"
    FILTER_HINT = HINT
    HELP = (
        "The next moves in the position over all stored matches; other orders of the same moves and mirror"
        " images are counted, too. best play is the result of the exact solver, if it knows the game; it runs"
        " in the background, v turns it on or off. Enter plays the move at the cursor, left takes one back,"
        " right follows the match this was opened from, g goes to the start, / filters the matches. As text:"
        " arena openings MOVES"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h,backspace", "back_up", "Take back", key_display="left", id="openings.back"),
        Binding("right,l", "follow", "Match's move", key_display="right", id="openings.next"),
        Binding("g", "start", "Start", id="openings.start"),
        Binding("v", "solve", "Best play", id="openings.solve"),
        Binding("x", "flip", "Flip", show=False, id="openings.flip"),
    ]
    CSS = """
    OpeningsScreen LargeBoard { height: 1fr; width: 38; }
    OpeningsScreen NextMoves { height: 1fr; }
    OpeningsScreen #notes { height: 6; }
    OpeningsScreen.-wide LargeBoard { width: 1fr; }
    OpeningsScreen.-wide #side { width: 78; }
    OpeningsScreen.-pair LargeBoard { width: 30; }
    OpeningsScreen.-single LargeBoard { display: none; }
    OpeningsScreen.-flat #notes { display: none; }
    """

    def __init__(self, game: str, actions: tuple[int, ...] = (), ply: int = 0) -> None:
        """Create the screen.

        Args:
            game: canonical spec of the game.
            actions: actions of the match that the key `right` follows.
            ply: number of these actions at which to begin.
        """
        super().__init__()
        self._reads = self.query_runner("openings")
        self._spec = game
        self._game = load_game(game)
        self._match = actions
        self._line = actions[:ply]
        self._view: OpeningsView | None = None
        self._solving: ChildProcess | None = None
        self._solved: dict[tuple[int, ...], dict[int, BestPlay]] = {}
        """Known results of perfect play, by line and action."""
        self._complete: set[tuple[int, ...]] = set()
        """Lines for which all results that the solver can find are known."""
        self._is_solved = False
        self._trouble = self._last = ""
        """The reason why the solver cannot be used (`_trouble`), and the last other line of its output
        (`_last`)."""

    @override
    def compose_body(self) -> ComposeResult:
        columns = [
            Col(
                column.head, partial(_cell, place), len(column.head), column.rank, is_right=not column.is_name
            )
            for place, column in enumerate(COLUMNS)
        ]
        with Horizontal():
            yield LargeBoard()
            with Vertical(id="side"):
                yield NextMoves(columns, "next moves", nothing="reading ...")
                yield BareLines(id="notes")

    def on_mount(self) -> None:
        """Read the openings; a read-only dashboard runs the solver only on request."""
        self._is_solved = not dashboard_of(self).is_read_only
        self.reload()
        self.query_one(NextMoves).focus()

    @override
    def reload(self) -> None:
        moves = format_moves(self._game, self._line)
        self.query_one(LargeBoard).show(position(self._spec, self._line))
        self._end_solving()
        source = partial(read_openings, game=self._spec, moves=moves, condition=self.filter_text)
        self._reads.run(source, "counting next moves", self._take, key=(self._line, self.filter_text))

    def _take(self, answer: Answer[OpeningsView]) -> None:
        table, notes = self.query_one(NextMoves), self.query_one("#notes", BareLines)
        if isinstance(answer, Loading):
            return
        if not isinstance(answer, Rows):
            self._view = None
            table.show((), nothing=answer.why if isinstance(answer, Empty) else answer.reason)
            notes.show([])
            return
        self._view = answer.content
        if self._line == self._view.actions:
            self._begin_solving()
        self._show()
        table.go_to(0, tell=False)

    def _show(self) -> None:
        """Show the moves with their known results."""
        table, notes = self.query_one(NextMoves), self.query_one("#notes", BareLines)
        if self._view is None:
            return
        known = self._solved.get(self._view.actions, {}).values()
        view = with_best_play(self._view, known)
        plural = "" if view.games == 1 else "es"
        title = f"next moves, {view.games} match{plural}{self.filter_note}"
        nothing = "no stored match continues from here; left takes a move back"
        table.show(list(zip(view.rows, cells_of(view), strict=True)), title=title, nothing=nothing)
        side = ("first", "second")[view.player]
        line = f"{' '.join(view.line) or 'start'}: scores are those of the {side} player"
        if self._solving is not None:
            line = f"{line}. The solver works; v stops it."
        width = max(_NOTE_WIDTH, notes.size.width - 1)
        lines = break_lines([*filter(None, [best_line(known)]), line, *view.notes], width)
        notes.show([((f" {safe(text)}", "dim"),) for text in lines])

    @override
    def filter_changed(self, text: str) -> None:
        try:
            read_condition(text)
        except ArenaError as error:
            self.notify(safe(str(error)), severity="warning", markup=False)
            return
        self.reload()

    def on_row_list_selected(self, message: RowList.Selected) -> None:
        """Play the move of a row."""
        message.stop()
        self._go((*self._line, self.query_one(NextMoves).row(message.row)[0].action))

    def action_back_up(self) -> None:
        """Undo a move."""
        self._go(self._line[:-1])

    def action_follow(self) -> None:
        """Play the next move of the match, if its moves led here."""
        num = len(self._line)
        if self._match[:num] == self._line and num < len(self._match):
            self._go(self._match[: num + 1])
        else:
            self.notify("this is not a position of the match; left takes moves back", markup=False)

    def action_start(self) -> None:
        """Go to the initial position."""
        self._go(())

    def action_solve(self) -> None:
        """Turn the solver on or off."""
        self._is_solved = not self._is_solved
        if self._is_solved:
            self._begin_solving()
            if self._trouble:
                self.notify(self._trouble, severity="warning", markup=False)
        else:
            self._end_solving()
        self._show()

    def _begin_solving(self) -> None:
        """Start the solver on the position in a process of its own, since it loads compiled code."""
        line = self._line
        if not self._is_solved or self._trouble or self._solving is not None or line in self._complete:
            return
        child = self._solving = ChildProcess(
            solving_words(self._spec, format_moves(self._game, line).split())
        )
        self.run_worker(partial(child.follow, self), name="solve", group="solve", thread=True)

    def _end_solving(self) -> None:
        """End the solver; known results stay."""
        if self._solving is not None:
            self._solving.end()
            self._solving = None

    def on_unmount(self) -> None:
        """End the solver."""
        self._end_solving()

    def on_output(self, message: Output) -> None:
        """Show new results of the solver."""
        message.stop()
        if message.child is not self._solving:
            return
        self._solved.setdefault(self._line, {}).update(read_solved(message.lines))
        said = [line for line in message.lines if line.strip() and not line.startswith("{")]
        self._last = (*said, self._last)[0]
        if message.status is not None:
            self._solving = None
            self._complete.add(self._line)
            if message.status:
                # There is no solver for the game, or it cannot be run: this holds for every position.
                self._trouble = self._last.removeprefix("arena: ") or "the solver cannot be run"
        self._show()

    def action_flip(self) -> None:
        """Flip the board."""
        self.query_one(LargeBoard).flip()

    def _go(self, line: tuple[int, ...]) -> None:
        if line != self._line:
            self._line = line
            self.reload()

    @override
    def text_to_copy(self) -> str:
        return format_moves(self._game, self._line)
