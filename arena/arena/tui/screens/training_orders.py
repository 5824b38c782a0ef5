"""What can be asked of a training run from its screen: pause, resume, stop and abort."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.training.stopping import order_run
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.shell.confirm import ConfirmScreen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from arena.live.run_views import RunRow
    from arena.training.stopping import RunOrder
    from arena.tui.shell.screen import ArenaScreen


class TrainingControl:
    """Sends a screen's orders to training runs."""

    def __init__(self, screen: ArenaScreen, folder: Path, tell: Callable[[str, bool], None]) -> None:
        """Keep the screen.

        Args:
            screen: over which questions are shown.
            folder: of all runs.
            tell: hears what became of an order, and whether that is trouble; called in any thread.
        """
        self._screen = screen
        self._folder = folder
        self._tell = tell

    def pause(self, row: RunRow | None) -> None:
        """Pause a run, or let it go on if it is paused."""
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
        text = f"{text} arena train --resume {row.name} goes on later."
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
