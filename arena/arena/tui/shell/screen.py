"""The base of all screens: the lines around them, their sizes, and how they receive new data."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, cast, runtime_checkable

from textual import events, on
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from typing_extensions import override

from arena.tui.look import app_of
from arena.tui.query_runner import QueryRunner
from arena.tui.shell.chrome import Banner, FooterLine, HeaderLine, TabRow, TooSmall
from arena.tui.text import safe
from arena.tui.widgets.blank_containers import BlankContainer
from arena.tui.widgets.canvas import Canvas
from arena.tui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.geometry import Size
    from textual.widgets import Input

    from arena.tui.shell.chrome import HeaderPart
    from arena.watching.feed import Change, Model


_HUGE, _HIGH = 180, 50
"""Minimum columns and lines of a terminal in which boards, charts and events are enlarged."""
NAME_HINT = "part of a name"
"""Hint for filters that match only names."""


@runtime_checkable
class ScreenPainter(Protocol):
    """An app that shows its model on the current screen."""

    def paint(self, *, everything: bool = False) -> None:
        """Show the newest model."""
        ...


class FilterLine(LineInput):
    """The input line that `/` opens; enter applies the filter, escape discards the change."""

    DEFAULT_CSS = """
    FilterLine { display: none; width: 100%; }
    FilterLine.-open { display: block; }
    """


class ArenaScreen(Screen[None]):
    """Base class: a subclass has a name, composes its body, and shows the model in `show_model`.

    A screen has CSS classes for its size. By width one of `-single` (below 60 columns), `-pair`, `-usual`
    (from 80) and `-wide` (from 120); by height one of `-flat` (below 16 lines), `-low`, `-reference` (from
    24) and `-tall` (from 40); in addition `-huge` from 180 columns and `-high` from 50 lines.
    """

    NAME: ClassVar[str] = ""
    """The name by which the app opens the screen."""
    KEY: ClassVar[str] = ""
    """Digit of the screen in the row of tabs; empty for none."""
    LABEL: ClassVar[str] = ""
    """Name of the screen in the row of tabs."""
    SHORT_LABEL: ClassVar[str] = ""
    """Short name of the screen in the row of tabs; empty for `LABEL`."""
    FILTER_HINT: ClassVar[str] = ""
    """Placeholder of the filter line; if empty, the screen has no filter."""
    HINTED: ClassVar[Sequence[str]] = ()
    """Actions whose keys are shown only at times, as decided by `hints_at`."""
    HELP = ""
    DEFAULT_CSS = """
    ArenaScreen { background: $arena-surface; color: $arena-text; }
    ArenaScreen > #body { height: 1fr; width: 100%; background: $arena-surface; }
    ArenaScreen.-narrow > *, ArenaScreen.-shallow > * { display: none; }
    ArenaScreen.-narrow > TooSmall, ArenaScreen.-shallow > TooSmall { display: block; }
    ArenaScreen.-flat > TabRow { display: none; }
    """

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As in Textual, but without a repaint of the whole screen: widgets repaint when their focus changes."""

    def __init__(self) -> None:
        super().__init__(name=self.NAME or None)
        self.filter_text = ""
        """The active filter."""
        self._header, self._tabs, self._banner = HeaderLine(), TabRow(), Banner()
        self._footer = FooterLine()
        self._hints: tuple[bool, ...] = ()
        self._doing: dict[object, str] = {}
        self._lost: dict[object, str] = {}
        self._trouble = ""
        self._runners: list[QueryRunner] = []
        self.is_ready = False
        """Whether the widgets of the screen exist, so that it can show data."""

    def query_runner(self, name: str) -> QueryRunner:
        """Return an object for queries of this screen, cancelled with it; `name` is that of its workers."""
        self._runners.append(QueryRunner(self, name))
        return self._runners[-1]

    def on_unmount(self) -> None:
        """Cancel running queries."""
        for runner in self._runners:
            runner.cancel()

    @property
    def doing(self) -> str:
        """The data being read, if that takes long; else empty."""
        return next(iter(self._doing.values()), "")

    def show_doing(self, sender: object, text: str) -> None:
        """Show in the header what `sender` is doing; an empty text clears it."""
        before = self.doing
        self._doing.pop(sender, None)
        if text:
            self._doing[sender] = text
        if self.doing != before and self.is_ready:
            self._header.repaint()

    def compose_body(self) -> ComposeResult:
        """Yield the widgets between tabs and footer."""
        yield from ()

    def show_model(self, model: Model, change: Change | None) -> None:
        """Show new data; `change` is the difference, None means that everything may have changed."""

    def tick(self, now: float) -> None:
        """Update clocks; called about eight times a second during a match, `now` in UTC seconds."""

    def header_parts(self, width: int) -> Sequence[HeaderPart] | None:
        """Return the header; None for the default one of the tournament."""

    def tab_labels(self, model: Model) -> tuple[str, str]:
        """Return the screen's name in the row of tabs and its short name, which may depend on the model."""
        del model
        return self.LABEL, self.SHORT_LABEL or self.LABEL

    def tab_note(self) -> str:
        """Return the note after the tabs; empty for none."""
        return ""

    def filter_changed(self, text: str) -> None:
        """Apply a filter, which is also in `filter_text`."""

    def reload(self) -> None:
        """Repeat the screen's own queries."""

    def go_back(self) -> bool:
        """Close the part that the screen itself has opened; return whether there was one."""
        return False

    def farewell(self) -> tuple[str, str] | None:
        """Return a question to ask before the screen closes, and its consequence; None to close at once."""

    def text_to_copy(self) -> str:
        """Return the text that `y` copies; empty for nothing."""
        return ""

    def export_filter(self) -> str:
        """Return the filter for an export from here; empty for none."""
        return ""

    def opponent(self) -> str:
        """Return the spec of the bot at the cursor, which `p` offers as opponent; empty for none."""
        return ""

    def hints_at(self, action: str) -> bool:
        """Return whether the footer shows the key of an action; a hidden key can still be pressed."""
        del action
        return True

    def fit_widgets(self) -> None:
        """Adapt content to the sizes of widgets; called once these are known, before anything is painted."""

    @on(events.Resize)
    def _see_size(self, event: events.Resize) -> None:
        """Lay the screen out by the classes of its new size.

        Textual would lay it out and paint it with the old classes, set the new ones and paint it again.
        """
        size, app = event.size, app_of(self)
        classes = {"-huge": size.width >= _HUGE, "-high": size.height >= _HIGH}
        for length, breakpoints in (
            (size.width, app.HORIZONTAL_BREAKPOINTS),
            (size.height, app.VERTICAL_BREAKPOINTS),
        ):
            ascending = sorted(breakpoints or ())
            reached = [name for least, name in ascending if length >= least]
            classes |= {name: name == reached[-1] for _, name in ascending}
        self.update_classes(classes, animate=False)
        # The screen never scrolls as a whole; if the layout set this size, it would repaint everything.
        self.set_reactive(cast("Reactive[Size]", Widget.virtual_size), size)
        if self.is_ready:
            with app.batch_update():
                self._screen_resized(size)
                self.fit_widgets()

    def watch_focused(self, focused: Widget | None) -> None:
        """Move the focus to a visible widget: Textual may leave the focus in one that a resize has hidden."""
        if focused is not None and (chain := self.focus_chain) and focused not in chain:
            self.set_focus(chain[0])

    @override
    def compose(self) -> ComposeResult:
        yield self._header
        yield self._tabs
        yield self._banner
        with BlankContainer(id="body"):
            yield from self.compose_body()
        yield TooSmall()
        if self.FILTER_HINT:
            yield FilterLine(placeholder=self.FILTER_HINT, select_on_focus=False)
        yield self._footer

    @property
    def filter_note(self) -> str:
        """The filter as part of a title; empty if there is none."""
        return f"  filter {self.filter_text}" if self.filter_text else ""

    @property
    def can_filter(self) -> bool:
        """Whether `/` opens a filter here."""
        return bool(self.FILTER_HINT)

    def open_filter(self) -> None:
        """Open the filter line."""
        for line in self.query(FilterLine):
            line.add_class("-open")
            line.value = self.filter_text
            line.focus()

    def close_filter(self) -> bool:
        """Close the filter line, or clear the filter if the line is closed; return whether there was one."""
        for line in self.query(FilterLine):
            if line.has_class("-open"):
                line.remove_class("-open")
                self.focus_next()
                return True
        if self.filter_text:
            self._apply("")
            return True
        return False

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Apply the filter."""
        if isinstance(event.input, FilterLine):
            event.stop()
            self._apply(event.value)
            self.close_filter()

    def on_screen_suspend(self) -> None:
        """Drop the painted lines of a hidden screen, which take some megabytes for all screens."""
        for widget in self.walk_children(Widget):
            # This drops Textual's cached lines.
            widget.refresh()
            if isinstance(widget, Canvas):
                widget.forget_paint()

    def on_screen_resume(self) -> None:
        """Show the data that arrived while another screen was shown."""
        self.call_after_refresh(self._catch_up)

    def _catch_up(self) -> None:
        self.is_ready = True
        app = app_of(self)
        if isinstance(app, ScreenPainter):
            app.paint(everything=True)

    def repaint_lines(self) -> None:
        """Repaint header and tabs, and the footer if other keys are useful now."""
        self._header.repaint()
        self._tabs.repaint()
        hints = tuple(map(self.hints_at, self.HINTED))
        if hints != self._hints:
            # The footer looks at all bindings of all widgets, which is too slow for every paint.
            self._hints = hints
            self._footer.repaint()

    def show_trouble(self, text: str) -> None:
        """Show the problem of the feed below the tabs; an empty text clears it."""
        self._trouble = text
        self._banner.show(text or next(iter(self._lost.values()), ""))

    def show_lost(self, sender: object, text: str) -> None:
        """Show the problem of the queries of `sender` below the tabs, unless the feed has one."""
        self._lost.pop(sender, None)
        if text:
            self._lost[sender] = safe(text)
        self.show_trouble(self._trouble)

    def _apply(self, text: str) -> None:
        self.filter_text = text.strip()
        self.filter_changed(self.filter_text)
