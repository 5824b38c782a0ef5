"""The base of all screens: what surrounds them, their sizes, and how they hear of new data."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, cast, runtime_checkable

from textual import events, on
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from typing_extensions import override

from arena.tui.asks import Asks
from arena.tui.look import app_of
from arena.tui.shell.lines import Banner, FooterLine, HeaderLine, TabRow, TooSmall
from arena.tui.text import safe
from arena.tui.widgets.boxes import Box
from arena.tui.widgets.canvas import Canvas
from arena.tui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.geometry import Size
    from textual.widgets import Input

    from arena.tui.shell.lines import Part
    from arena.watching.feed import Change, Model


_HUGE, _HIGH = 180, 50
"""Columns and lines from which boards, charts and events grow."""
NAME_HINT = "part of a name"
"""What a filter may say where it is about names alone."""


@runtime_checkable
class Painter(Protocol):
    """An app that shows its model on the current screen."""

    def paint(self, *, everything: bool = False) -> None:
        """Show what is known."""
        ...


class FilterLine(LineInput):
    """The line that `/` opens; enter applies it, escape leaves all as it was."""

    DEFAULT_CSS = """
    FilterLine { display: none; width: 100%; }
    FilterLine.-open { display: block; }
    """


class ArenaScreen(Screen[None]):
    """Subclass it: name it, compose its body, and show the model when told.

    By size one class of `-single` (below 60 columns), `-pair`, `-usual` (from 80), `-wide` (from 120) and one
    of `-flat` (below 16 lines), `-low`, `-reference` (from 24), `-tall` (from 40) are set, for CSS and
    `has_class`; beside them `-huge` from 180 columns and `-high` from 50 lines.
    """

    NAME: ClassVar[str] = ""
    """By which the app opens it."""
    KEY: ClassVar[str] = ""
    """Its digit in the row of tabs; empty for none."""
    LABEL: ClassVar[str] = ""
    """Its name in the row of tabs."""
    SHORT_LABEL: ClassVar[str] = ""
    """The same where there is little room; empty for `LABEL`."""
    FILTER_HINT: ClassVar[str] = ""
    """What a filter may say, shown in the empty line; without it `/` does nothing here."""
    HINTED: ClassVar[Sequence[str]] = ()
    """Actions that mean something only at times, as `hints_at` says."""
    HELP = ""
    DEFAULT_CSS = """
    ArenaScreen { background: $arena-surface; color: $arena-text; }
    ArenaScreen > #body { height: 1fr; width: 100%; background: $arena-surface; }
    ArenaScreen.-narrow > *, ArenaScreen.-shallow > * { display: none; }
    ArenaScreen.-narrow > TooSmall, ArenaScreen.-shallow > TooSmall { display: block; }
    ArenaScreen.-flat > TabRow { display: none; }
    """

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As in Textual, but for the paint of the whole screen: what gains or loses the focus paints itself."""

    def __init__(self) -> None:
        super().__init__(name=self.NAME or None)
        self.filter_text = ""
        """The filter that holds."""
        self._header, self._tabs, self._banner = HeaderLine(), TabRow(), Banner()
        self._footer = FooterLine()
        self._hints: tuple[bool, ...] = ()
        self._doing: dict[object, str] = {}
        self._lost: dict[object, str] = {}
        self._trouble = ""
        self._asks: list[Asks] = []
        self.is_ready = False
        """Whether its widgets are there, so that it can show data."""

    def asks(self, name: str) -> Asks:
        """Return what asks the store for this screen, and ends with it; `name` is that of its workers."""
        self._asks.append(Asks(self, name))
        return self._asks[-1]

    def on_unmount(self) -> None:
        """Cancel what is being asked."""
        for asks in self._asks:
            asks.cancel()

    @property
    def doing(self) -> str:
        """What is being read, where that takes long; else empty."""
        return next(iter(self._doing.values()), "")

    def show_doing(self, sender: object, text: str) -> None:
        """Say in the header what `sender` is doing; an empty text takes that away."""
        before = self.doing
        self._doing.pop(sender, None)
        if text:
            self._doing[sender] = text
        if self.doing != before and self.is_ready:
            self._header.repaint()

    def compose_body(self) -> ComposeResult:
        """Give the widgets between tabs and footer."""
        yield from ()

    def show_model(self, model: Model, change: Change | None) -> None:
        """Show new data; `change` is what differs from before, None where anything may."""

    def tick(self, now: float) -> None:
        """Let clocks run; called some eight times a second while a match is on, `now` in UTC seconds."""

    def header_parts(self, width: int) -> Sequence[Part] | None:
        """Give the header; None for the usual one of the tournament."""

    def tab_labels(self, model: Model) -> tuple[str, str]:
        """Return its name in the row of tabs, and the short one, by what it shows of a model."""
        del model
        return self.LABEL, self.SHORT_LABEL or self.LABEL

    def tab_note(self) -> str:
        """Give what stands behind the tabs; empty for nothing."""
        return ""

    def filter_changed(self, text: str) -> None:
        """Show what a filter leaves; `filter_text` holds it, too."""

    def reload(self) -> None:
        """Ask anew for what the screen shows, where it asks itself."""

    def go_back(self) -> bool:
        """Leave what the screen itself has opened; say whether there was anything."""
        return False

    def farewell(self) -> tuple[str, str] | None:
        """Give what is asked before the screen closes, and what follows from yes; None where nothing is."""

    def text_to_copy(self) -> str:
        """Give what `y` copies; empty for nothing."""
        return ""

    def export_filter(self) -> str:
        """Give the filter of what would be exported from here; empty for no own one."""
        return ""

    def opponent(self) -> str:
        """Give the spec of the bot at hand, whom `p` offers to play; empty for none."""
        return ""

    def hints_at(self, action: str) -> bool:
        """Return whether the footer names the key of an action; where not, the key says why not."""
        del action
        return True

    def fit_widgets(self) -> None:
        """Fit into widgets what depends on their sizes; these are known, and nothing is painted yet."""

    @on(events.Resize)
    def _see_size(self, event: events.Resize) -> None:
        """Lay the screen out by the classes of its new size.

        Textual lays it out and paints it by those of the size before, sets the others and paints it again.
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
        # Nothing on it scrolls as a whole. Set by the layout, it would have all of it painted once more.
        self.set_reactive(cast("Reactive[Size]", Widget.virtual_size), size)
        if self.is_ready:
            with app.batch_update():
                self._screen_resized(size)
                self.fit_widgets()

    def watch_focused(self, focused: Widget | None) -> None:
        """Move the focus to what is shown: Textual may leave it in a part that a resize has hidden."""
        if focused is not None and (chain := self.focus_chain) and focused not in chain:
            self.set_focus(chain[0])

    @override
    def compose(self) -> ComposeResult:
        yield self._header
        yield self._tabs
        yield self._banner
        with Box(id="body"):
            yield from self.compose_body()
        yield TooSmall()
        if self.FILTER_HINT:
            yield FilterLine(placeholder=self.FILTER_HINT, select_on_focus=False)
        yield self._footer

    @property
    def filter_note(self) -> str:
        """Give what a title says of the filter; empty where there is none."""
        return f"  filter {self.filter_text}" if self.filter_text else ""

    @property
    def can_filter(self) -> bool:
        """Whether `/` does anything here."""
        return bool(self.FILTER_HINT)

    def open_filter(self) -> None:
        """Open the line for the filter."""
        for line in self.query(FilterLine):
            line.add_class("-open")
            line.value = self.filter_text
            line.focus()

    def close_filter(self) -> bool:
        """Close the line, or where it is closed take the filter away; say whether anything was to do."""
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
        """Keep no paint of what is hidden: some megabytes, with all screens open."""
        for widget in self.walk_children(Widget):
            # Lets go of its lines.
            widget.refresh()
            if isinstance(widget, Canvas):
                widget.forget_paint()

    def on_screen_resume(self) -> None:
        """Show what has come while something else was shown."""
        self.call_after_refresh(self._catch_up)

    def _catch_up(self) -> None:
        self.is_ready = True
        app = app_of(self)
        if isinstance(app, Painter):
            app.paint(everything=True)

    def repaint_lines(self) -> None:
        """Draw header and tabs anew, and the footer where its keys mean something else."""
        self._header.repaint()
        self._tabs.repaint()
        hints = tuple(map(self.hints_at, self.HINTED))
        if hints != self._hints:
            # All bindings of all widgets are looked at for a footer: not with every paint.
            self._hints = hints
            self._footer.repaint()

    def show_trouble(self, text: str) -> None:
        """Say below the tabs what is wrong with the feed; an empty text is nothing."""
        self._trouble = text
        self._banner.show(text or next(iter(self._lost.values()), ""))

    def show_lost(self, sender: object, text: str) -> None:
        """Say the same of what `sender` asks the store."""
        self._lost.pop(sender, None)
        if text:
            self._lost[sender] = safe(text)
        self.show_trouble(self._trouble)

    def _apply(self, text: str) -> None:
        self.filter_text = text.strip()
        self.filter_changed(self.filter_text)
