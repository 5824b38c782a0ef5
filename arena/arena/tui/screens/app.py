"""The dashboard's app: the shell, and which store and tournament its screens ask about."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypedDict, cast, runtime_checkable

from typing_extensions import override

from arena.live.tables import MatrixView, StandingsView
from arena.tui.app import ArenaApp
from arena.tui.feed.condition import word
from arena.tui.feed.store_feed import StoreFeed
from arena.tui.shell.feed import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from textual.message_pump import MessagePump

    from arena.play.start import Link
    from arena.tui.glyphs import GlyphName
    from arena.tui.shell.feed import Feed
    from arena.tui.shell.screen import ArenaScreen

_ENDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals on which the terminal is put back as it was."""


@runtime_checkable
class Filtered(Protocol):
    """A screen that a filter can be brought to from another one."""

    def show_filter(self, text: str) -> None:
        """Put it there."""
        ...


class Options(TypedDict, total=False):
    """Options of the shell."""

    glyphs: GlyphName | None
    theme: str
    reduce_motion: bool
    clock: Callable[[], float]


class Dashboard(ArenaApp):
    """The shell with a store."""

    def __init__(  # noqa: PLR0913 # options of a program
        self,
        feed: Feed | None,
        screens: Sequence[type[ArenaScreen]],
        *,
        store: str | None,
        tournament: str = "",
        match: int = 0,
        play: Link | None = None,
        is_read_only: bool = False,
        **options: Unpack[Options],
    ) -> None:
        """Make it.

        Args:
            feed: as of the shell.
            screens: as of the shell.
            store: path of the store; None for the usual place.
            tournament: name of the tournament that is watched; empty for none.
            match: number of the match that is replayed; 0 for none.
            play: the way to the play that a person begins with; None for none.
            is_read_only: whether nothing may be asked of a tournament, started or written.
            options: as of the shell.
        """
        super().__init__(feed, screens, **options)
        self.store = store
        """Path of the store; None for the usual place."""
        self.tournament = tournament
        """Name of the tournament that is watched."""
        self.match = match
        """Number of the match that is replayed at the start."""
        self.play = play
        """The way to the play that a person begins with."""
        self.is_read_only = is_read_only
        """Whether nothing may be asked of a tournament, started or written from here."""

    def may_act(self) -> bool:
        """Say whether something may be asked, started or written; where not, tell so."""
        if self.is_read_only:
            self.notify("this dashboard only looks (--read-only)", severity="warning", markup=False)
        return not self.is_read_only

    @override
    async def action_open(self, name: str) -> None:
        text = self.current.export_filter() if self.current is not None else ""
        if not text and self.tournament:
            text = word("tournament", self.tournament)
        await super().action_open(name)
        if isinstance(self.current, Filtered):
            self.current.show_filter(text)

    async def attach(self, tournament: int, name: str) -> None:
        """Watch another tournament of the store, given by its id and name."""
        self.tournament = name
        # Tables of the one before must not stand there till the new ones come.
        model = Model(facts={"standings": StandingsView(), "matrix": MatrixView(), "trend": []})
        feed = StoreFeed(self.store, tournament, is_read_only=self.is_read_only)
        self.follow_feed(feed, model)
        await self.open_screen("live")

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
