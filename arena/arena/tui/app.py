"""The shell of the dashboard: screens by name, keys that work everywhere, data from a feed, frames."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import SystemCommand
from textual.command import CommandPalette
from typing_extensions import override

from arena.tui.look import LookApp
from arena.tui.shell.commands import key_commands
from arena.tui.shell.confirm import ConfirmScreen
from arena.tui.shell.follow import NewData, follow
from arena.tui.shell.header import usual_parts
from arena.tui.shell.help import HelpScreen, help_text
from arena.tui.shell.keys import APP_BINDINGS, TAB_KEYS, keymap_clashes
from arena.tui.shell.lines import Part
from arena.tui.shell.screen import ArenaScreen
from arena.tui.text import clip
from arena.watching.feed import Model, change_between
from arena.watching.query import Queries

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from textual.binding import Binding, BindingType
    from textual.dom import DOMNode
    from textual.screen import Screen
    from textual.timer import Timer

    from arena.tui.glyphs import GlyphName
    from arena.watching.feed import Feed

FRAME_S = 1 / 8
"""Seconds between two frames while a match is on."""
_CLOCK_S = 1.0
"""Seconds between two looks at health while nothing happens."""
_LINES_S = 0.5
"""Seconds between two paintings of the header for the lag alone."""
LOWEST = 2
"""Screens that are always open: the empty one below all, and the one of a digit."""
_MAX_TOLD = 60
"""Characters of a copied text that are shown."""


class ArenaApp(LookApp):
    """The dashboard: give it a feed and the classes of its screens."""

    TITLE = "arena"
    BINDINGS: ClassVar[list[BindingType]] = APP_BINDINGS

    def __init__(  # noqa: PLR0913 # options of a program
        self,
        feed: Feed | None,
        screens: Sequence[type[ArenaScreen]],
        *,
        start: str = "",
        store: str | None = None,
        keymap: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
        glyphs: GlyphName | None = None,
        theme: str = "",
        reduce_motion: bool = False,
    ) -> None:
        """Make the app.

        Args:
            feed: where data comes from; None for none.
            screens: classes with a `NAME` each; those with a `KEY` stand in the row of tabs.
            start: name of the first screen; empty for the first of `screens`.
            store: path of the store that screens ask; None for the usual place.
            keymap: keys by id of a binding, of the user's own.
            clock: gives UTC seconds.
            glyphs: the set of glyphs; None chooses by the terminal.
            theme: name of the theme; empty for the usual one.
            reduce_motion: nothing slides, fades or blinks.
        """
        super().__init__(glyphs=glyphs, theme=theme, reduce_motion=reduce_motion)
        self.queries = Queries(store)
        """All questions of the screens to the store."""
        self.clock = clock
        """Gives UTC seconds."""
        self.model = Model()
        """What is shown."""
        self.latest = Model()
        """What is known; differs from `model` while the view is frozen, or till the next frame."""
        self.is_frozen = False
        self.lag: float | None = None
        """Seconds from the newest event to its paint."""
        self._feed = feed
        self._screen_classes = {screen.NAME: screen for screen in screens}
        self._made: dict[str, ArenaScreen] = {}
        self._start = start or screens[0].NAME
        self._keymap_given = dict(keymap or {})
        self._frame_timer: Timer | None = None
        self._painted_at = self._lines_at = 0.0
        self._lines_shown: tuple[object, ...] = ()
        self._told: set[str] = set()

    # Screens

    @property
    def current(self) -> ArenaScreen | None:
        """The screen that is shown; None while help or the palette lies over it."""
        # There is no screen at all while the app ends.
        stack: list[object] = [*self.screen_stack]
        return stack[-1] if stack and isinstance(stack[-1], ArenaScreen) else None

    @property
    def uppermost(self) -> ArenaScreen | None:
        """The screen that is shown, also while a question, help or the palette lies over it."""
        stack: list[object] = [*self.screen_stack]
        return next((screen for screen in reversed(stack) if isinstance(screen, ArenaScreen)), None)

    async def on_mount(self) -> None:
        """Show the first screen and begin to follow."""
        self._made = {name: screen() for name, screen in self._screen_classes.items()}
        for name, screen in self._made.items():
            self.install_screen(screen, name)  # pyright: ignore[reportUnknownMemberType] # Textual leaves results of screens open
        await self.push_screen(self._start)
        if self._keymap_given:
            self.set_keymap(self._keymap_given)
            self._check_keymap()
        self._frame_timer = self.set_interval(FRAME_S, self._frame, name="frame", pause=True)
        self.set_interval(_CLOCK_S, self._look_at_health, name="health")
        if self._feed is not None:
            self.follow_feed(self._feed)

    def follow_feed(self, feed: Feed, model: Model | None = None) -> None:
        """Show what a feed gives, in place of the one before; till it gives something, show `model`."""
        if self._feed is not None and self._feed is not feed:
            self._feed.cancel()
        self._feed = feed
        start = model or self.latest
        self.run_worker(
            lambda: follow(feed, self, start), name="feed", group="feed", exclusive=True, thread=True
        )
        if model is not None:
            self.latest, self.lag, self.is_frozen = model, None, False
            self.paint(everything=True)

    def has_screen(self, name: str) -> bool:
        """Say whether there is a screen of a name."""
        return name in self._screen_classes

    async def leave(self, screens: Sequence[object], act: Callable[[], Awaitable[object]]) -> None:
        """Close screens by `act`: at once, or once it is meant where the uppermost of them asks first.

        Every way out of a screen leads through here, but for signals.
        """
        asked = [screen.farewell() for screen in screens if isinstance(screen, ArenaScreen)]
        question = next(filter(None, reversed(asked)), None)
        if question is None:
            await act()
        elif not isinstance(self.screen, ConfirmScreen):

            async def decide(answer: bool | None) -> None:  # noqa: FBT001 # as the question is answered
                if answer:
                    await act()

            self.push_screen(ConfirmScreen(*question), decide)

    async def open_screen(self, name: str, then: Callable[[Screen[Any]], object] | None = None) -> None:
        """Show a screen by its name, in place of the one that is shown; those on top of it close.

        Args:
            name: of the screen; where there is none, nothing happens.
            then: called with the screen, once it is shown.
        """
        if self.has_screen(name):
            await self.leave(self.screen_stack[LOWEST:], partial(self._open_screen, name, then))

    async def _open_screen(self, name: str, then: Callable[[Screen[Any]], object] | None) -> None:
        while len(self.screen_stack) > LOWEST:
            await self.pop_screen()
        if self.screen.name != name:
            await self.switch_screen(name)  # pyright: ignore[reportUnknownMemberType] # Textual leaves results of screens open
        if then is not None:
            then(self.screen)

    @override
    def exit(self, *args: Any, **kwargs: Any) -> None:
        # The threads of the app have to end before its process does.
        self._let_go()
        super().exit(*args, **kwargs)

    def on_unmount(self) -> None:
        """Leave nothing behind, however the app ends."""
        self._let_go()

    def _let_go(self) -> None:
        self.queries.close()
        if self._feed is not None:
            self._feed.cancel()

    @override
    async def action_quit(self) -> None:
        await self.leave(self.screen_stack, super().action_quit)

    async def action_tab(self, key: int) -> None:
        """Show the screen of a digit."""
        for name, screen in self._screen_classes.items():
            if str(key) == screen.KEY:
                await self.open_screen(name)

    async def action_open(self, name: str) -> None:
        """Show a screen by its name."""
        await self.open_screen(name)

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "tab":
            return any(str(parameters[0]) == screen.KEY for screen in self._screen_classes.values())
        if action == "open":
            return parameters[0] in self._screen_classes
        if action == "filter":
            return self.current is not None and self.current.can_filter
        return True

    # Data

    def on_new_data(self, message: NewData) -> None:
        """Take what the feed gave; it is painted with the next frame."""
        message.stop()
        if message.feed is not None and message.feed is not self._feed:
            return
        self.latest = message.model
        is_due = self.clock() - self._painted_at >= FRAME_S / 2
        if self._frame_timer is not None:
            # What is painted now needs no frame of its own soon after: every waking costs.
            (self._frame_timer.reset if is_due else self._frame_timer.resume)()
        if is_due:
            self._frame()

    def paint(self, *, everything: bool = False) -> None:
        """Show what is known, unless the view is frozen; with `everything` also what has not changed."""
        screen, before = self.current, self.model
        if screen is None or not (screen.is_ready and screen.is_mounted):
            return
        self.model = before if self.is_frozen else self.latest
        # The first model tells of the past; how late it is says nothing.
        if self.model is not before and self.model.newest_t is not None and before.newest_t is not None:
            self.lag = max(0.0, self.clock() - self.model.newest_t)
        if everything or self.model is not before:
            screen.show_model(self.model, None if everything else change_between(before, self.model))
            self._painted_at = self.clock()
        screen.show_trouble(self.model.trouble)
        self._repaint_lines(screen)

    def _repaint_lines(self, screen: ArenaScreen) -> None:
        """Draw header and tabs anew where they tell of something else, and now and then for the lag."""
        progress, now = self.model.view.progress, self.clock()
        told = (self.model.health, progress.state, progress.done, self.lag is None)
        # A tab is called after what its screen shows, which tables may say later than the rest.
        shown = (screen, self.is_frozen, told, tuple(self.tabs()))
        if shown != self._lines_shown or not 0 <= now - self._lines_at < _LINES_S:
            self._lines_shown, self._lines_at = shown, now
            screen.repaint_lines()

    def _frame(self) -> None:
        if self.model is not self.latest and not self.is_frozen:
            self.paint()
        if self.current is not None and self.current.is_ready and not self.is_frozen:
            self.current.tick(self.clock())
        is_running = any(match.is_played for match in self.model.view.matches.values())
        if self._frame_timer is not None and not is_running:
            self._frame_timer.pause()

    def _look_at_health(self) -> None:
        if self.uppermost is not None and self.uppermost.is_mounted:
            self.uppermost.repaint_lines()

    # Keys

    def action_freeze(self) -> None:
        """Stop showing what is new, or go on."""
        self.is_frozen = not self.is_frozen
        self.paint()

    def action_reload(self) -> None:
        """Show what is known now, and have the screen ask anew."""
        self.is_frozen = False
        if self.current is not None:
            self.current.reload()
        self.paint(everything=True)

    def action_help(self) -> None:
        """Tell of the widget in focus and of the keys."""
        self.push_screen(HelpScreen(help_text(self.screen)))

    def action_filter(self) -> None:
        """Open the filter of the screen."""
        if self.current is not None:
            self.current.open_filter()

    @override
    async def action_back(self) -> None:
        """Leave what was opened last: a large widget, the filter, a screen on top."""
        if self.screen.maximized is not None:
            self.screen.minimize()
        elif self.current is not None and (self.current.close_filter() or self.current.go_back()):
            pass
        elif len(self.screen_stack) > LOWEST:
            await self.leave(self.screen_stack[-1:], self._pop)

    async def _pop(self) -> None:
        await self.pop_screen()

    def action_maximise(self) -> None:
        """Show the widget in focus alone, or all again."""
        if self.screen.maximized is not None:
            self.screen.minimize()
        elif self.screen.focused is not None:
            self.screen.maximize(self.screen.focused)

    def action_copy(self) -> None:
        """Copy what the screen offers, and show it, because not every terminal lets programs copy."""
        text = self.current.text_to_copy() if self.current is not None else ""
        if text:
            self.copy_to_clipboard(text)
            self.notify(f"copied: {clip(text, _MAX_TOLD)}", markup=False)
        else:
            self.notify("there is nothing to copy here", markup=False)

    @override
    def action_command_palette(self) -> None:
        if not isinstance(self.screen, CommandPalette):
            hint = "a command, or part of the name of a tournament, match or bot"
            self.push_screen(CommandPalette(placeholder=hint, id="--command-palette"))

    @override
    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)  # pyright: ignore[reportUnknownMemberType] # Textual leaves results of screens open
        for name, cls in self._screen_classes.items():
            if cls.KEY:
                yield SystemCommand(
                    f"Go to {self._labels_of(cls)[0]}",
                    f"Show the screen {name}",
                    partial(self.open_screen, name),
                )
        yield from key_commands(self, screen)

    @override
    def handle_bindings_clash(self, clashed_bindings: set[Binding], node: DOMNode) -> None:
        self._tell_clash({binding.key for binding in clashed_bindings})

    def _check_keymap(self) -> None:
        """Tell of keys that the user's keymap gives away twice, on any screen."""
        for screen in self._screen_classes.values():
            bindings = [*APP_BINDINGS, *screen.BINDINGS]
            usual = keymap_clashes({}, bindings)
            self._tell_clash(keymap_clashes(self._keymap_given, bindings).keys() - usual.keys())

    def _tell_clash(self, keys: AbstractSet[str]) -> None:
        new = keys - self._told
        self._told |= new
        if new:
            text = f"your keymap binds {', '.join(sorted(new))} twice; one of the two will not work"
            self.notify(text, severity="warning", markup=False)

    # What the lines around a screen show

    def header_parts(self, width: int) -> Sequence[Part]:
        """Give the header of the current screen, or the usual one."""
        shown = self.uppermost
        own = None if shown is None else shown.header_parts(width)
        parts = list(usual_parts(self, width) if own is None else own)
        doing = "" if shown is None else shown.doing
        # After the name of what is shown.
        return [*parts[:2], Part(doing, "dim", 1), *parts[2:]] if doing else parts

    def tabs(self) -> Sequence[tuple[str, str, str, bool]]:
        """Give the screens that have a digit, by it."""
        stacked = {screen.name for screen in self.screen_stack}
        found = {screen.KEY: screen for screen in self._screen_classes.values()}
        return [
            (key, *self._labels_of(cls), cls.NAME in stacked)
            for key in TAB_KEYS
            if (cls := found.get(key)) is not None
        ]

    def _labels_of(self, cls: type[ArenaScreen]) -> tuple[str, str]:
        """Return the name of a screen in the row of tabs, and the short one."""
        screen = self._made.get(cls.NAME)
        return (cls.LABEL, cls.SHORT_LABEL or cls.LABEL) if screen is None else screen.tab_labels(self.model)

    def tab_note(self) -> str:
        """Give what the current screen has to say behind the tabs."""
        return "" if self.uppermost is None else self.uppermost.tab_note()

    def pick_tab(self, key: str) -> None:
        """Show the screen of a tab."""
        self.run_worker(self.action_tab(int(key)), name="tab", group="tab")
