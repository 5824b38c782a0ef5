"""Commands of the screens to tournaments and training runs: asking for confirmation, then execution."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from arena.coordinator.client import ask, follow, start
from arena.coordinator.commands import AbortRun, PauseRun, ResumeRun, StopRun
from arena.errors import ArenaError
from arena.home import removed_file
from arena.live.labels import show_name
from arena.live.tournament_views import command_line
from arena.training.stopping import order_run
from arena.tui.forms.form_actions import (
    archive_event,
    disqualify_bot,
    enter_bot,
    installed_bots,
    remove_event,
    withdraw_bot,
)
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.shell.confirm import ConfirmScreen
from arena.tui.shell.prompt import Asked, PromptScreen
from arena.tui.shell.wanted import still_wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from arena.coordinator.commands import RunCommand
    from arena.live.run_views import RunRow
    from arena.live.tournament_views import TournamentRow
    from arena.training.stopping import RunOrder
    from arena.tui.shell.prompt import Filled
    from arena.tui.shell.screen import ArenaScreen

PLAYED = ("running", "paused")
"""States in which a tournament can be paused."""
HELD = ("preparing", *PLAYED)
"""States in which a tournament can be stopped."""
_Kind: TypeAlias = Literal["join", "leave", "disqualify"]
_ENTRANTS: Final[Mapping[_Kind, str]] = {"join": "add", "leave": "withdraw", "disqualify": "disqualify"}
"""Subcommands of `arena entrants`; a ladder has its own for the first two."""


class EventControl:
    """Sends commands to tournaments for a screen; results are reported by `say`, also from threads."""

    def __init__(
        self, screen: ArenaScreen, say: Callable[[str], None], complain: Callable[[str], None]
    ) -> None:
        """Create the object.

        Args:
            screen: the screen over which questions are shown.
            say: reports a result, a sentence; may be called in any thread.
            complain: reports a failure in the same way.
        """
        self._screen = screen
        self._say = say
        self._complain = complain

    def may(self, row: TournamentRow | None, *states: str) -> bool:
        """Return whether a tournament is in one of `states` and commands are allowed; else report why not."""
        if row is None or not dashboard_of(self._screen).may_act():
            return False
        if states and row.state not in states:
            self._complain(f"{show_name(row.name)} is {row.state_text}")
            return False
        return True

    def pause(self, event: int | str, *, is_paused: bool, lead: str = "") -> None:
        """Pause a tournament, or continue it.

        Args:
            event: id or name of the tournament.
            is_paused: whether the tournament is paused now.
            lead: text before the reported result.
        """
        self._ask(event, ResumeRun() if is_paused else PauseRun(), lead)

    def stop(self, event: int | str, name: str, *, lead: str = "") -> None:
        """Stop a tournament, after the user confirms; `name` is its name in the question."""
        text = "Running matches end and are stored; R resumes it later."
        self._confirm(f"Stop {show_name(name)}?", text, lambda: self._ask(event, StopRun(), lead))

    def abort(self, event: int | str, name: str, *, lead: str = "") -> None:
        """Abort a tournament, after the user confirms."""
        text = "Running matches end at once without a result; R plays them again."
        self._confirm(f"Abort {show_name(name)}?", text, lambda: self._ask(event, AbortRun(), lead))

    def resume(self, row: TournamentRow | None) -> None:
        """Resume a tournament, after the user confirms; one held by a silent process is taken over."""
        if row is None or not self.may(row):
            return
        if not row.can_resume:
            self._complain(f"{show_name(row.name)} is {row.state_text}")
            return
        words, name = row.resume_words(), show_name(row.name)
        question, text = f"Resume {name}?", f"Runs: {self._line(words)}"
        if row.state == "silent":
            question = f"Take over {name}?"
            text = (
                f"It is held by {row.held_by}. That process can store nothing more, even if it continues;"
                f" matches that it is playing are played again.\n\n{text}"
            )
        self._confirm(question, text, partial(self._resume, words, name))

    def archive(self, row: TournamentRow | None) -> None:
        """Hide a tournament from lists, or list it again."""
        if row is not None and self.may(row):
            store = dashboard_of(self._screen).store
            self._work(lambda: archive_event(store, row.id, undo=row.is_archived))

    def remove(self, row: TournamentRow | None) -> None:
        """Move a tournament out of the store, after the user confirms."""
        if row is None or not self.may(row):
            return
        store = dashboard_of(self._screen).store
        text = (
            f"Its {row.done} matches move to {removed_file(store, row.name)}; no table here counts them any"
            f" more. arena db merge takes them back.\n\nRuns: {self._line(['remove', row.name])}"
        )
        self._confirm(
            f"Remove {show_name(row.name)}?", text, lambda: self._work(lambda: remove_event(store, row.id))
        )

    def join(self, row: TournamentRow | None) -> None:
        """Enter a bot in a tournament."""
        if row is None or not self._may_change(row):
            return
        if not row.is_open:
            self._complain(f"{show_name(row.name)} is a {row.type}, which accepts no more bots")
            return

        def enter(filled: Filled) -> str:
            # The store is always named, because the default place may differ in the other process.
            return enter_bot(shlex.split(self._line(_entrant_words(row, "join", filled)))[1:])

        self._prompt(row, "join", f"Enter a bot in {show_name(row.name)}", enter)

    def leave(self, row: TournamentRow | None) -> None:
        """Withdraw a bot from a tournament; it keeps its matches and its rating."""
        question = "Let a bot leave {name}: what it played counts, it plays no more"
        self._let_go(row, "leave", question, withdraw_bot)

    def disqualify(self, row: TournamentRow | None) -> None:
        """Disqualify a bot: it plays no more, and all its matches are void."""
        question = "Disqualify a bot of {name}: it plays no more, and all its matches are void"
        self._let_go(row, "disqualify", question, disqualify_bot)

    def _may_change(self, row: TournamentRow) -> bool:
        """Return whether the bots of a tournament can be changed; if not, report why before any question."""
        if not self.may(row):
            return False
        if row.fixed:
            self._complain(row.fixed)
        return not row.fixed

    def _let_go(
        self,
        row: TournamentRow | None,
        kind: _Kind,
        question: str,
        act: Callable[[str | None, str, str, str], str],
    ) -> None:
        """Ask for the bot that leaves, and remove it from the tournament."""
        if row is None or not self._may_change(row):
            return
        store = dashboard_of(self._screen).store
        self._prompt(
            row,
            kind,
            question.format(name=show_name(row.name)),
            lambda filled: act(store, row.name, filled["bot"], filled["reason"]),
        )

    def _prompt(self, row: TournamentRow, kind: _Kind, question: str, act: Callable[[Filled], str]) -> None:
        """Ask for a bot and a reason; then run `act`, which returns its result, in a thread."""
        is_needed = _needs_reason(row, kind)
        asked = (
            Asked("bot", "mcts:playouts=400", options=installed_bots())
            if kind == "join"
            else Asked("bot", "a bot of it", options=row.bots),
            Asked("reason", "why, for everybody" if is_needed else "none", is_needed=is_needed),
        )

        def go_on(filled: Filled | None) -> None:
            if filled is None:
                return
            if kind == "join":
                self._say(f"{filled['bot']} is copied and answers one position first ...")
            self._work(lambda: act(filled))

        def line(filled: Filled) -> str:
            return self._line(_entrant_words(row, kind, filled))

        dashboard_of(self._screen).push_screen(PromptScreen(question, asked, line), go_on)

    def _line(self, words: list[str]) -> str:
        return command_line(words, dashboard_of(self._screen).store)

    def _confirm(self, question: str, text: str, act: Callable[[], None]) -> None:
        dashboard_of(self._screen).push_screen(
            ConfirmScreen(question, text), lambda yes: act() if yes else None
        )

    def _ask(self, event: int | str, command: RunCommand, lead: str) -> None:
        store = dashboard_of(self._screen).store

        def tell(text: str) -> None:
            self._say(f"{lead}{text}")

        self._work(lambda: lead + ask(store, event, command, is_wanted=still_wanted(), tell=tell))

    def _resume(self, words: Sequence[str], name: str) -> None:
        self._say(f"resuming {name}: each bot answers one position first ...")
        store = dashboard_of(self._screen).store
        self._work(lambda: f"{follow(start(words, db=store), still_wanted()).name} continues")

    def _work(self, work: Callable[[], str]) -> None:
        """Run a function in a thread, and report its result."""

        def run() -> None:
            try:
                self._say(work())
            except ArenaError as error:
                self._complain(str(error))

        self._screen.run_worker(run, name="control", group="control", thread=True)


def _needs_reason(row: TournamentRow, kind: _Kind) -> bool:
    return row.type != "ladder" or kind == "disqualify"


def _entrant_words(row: TournamentRow, kind: _Kind, filled: Filled) -> list[str]:
    """Return the command that changes the entrants, as the words after `arena`."""
    command = ["entrants", _ENTRANTS[kind]] if _needs_reason(row, kind) else ["ladder", kind]
    reason = filled["reason"] or ("WHY" if _needs_reason(row, kind) else "")
    return [*command, *([f"--reason={reason}"] if reason else []), "--", row.name, filled["bot"] or "BOT"]


class TrainingControl:
    """Sends a screen's orders to training runs."""

    def __init__(self, screen: ArenaScreen, folder: Path, tell: Callable[[str, bool], None]) -> None:
        """Create the object.

        Args:
            screen: the screen over which questions are shown.
            folder: the folder of all runs.
            tell: called with the result of an order and whether the order failed; may be called in any
                thread.
        """
        self._screen = screen
        self._folder = folder
        self._tell = tell

    def pause(self, row: RunRow | None) -> None:
        """Pause a run, or continue it if it is paused."""
        if row is not None:
            self._order(row, "resume" if row.is_paused(dashboard_of(self._screen).clock()) else "pause")

    def stop(self, row: RunRow | None) -> None:
        """Stop a run after the user confirms."""
        self._confirm(row, "stop", "A checkpoint is kept at its next step.")

    def abort(self, row: RunRow | None) -> None:
        """End a run at once after the user confirms."""
        self._confirm(row, "abort", "What it learned since its last checkpoint is lost.")

    def _confirm(self, row: RunRow | None, order: RunOrder, text: str) -> None:
        dashboard = dashboard_of(self._screen)
        if row is None or not dashboard.may_act():
            return
        text = f"{text} arena train --resume {row.name} continues it later."
        screen = ConfirmScreen(f"{order.capitalize()} {row.name}?", text)
        dashboard.push_screen(screen, lambda yes: self._order(row, order) if yes else None)

    def _order(self, row: RunRow, order: RunOrder) -> None:
        """Send an order to the process of a run from a thread: the answer can take seconds."""
        if not dashboard_of(self._screen).may_act():
            return
        self._tell(f"{row.name} is asked to {order} ...", False)  # noqa: FBT003 - no trouble

        def work() -> None:
            try:
                answer = order_run(self._folder / row.name, order)
                self._tell(answer.text, not answer.is_taken)
            except OSError as error:
                self._tell(f"the order to {row.name} cannot be left: {error.strerror or error}", True)  # noqa: FBT003

        self._screen.run_worker(work, name="order", group="order", thread=True)
