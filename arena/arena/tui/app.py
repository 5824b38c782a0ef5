"""The shell of the dashboard: named screens, global keys, data from a feed, frames."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import SystemCommand
from typing_extensions import override

from arena.tui.look import LookApp, LookOptions
from arena.tui.palette import Palette
from arena.tui.shell.chrome import HeaderPart, usual_parts
from arena.tui.shell.confirm import ConfirmScreen
from arena.tui.shell.follow import NewData, follow
from arena.tui.shell.keys import APP_BINDINGS, TAB_KEYS, HelpScreen, help_text, key_commands, keymap_clashes
from arena.tui.shell.screen import ArenaScreen
from arena.tui.text import clip
from arena.watching.feed import Model, change_between
from arena.watching.query import Queries

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Unpack

    from textual.binding import Binding, BindingType
    from textual.dom import DOMNode
    from textual.screen import Screen
    from textual.timer import Timer

    from arena.watching.feed import Feed

FRAME_S = 1 / 8
"""Seconds between two frames while a match is running."""
_CLOCK_S = 1.0
"""Seconds between two checks of the feed's health while nothing happens, since its texts count seconds."""
_LINES_S = 0.5
"""Seconds between two repaints of the header if only the lag has changed."""
LOWEST = 2
"""Number of screens that are always open: an empty one at the bottom, and that of the current tab."""
_MAX_TOLD = 60
"""Maximum number of characters shown of a copied text."""


class ShellOptions(LookOptions, total=False):
    """Options of the shell."""

    clock: Callable[[], float]


class ArenaApp(LookApp):
    """The dashboard: shows the model of a feed on screens of the given classes."""

    TITLE = "arena"
    BINDINGS: ClassVar[list[BindingType]] = APP_BINDINGS

    def __init__(
        self,
        feed: Feed | None,
        screens: Sequence[type[ArenaScreen]],
        *,
        start: str = "",
        store: str | None = None,
        keymap: Mapping[str, str] | None = None,
        **options: Unpack[ShellOptions],
    ) -> None:
        """Create the app.

        Args:
            feed: source of the data; None for none.
            screens: classes with a `NAME` each; those with a `KEY` have a tab.
            start: name of the first screen; empty for the first of `screens`.
            store: path of the store that screens query; None for the default place.
            keymap: the user's own keys, by id of a binding.
            options: the look and the clock.
        """
        super().__init__(
            glyphs=options.get("glyphs"),
            theme=options.get("theme", ""),
            reduce_motion=options.get("reduce_motion", False),
        )
        self.queries = Queries(store)
        """All queries of the screens to the store."""
        self.clock = options.get("clock", time.time)
        """Returns UTC seconds."""
        self.model = Model()
        """The model that is shown."""
        self.latest = Model()
        """The newest model; differs from `model` while the view is frozen, or until the next frame."""
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
        """The screen that is shown; None while help or the palette covers it."""
        # The stack is empty while the app ends.
        stack: list[object] = [*self.screen_stack]
        return stack[-1] if stack and isinstance(stack[-1], ArenaScreen) else None

    @property
    def uppermost(self) -> ArenaScreen | None:
        """The screen that is shown, even if a question, help or the palette covers it."""
        stack: list[object] = [*self.screen_stack]
        return next((screen for screen in reversed(stack) if isinstance(screen, ArenaScreen)), None)

    async def on_mount(self) -> None:
        """Show the first screen and follow the feed."""
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
        """Follow another feed instead of the previous one; until its first data, show `model`."""
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
        """Return whether there is a screen with this name."""
        return name in self._screen_classes

    async def leave(self, screens: Sequence[object], act: Callable[[], Awaitable[object]]) -> None:
        """Close screens by `act`: at once, or after the user confirms if one of them asks first.

        Every way out of a screen except signals uses this method.
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
        """Show a screen by its name instead of the current one; screens on top of that are closed.

        Args:
            name: name of the screen; if there is none, nothing happens.
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
        # The threads of the app must end before its process does.
        self._let_go()
        super().exit(*args, **kwargs)

    def on_unmount(self) -> None:
        """Release the threads, however the app ends."""
        self._let_go()

    def _let_go(self) -> None:
        self.queries.close()
        if self._feed is not None:
            self._feed.cancel()

    @override
    async def action_quit(self) -> None:
        await self.leave(self.screen_stack, super().action_quit)

    async def action_tab(self, key: int) -> None:
        """Show the screen with this digit."""
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
        """Store the feed's newest model; it is painted with the next frame."""
        message.stop()
        if message.feed is not None and message.feed is not self._feed:
            return
        self.latest = message.model
        is_due = self.clock() - self._painted_at >= FRAME_S / 2
        if self._frame_timer is not None:
            # A paint now makes the next frame unnecessary; every wake-up costs CPU.
            (self._frame_timer.reset if is_due else self._frame_timer.resume)()
        if is_due:
            self._frame()

    def paint(self, *, everything: bool = False) -> None:
        """Show the newest model unless the view is frozen; `everything` also repaints unchanged parts."""
        screen, before = self.current, self.model
        # While the app ends, a screen loses its parts before it is unmounted itself.
        if not self.is_running or screen is None or not (screen.is_ready and screen.is_mounted):
            return
        self.model = before if self.is_frozen else self.latest
        # The first model describes the past, so its lag means nothing; tables may change without an event.
        newest_t = self.model.newest_t
        if newest_t is not None and before.newest_t is not None and newest_t != before.newest_t:
            self.lag = max(0.0, self.clock() - newest_t)
        if everything or self.model is not before:
            screen.show_model(self.model, None if everything else change_between(before, self.model))
            self._painted_at = self.clock()
        screen.show_trouble(self.model.trouble)
        self._repaint_lines(screen)

    def _repaint_lines(self, screen: ArenaScreen) -> None:
        """Repaint header and tabs if their content has changed, and at intervals for the lag."""
        progress, now = self.model.view.progress, self.clock()
        told = (self.model.health, progress.state, progress.done, self.lag is None)
        # The name of a tab depends on what its screen shows, and tables may arrive later than the rest.
        shown = (screen, self.is_frozen, told, tuple(self.tabs()))
        if shown != self._lines_shown or not 0 <= now - self._lines_at < _LINES_S:
            self._lines_shown, self._lines_at = shown, now
            screen.repaint_lines()

    def _frame(self) -> None:
        if self.model is not self.latest and not self.is_frozen:
            self.paint()
        if self.is_running and self.current is not None and self.current.is_ready and not self.is_frozen:
            self.current.tick(self.clock())
        is_running = any(match.is_played for match in self.model.view.matches.values())
        if self._frame_timer is not None and not is_running:
            self._frame_timer.pause()

    def _look_at_health(self) -> None:
        screen = self.uppermost
        if self.is_running and screen is not None and screen.is_ready and screen.is_mounted:
            screen.repaint_lines()

    # Keys

    def action_freeze(self) -> None:
        """Freeze the view, or continue."""
        self.is_frozen = not self.is_frozen
        self.paint()

    def action_reload(self) -> None:
        """Show the newest model, and let the screen query the store again."""
        self.is_frozen = False
        if self.current is not None:
            self.current.reload()
        self.paint(everything=True)

    def action_help(self) -> None:
        """Show help on the focused widget and the keys."""
        self.push_screen(HelpScreen(help_text(self.screen)))

    def action_filter(self) -> None:
        """Open the filter of the screen."""
        if self.current is not None:
            self.current.open_filter()

    @override
    async def action_back(self) -> None:
        """Close the item that was opened last: a maximised widget, the filter, or a screen on top."""
        if self.screen.maximized is not None:
            self.screen.minimize()
        elif self.current is not None and (self.current.close_filter() or self.current.go_back()):
            pass
        elif len(self.screen_stack) > LOWEST:
            await self.leave(self.screen_stack[-1:], self._pop)

    async def _pop(self) -> None:
        await self.pop_screen()

    def action_maximise(self) -> None:
        """Maximise the focused widget, or restore all."""
        if self.screen.maximized is not None:
            self.screen.minimize()
        elif self.screen.focused is not None:
            self.screen.maximize(self.screen.focused)

    def action_copy(self) -> None:
        """Copy the screen's text, and show it, because not every terminal allows programs to copy."""
        text = self.current.text_to_copy() if self.current is not None else ""
        if text:
            self.copy_to_clipboard(text)
            self.notify(f"copied: {clip(text, _MAX_TOLD)}", markup=False)
        else:
            self.notify("there is nothing to copy here", markup=False)

    @override
    def action_command_palette(self) -> None:
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette.of_commands())

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
        """Warn about keys that the user's keymap binds twice, on any screen."""
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

    # Content of the lines around a screen

    def header_parts(self, width: int) -> Sequence[HeaderPart]:
        """Return the header of the current screen, or the default one."""
        shown = self.uppermost
        own = None if shown is None else shown.header_parts(width)
        parts = list(usual_parts(self, width) if own is None else own)
        doing = "" if shown is None else shown.doing
        # Inserted after the name of the tournament or match.
        return [*parts[:2], HeaderPart(doing, "dim", 1), *parts[2:]] if doing else parts

    def tabs(self) -> Sequence[tuple[str, str, str, bool]]:
        """Return the screens that have a digit, in order of the digits."""
        stacked = {screen.name for screen in self.screen_stack}
        found = {screen.KEY: screen for screen in self._screen_classes.values()}
        return [
            (key, *self._labels_of(cls), cls.NAME in stacked)
            for key in TAB_KEYS
            if (cls := found.get(key)) is not None
        ]

    def _labels_of(self, cls: type[ArenaScreen]) -> tuple[str, str]:
        """Return the name of a screen in the row of tabs, and its short name."""
        screen = self._made.get(cls.NAME)
        return (cls.LABEL, cls.SHORT_LABEL or cls.LABEL) if screen is None else screen.tab_labels(self.model)

    def tab_note(self) -> str:
        """Return the current screen's note after the tabs."""
        return "" if self.uppermost is None else self.uppermost.tab_note()

    def pick_tab(self, key: str) -> None:
        """Show the screen of a tab."""
        self.run_worker(self.action_tab(int(key)), name="tab", group="tab")
