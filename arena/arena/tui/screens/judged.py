"""A screen that shows a judged match, and runs a judge in the background."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual.binding import Binding, BindingType
from typing_extensions import override

from arena.analysis import SOLVER
from arena.live.tournament_views import command_line
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.shell.child import ChildProcess
from arena.tui.shell.prompt import Asked, PromptScreen
from arena.tui.shell.screen import ArenaScreen
from arena.tui.text import safe
from arena.watching.bots_source import grading_words, read_judges
from arena.watching.one_match import load_analyses, read_told, replay_of, with_told
from arena.watching.query_answers import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.live.replay_views import Replay
    from arena.tui.shell.child import Output
    from arena.tui.shell.prompt import Filled
    from arena.watching.bots_source import Judges
    from arena.watching.one_match import OneMatch, ToldPly
    from arena.watching.query import Query
    from arena.watching.query_answers import Answer
    from arena_db.judgements import JudgedMatch

_LOOK_S = 2.0
"""Seconds between two polls of a grading by another program."""


class Grading:
    """Judges one match, ply by ply; `child.follow` runs in a thread."""

    def __init__(
        self, number: int, db: str | None, *, by: str = "", nodes: str = "", is_read_only: bool
    ) -> None:
        """Create the grading.

        Args:
            number: number of the match in the store.
            db: path of the store; None for the default place.
            by: the judge; empty for the solver.
            nodes: maximum number of nodes searched for each ply; empty for the judge's own limit.
            is_read_only: whether nothing is stored, so that the grades exist only while they are shown.
        """
        command, *words = grading_words(str(number), by, nodes)
        options = ["--format=ndjson", *(["--read-only"] if is_read_only else [])]
        options += ["--db", db] if db is not None else []
        words = [command, *options, *words]
        self.child = ChildProcess(words)
        self.progress = f"{by or SOLVER} starts to judge; g stops it"
        """The progress, as a sentence."""
        self._is_stopped = False
        self._last = ""
        self._num = 0

    def stop(self) -> None:
        """Stop the judge; judged plies are kept."""
        self._is_stopped = True
        self.child.end()

    def read(self, lines: Sequence[str]) -> list[ToldPly]:
        """Return the plies judged in these lines of output, and remember the last other line."""
        told: list[ToldPly] = []
        for line in lines:
            found = read_told(line)
            if found is not None:
                told.append(found)
            elif line.strip() and not line.startswith("{"):
                self._last = line
        if told:
            self._num += len(told)
            newest = told[-1]
            self.progress = f"{newest.judge}: {newest.done} of {newest.total} plies judged; g stops it"
        return told

    def verdict(self, status: int) -> tuple[str, bool]:
        """Return a sentence about how the grading ended, and whether it failed."""
        if self._is_stopped:
            return f"stopped: {self._num} plies were judged; g continues", False
        if status != 0:
            return self._last.removeprefix("arena: ") or f"the judge ended with status {status}", True
        return f"{self._num} plies were judged" if self._num else "every ply was judged already", False


class JudgedScreen(ArenaScreen):
    """Base class of screens that show one match with a judge's grades; override `show_ply`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "grade", "Grade", id="replay.grade"),
        Binding("J", "grade_by", "Grade by", id="replay.grade-by"),
        Binding("v", "judge", "Other judge", show=False, id="replay.judge"),
    ]

    def __init__(self, number: int) -> None:
        """Create the screen for the match with this number in the store."""
        super().__init__()
        self._looks = self.query_runner("grades")
        self._judges = self.query_runner("judges")
        self.number = number
        """Number of the match in the store."""
        self.match: OneMatch | None = None
        """The match; None until it is loaded."""
        self.replay: Replay | None = None
        self.judge = ""
        """Name of the judge whose grades are shown; empty for the preferred judge."""
        self.grading: Grading | None = None
        """The running grading; None without one."""

    def show_ply(self) -> None:
        """Show the current ply."""

    def look_for_grades(self) -> None:
        """Poll for plies that another program judges."""
        self.set_interval(_LOOK_S, self._look, name="look")

    def on_unmount(self) -> None:
        """End a running grading."""
        self.stop_grading()

    def action_judge(self) -> None:
        """Show the grades of the next judge."""
        if self.match is None or self.replay is None:
            return
        judges = [analysis.name for analysis in self.match.analyses]
        if not judges:
            self.notify("this match has not been judged; g judges it, J by a bot", markup=False)
        elif len(judges) == 1:
            text = f"only {judges[0]} has judged it; J adds another judge"
            self.notify(safe(text), markup=False)
        else:
            self.judge = judges[(judges.index(self.replay.recorded.judge) + 1) % len(judges)]
            self.replay = replay_of(self.match, self.judge)
            self.show_ply()

    def action_grade(self) -> None:
        """Start the solver as judge in the background if it knows the game, or stop the running judge."""
        if self.grading is not None:
            self.stop_grading()
        else:
            self._ask_judges(self._grade_or_choose)

    def action_grade_by(self) -> None:
        """Ask the user for a judge of the match."""
        if self.grading is not None:
            self.notify("a judge is at work; g stops it", markup=False)
        else:
            self._ask_judges(self._choose)

    def _ask_judges(self, then: Callable[[Judges], None]) -> None:
        """Find the judges that can judge the match, in a thread, then call `then`."""
        if self.match is None:
            return
        source = partial(read_judges, game=self.match.recorded.game)

        def take(answer: Answer[Judges]) -> None:
            if isinstance(answer, Rows) and self.is_current and self.grading is None:
                then(answer.content)

        self._judges.run(source, "looking for judges", take)

    def _grade_or_choose(self, judges: Judges) -> None:
        if judges.is_solvable:
            self._start_grading()
        else:
            self._choose(judges)

    def _choose(self, judges: Judges) -> None:
        """Ask for the judge, and start it: a bot is run in its sandbox."""
        app, match = dashboard_of(self), self.match
        if match is None or not app.may_act():
            return
        known = [analysis.name for analysis in match.analyses if analysis.name not in judges.names]
        first = judges.names[0] if judges.names else "BOT"
        asked = (
            Asked("judge", f"{first}, or a bot by its spec", options=(*judges.names, *known)),
            Asked("nodes", "the judge's own limit", is_needed=False),
        )

        def line(filled: Filled) -> str:
            words = grading_words(match.address, filled["judge"] or "JUDGE", filled["nodes"])
            return command_line(words, app.store)

        def go_on(filled: Filled | None) -> None:
            if filled is not None and self.match is match and self.grading is None:
                self._start_grading(filled["judge"], filled["nodes"])

        question = f"Who judges {match.address}?"
        if not judges.is_solvable:
            question = f"There is no exact solver for {judges.game}. {question}"
        app.push_screen(PromptScreen(question, asked, line), go_on)

    def _start_grading(self, by: str = "", nodes: str = "") -> None:
        """Start a judge in the background; its grades are shown as they arrive."""
        app = dashboard_of(self)
        self.grading = Grading(self.number, app.store, by=by, nodes=nodes, is_read_only=app.is_read_only)
        follow = partial(self.grading.child.follow, self)
        self.run_worker(follow, name="grade", group="grade", thread=True)
        self.show_ply()

    def stop_grading(self) -> None:
        """End a running grading; judged plies are kept."""
        if self.grading is not None:
            self.grading.stop()

    @override
    def go_back(self) -> bool:
        if self.grading is None:
            return super().go_back()
        self.stop_grading()
        return True

    def on_output(self, message: Output) -> None:
        """Show the judged plies; at the end notify the user of the result."""
        message.stop()
        grading = self.grading
        if grading is None or message.child is not grading.child:
            return
        told = grading.read(message.lines)
        if message.status is not None:
            self.grading = None
            text, has_failed = grading.verdict(message.status)
            self.notify(safe(text), severity="error" if has_failed else "information", markup=False)
        if told and self.match is not None:
            self.judge = told[-1].judge
            self._judged_anew(with_told(self.match, told))
        else:
            self.show_ply()

    def _judged_anew(self, match: OneMatch) -> None:
        """Show the same match with other grades."""
        self.match = match
        self.replay = replay_of(match, self.judge)
        self.show_ply()

    def _look(self) -> None:
        """Poll for plies that another program judges, while an analysis is incomplete."""
        match = self.match
        if match is not None and self.grading is None and not all(a.is_complete for a in match.analyses):
            self.reload()

    @override
    def reload(self) -> None:
        source = partial(self._loading_grades, number=self.number)
        self._looks.run(source, "reading the grades", self._take_grades)

    @staticmethod
    def _loading_grades(query: Query, number: int) -> Rows[tuple[int, tuple[JudgedMatch, ...]]]:
        """Read the present grades, in a thread."""
        return Rows((number, load_analyses(query, number)))

    def _take_grades(self, answer: Answer[tuple[int, tuple[JudgedMatch, ...]]]) -> None:
        """Show the present grades; an unreadable store is tried again later."""
        match = self.match
        if match is None or not isinstance(answer, Rows):
            return
        number, analyses = answer.content
        if number == self.number and analyses != match.analyses:
            self._judged_anew(replace(match, analyses=analyses))
