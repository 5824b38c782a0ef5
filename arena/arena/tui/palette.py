"""The command palette: commands, and the other results that its providers find for a text."""

from __future__ import annotations

from typing import Final, Self, cast

from textual import on
from textual.command import CommandPalette
from textual.theme import ThemeProvider
from textual.widgets import Input
from textual.worker import Worker, WorkerState

_ID: Final = "--command-palette"
"""Identifier by which Textual knows that the palette of commands is open."""


class Palette(CommandPalette):
    """Textual's palette, in which enter opens only what was found for the text as it is.

    While a search runs, Textual still lists the results of the previous text, and enter would run the first
    of those: for a quickly typed name, perhaps the command Abort.
    """

    _is_submitted = False

    @classmethod
    def of_commands(cls) -> Self:
        """Return the palette with all commands and the results of the app's providers."""
        return cls(placeholder="a command, or part of the name of a tournament, match or bot", id=_ID)

    @classmethod
    def of_themes(cls) -> Self:
        """Return the palette of themes; the placeholder of Textual's own is not ASCII."""
        return cls(providers=[ThemeProvider], placeholder="a theme")

    @on(Input.Changed)
    def _forget_enter(self) -> None:
        self._is_submitted = False

    @on(Input.Submitted)
    def _wait_for_search(self, event: Input.Submitted) -> None:
        """Delay an enter until the search for the current text has ended."""
        if any(self._is_search(worker) and not worker.is_finished for worker in self.workers):
            event.prevent_default().stop()
            self._is_submitted = True

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Open the best result, if enter was pressed while it was being searched."""
        worker = cast("Worker[object]", event.worker)  # pyright: ignore[reportUnknownMemberType] # Textual leaves results of workers open
        if self._is_search(worker) and event.state is WorkerState.SUCCESS and self._is_submitted:
            self._is_submitted = False
            # Called later, after the palette has shown all results: a closed palette would not await them.
            self.call_later(self._select_or_command)

    def _is_search(self, worker: Worker[object]) -> bool:
        return worker.node is self and worker.group == self._GATHER_COMMANDS_GROUP
