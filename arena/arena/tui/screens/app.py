"""The dashboard's app: the shell, and which store and tournament its screens ask about."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, TypedDict, cast

from arena.tui.app import ArenaApp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from textual.message_pump import MessagePump

    from arena.tui.glyphs import GlyphName
    from arena.tui.shell.feed import Feed
    from arena.tui.shell.screen import ArenaScreen

_ENDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals on which the terminal is put back as it was."""


class Options(TypedDict, total=False):
    """Options of the shell."""

    glyphs: GlyphName | None
    theme: str
    reduce_motion: bool
    clock: Callable[[], float]


class Dashboard(ArenaApp):
    """The shell with a store."""

    def __init__(
        self,
        feed: Feed | None,
        screens: Sequence[type[ArenaScreen]],
        *,
        store: str | None,
        tournament: str = "",
        match: int = 0,
        **options: Unpack[Options],
    ) -> None:
        """Make it.

        Args:
            feed: as of the shell.
            screens: as of the shell.
            store: path of the store; None for the usual place.
            tournament: name of the tournament that is watched; empty for none.
            match: number of the match that is replayed; 0 for none.
            options: as of the shell.
        """
        super().__init__(feed, screens, **options)
        self.store = store
        """Path of the store; None for the usual place."""
        self.tournament = tournament
        """Name of the tournament that is watched."""
        self.match = match
        """Number of the match that is replayed at the start."""

    def on_load(self) -> None:
        """End in order when the process is told to end."""
        loop = asyncio.get_running_loop()
        # Only the main thread may take signals, and tests run many apps in one process.
        with suppress(RuntimeError, ValueError):
            if not self.is_headless:
                for number in _ENDS:
                    loop.add_signal_handler(number, self._end)

    def _end(self) -> None:
        self.exit()


def dashboard_of(node: MessagePump) -> Dashboard:
    """Give the app of a screen or a widget, with its type."""
    return cast("Dashboard", node.app)
