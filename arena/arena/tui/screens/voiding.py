"""Asks whether to declare a match void or to count it again, for the list of matches and the replay."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from arena.errors import ArenaError
from arena.live.tournament_views import command_line
from arena.tui.forms.form_actions import set_void
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.shell.prompt import Asked, PromptScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.tui.shell.prompt import Filled
    from arena.tui.shell.screen import ArenaScreen


def ask_and_void(
    screen: ArenaScreen, number: int, address: str, *, is_void: bool, changed: Callable[[], None]
) -> None:
    """Ask for a reason, then declare a match void, or count a void one again.

    Args:
        screen: the screen over which the question is shown.
        number: number of the match in the store.
        address: address of the match.
        is_void: whether it is void now.
        changed: called once the change is stored.
    """
    app = dashboard_of(screen)
    kind = "unvoid" if is_void else "void"

    def line(filled: Filled) -> str:
        return command_line([kind, f"--reason={filled['reason']}", "--", address], app.store)

    def work(reason: str) -> None:
        try:
            text, severity = set_void(app.store, number, reason, undo=is_void), "information"
            app.call_from_thread(changed)
        except ArenaError as error:
            text, severity = str(error), "warning"
        told = partial(app.notify, f"{address}: {text}", markup=False)
        app.call_from_thread(told, severity=severity)

    def go_on(filled: Filled | None) -> None:
        if filled is not None:
            screen.run_worker(partial(work, filled["reason"]), name="void", group="void", thread=True)

    question = f"Count {address} again?" if is_void else f"Declare {address} void? No table counts it then."
    if app.may_act():
        app.push_screen(PromptScreen(question, [Asked("reason", "why, for everybody")], line), go_on)
