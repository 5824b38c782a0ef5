"""The dashboard's app: the shell, with the store and the tournament that its screens query."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast, runtime_checkable

from textual import events, on
from typing_extensions import override

from arena.live.labels import show_name
from arena.results.condition import word
from arena.tui.app import ArenaApp, ShellOptions
from arena.tui.settings import SavedSettings
from arena.watching.feed import awaited
from arena.watching.first_feed import FIRST, First
from arena.watching.store_feed import StoreFeed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Unpack

    from textual.message_pump import MessagePump

    from arena.coordinator.client import Link
    from arena.tui.settings import SettingsFile
    from arena.tui.shell.follow import NewData
    from arena.tui.shell.screen import ArenaScreen
    from arena.tui.widgets.encounter_tables import Matrix
    from arena.watching.feed import Feed

_PLAY_FORM = "new-play"
"""Name of the screen with the form for a session."""
_ENDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals on which the dashboard restores the terminal and exits."""
_TERMINAL_S = 2.0
"""Seconds between two checks that the terminal still exists."""


@runtime_checkable
class AcceptsFilter(Protocol):
    """A screen that accepts a filter from another screen."""

    def show_filter(self, text: str) -> None:
        """Apply the filter."""
        ...


@runtime_checkable
class AcceptsOpponent(Protocol):
    """A screen from which the user starts a session against a bot."""

    def show_opponent(self, bot: str, game: str) -> None:
        """Fill in the current bot and game; an empty text means none."""
        ...


class ScreenOptions(ShellOptions, total=False):
    """Options of the shell, and the settings file."""

    settings: SettingsFile | None


class StartPoint(NamedTuple):
    """What a dashboard shows first."""

    tournament: str = ""
    """Name of the watched tournament; empty for none."""
    match: int = 0
    """Number in the store of the match that is replayed first; 0 for none."""
    ply: int | None = None
    """Ply at which the replayed match is opened; None for the end of its opening."""
    running: int = 0
    """Number in the tournament of the match that is opened once it runs; 0 for none."""
    screen: str = ""
    """Name of the first screen; empty for the first one."""
    play: Link | None = None
    """Connection to the session that is shown first; None for none."""


_NOWHERE = StartPoint()


class Dashboard(ArenaApp):
    """The shell with a store."""

    def __init__(
        self,
        feed: Feed | None,
        screens: Sequence[type[ArenaScreen]],
        *,
        store: str | None,
        at: StartPoint = _NOWHERE,
        is_read_only: bool = False,
        **options: Unpack[ScreenOptions],
    ) -> None:
        """Create the app.

        Args:
            feed: as for `ArenaApp`.
            screens: as for `ArenaApp`.
            store: path of the store; None for the default place.
            at: the tournament, match or screen that is shown first.
            is_read_only: whether commands, new tournaments and writes are refused.
            options: as for `ArenaApp`, and the settings file; without one no settings are kept.
        """
        settings = options.get("settings")
        self._kept = settings
        self.settings = SavedSettings() if settings is None else settings.read()
        """The settings as they were saved last, at the start of this dashboard."""
        super().__init__(
            feed,
            screens,
            start=at.screen,
            store=store,
            glyphs=options.get("glyphs"),
            theme=options.get("theme") or self.settings.theme,
            reduce_motion=options.get("reduce_motion", False),
            clock=options.get("clock", time.time),
        )
        self.store = store
        """Path of the store; None for the default place."""
        self.tournament = at.tournament
        """Name of the watched tournament."""
        if feed is not None and at.tournament:
            self.model = self.latest = awaited(at.tournament)
        self.match = at.match
        """Number in the store of the match that is replayed at the start; 0 for none, and once it was
        opened."""
        self.ply = at.ply
        """The ply at which the replayed match is opened."""
        self.running = at.running
        """Number in the tournament of the match that is opened once it runs; 0 for none."""
        self.play = at.play
        """Connection to the session that is shown first; None for none."""
        self.is_read_only = is_read_only
        """Whether commands, new tournaments and writes are refused."""

    @on(events.Mount)
    def _follow_theme(self) -> None:
        """Save the theme when the user chooses another one."""
        self.theme_changed_signal.subscribe(self, lambda theme: self.keep(theme=theme.name))

    def keep(self, **changes: Any) -> None:  # noqa: ANN401 # of any setting
        """Save settings for the next start; a read-only dashboard saves nothing."""
        if self._kept is not None and not self.is_read_only:
            self._kept.keep(**changes)

    def on_matrix_changed(self, message: Matrix.Changed) -> None:
        """Save the content of matrix cells, on any screen."""
        self.keep(cells=message.mode)

    def may_act(self) -> bool:
        """Return whether commands are allowed; if not, notify the user."""
        if self.is_read_only:
            self.notify("this dashboard was started with --read-only", severity="warning", markup=False)
        return not self.is_read_only

    @override
    async def action_open(self, name: str) -> None:
        text = self.current.export_filter() if self.current is not None else ""
        if not text and self.tournament:
            text = word("tournament", self.tournament)

        def show(screen: object) -> None:
            if isinstance(screen, AcceptsFilter):
                screen.show_filter(text)

        await self.open_screen(name, show)

    async def action_play(self) -> None:
        """Open the form for a session, with the current bot and game."""
        current = self.current
        if self.has_screen(_PLAY_FORM) and current is not None and self.may_act():
            bot, game = current.opponent(), self.model.view.progress.game
            await self.push_screen(_PLAY_FORM)
            if isinstance(self.current, AcceptsOpponent):
                self.current.show_opponent(bot, game)

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "play":
            # Not available in the form or during a session.
            return self.has_screen(_PLAY_FORM) and not any(
                screen.name in (_PLAY_FORM, "play") for screen in self.screen_stack
            )
        return super().check_action(action, parameters)

    def on_new_data(self, message: NewData) -> None:
        """Watch the first tournament if there was none before; the current screen stays open."""
        first = message.model.facts.get(FIRST)
        if isinstance(first, First) and not self.tournament:
            self.notify(f"{show_name(first.name)} has begun", markup=False)
            self._watch(first.tournament, first.name)

    async def attach(self, tournament: int, name: str) -> None:
        """Watch another tournament of the store, given by its id and name."""
        self._watch(tournament, name)
        await self.open_screen("live")

    def _watch(self, tournament: int, name: str) -> None:
        self.tournament = name
        feed = StoreFeed(self.store, tournament, is_read_only=self.is_read_only, rates_past=True)
        # Tables of the previous tournament must not stay until the new ones arrive.
        self.follow_feed(feed, awaited(name))

    def on_load(self) -> None:
        """Restore the terminal and exit on SIGTERM, on SIGHUP, and when the terminal is gone."""
        loop = asyncio.get_running_loop()
        # Both are raised outside the main thread, where signals cannot be handled.
        with suppress(RuntimeError, ValueError):
            if not self.is_headless:
                for number in _ENDS:
                    loop.add_signal_handler(number, self._end)
        self.set_interval(_TERMINAL_S, self._look_for_terminal, name="terminal")

    def _look_for_terminal(self) -> None:
        # A terminal that is not the controlling one disappears without a signal, and its EOF would be read in
        # a loop. Whether the app needs a terminal is known only now.
        if not self.is_headless and sys.__stdin__ is not None and not os.isatty(sys.__stdin__.fileno()):
            self._end()

    def _end(self) -> None:
        self.exit()


def dashboard_of(node: MessagePump) -> Dashboard:
    """Return the app of a screen or a widget, with its type."""
    return cast("Dashboard", node.app)
