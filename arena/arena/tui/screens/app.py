"""The dashboard's app: the shell, and which store and tournament its screens ask about."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypedDict, cast, runtime_checkable

from textual import events, on
from typing_extensions import override

from arena.live.labels import show_name
from arena.results.condition import word
from arena.tui.app import ArenaApp
from arena.tui.settings import SavedSettings
from arena.watching.feed import awaited
from arena.watching.first_feed import FIRST, First
from arena.watching.store_feed import StoreFeed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Unpack

    from textual.message_pump import MessagePump

    from arena.coordinator.client import Link
    from arena.tui.glyphs import GlyphName
    from arena.tui.settings import SettingsFile
    from arena.tui.shell.follow import NewData
    from arena.tui.shell.screen import ArenaScreen
    from arena.tui.widgets.matrix import Matrix
    from arena.watching.feed import Feed

_PLAY_FORM = "new-play"
"""The name of the screen with the form of a play."""
_ENDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals on which the terminal is put back as it was."""
_TERMINAL_S = 2.0
"""Seconds between two looks whether the terminal is still there."""


@runtime_checkable
class Filtered(Protocol):
    """A screen that a filter can be brought to from another one."""

    def show_filter(self, text: str) -> None:
        """Put it there."""
        ...


@runtime_checkable
class Opposed(Protocol):
    """A screen on which a play begins."""

    def show_opponent(self, bot: str, game: str) -> None:
        """Put the bot and the game that are at hand there; an empty text is none."""
        ...


class ShellOptions(TypedDict, total=False):
    """Options of the shell."""

    glyphs: GlyphName | None
    theme: str
    reduce_motion: bool
    clock: Callable[[], float]


class ScreenOptions(ShellOptions, total=False):
    """Options of the shell, and the file of what is remembered."""

    settings: SettingsFile | None


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
        ply: int | None = None,
        running: int = 0,
        start: str = "",
        play: Link | None = None,
        is_read_only: bool = False,
        settings: SettingsFile | None = None,
        **options: Unpack[ShellOptions],
    ) -> None:
        """Make it.

        Args:
            feed: as of the shell.
            screens: as of the shell.
            store: path of the store; None for the usual place.
            tournament: name of the tournament that is watched; empty for none.
            match: the store's number of the match that is replayed first; 0 for none.
            ply: how many plies of it are shown first; None for those that were given.
            running: number of the match of the tournament that is opened once it is played; 0 for none.
            start: name of the first screen; empty for the first of `screens`.
            play: the way to the play that a person begins with; None for none.
            is_read_only: whether nothing may be asked of a tournament, started or written.
            settings: the file of what is remembered; None remembers nothing.
            options: as of the shell.
        """
        self._kept = settings
        self.settings = SavedSettings() if settings is None else settings.read()
        """What was remembered from the last time, at the start of this one."""
        options["theme"] = options.get("theme") or self.settings.theme
        super().__init__(feed, screens, start=start, store=store, **options)
        self.store = store
        """Path of the store; None for the usual place."""
        self.tournament = tournament
        """Name of the tournament that is watched."""
        if feed is not None and tournament:
            self.model = self.latest = awaited()
        self.match = match
        """The store's number of the match that is replayed at the start; 0 for none, and afterwards."""
        self.ply = ply
        """How many plies of it are shown first."""
        self.running = running
        """Number of the match of the tournament that is opened once it is played; 0 for none."""
        self.play = play
        """The way to the play that a person begins with."""
        self.is_read_only = is_read_only
        """Whether nothing may be asked of a tournament, started or written from here."""

    @on(events.Mount)
    def _follow_theme(self) -> None:
        """Remember the theme when somebody chooses another one."""
        self.theme_changed_signal.subscribe(self, lambda theme: self.keep(theme=theme.name))

    def keep(self, **changes: Any) -> None:  # noqa: ANN401 # of any setting
        """Remember settings for the next start; a dashboard that only looks leaves no trace."""
        if self._kept is not None and not self.is_read_only:
            self._kept.keep(**changes)

    def on_matrix_changed(self, message: Matrix.Changed) -> None:
        """Remember what cells show, on whichever screen."""
        self.keep(cells=message.mode)

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

        def show(screen: object) -> None:
            if isinstance(screen, Filtered):
                screen.show_filter(text)

        await self.open_screen(name, show)

    async def action_play(self) -> None:
        """Open the form of a play, with the bot and the game that are at hand."""
        current = self.current
        if self.has_screen(_PLAY_FORM) and current is not None and self.may_act():
            bot, game = current.opponent(), self.model.view.progress.game
            await self.push_screen(_PLAY_FORM)
            if isinstance(self.current, Opposed):
                self.current.show_opponent(bot, game)

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "play":
            # Neither within the form nor within a play.
            return self.has_screen(_PLAY_FORM) and not any(
                screen.name in (_PLAY_FORM, "play") for screen in self.screen_stack
            )
        return super().check_action(action, parameters)

    def on_new_data(self, message: NewData) -> None:
        """Watch the first tournament, where there was none before; nobody is taken away from what they do."""
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
        # Tables of the one before must not stand there till the new ones come.
        self.follow_feed(feed, awaited())

    def on_load(self) -> None:
        """End in order when the process is told to end."""
        loop = asyncio.get_running_loop()
        # Only the main thread may take signals, and tests run many apps in one process.
        with suppress(RuntimeError, ValueError):
            if not self.is_headless:
                for number in _ENDS:
                    loop.add_signal_handler(number, self._end)
        self.set_interval(_TERMINAL_S, self._look_for_terminal, name="terminal")

    def _look_for_terminal(self) -> None:
        # One that is not the controlling terminal goes without a signal; its end would be read over and over.
        # Only now is it known whether there should be one at all.
        if not self.is_headless and sys.__stdin__ is not None and not os.isatty(sys.__stdin__.fileno()):
            self._end()

    def _end(self) -> None:
        self.exit()


def dashboard_of(node: MessagePump) -> Dashboard:
    """Give the app of a screen or a widget, with its type."""
    return cast("Dashboard", node.app)
