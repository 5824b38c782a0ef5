"""The lines around every screen: header, tabs, footer, and the message on a terminal that is too small."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from rich.cells import cell_len
from typing_extensions import override

from arena.live.plain import duration_text
from arena.naming import count_text
from arena.tui.look import app_of
from arena.tui.text import clip, shorten
from arena.tui.widgets.canvas import Canvas
from arena.watching.run_words import run_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.screen import Screen

    from arena.live.views import ProgressView
    from arena.tui.glyphs import Glyphs
    from arena.tui.text import Line
    from arena.watching.feed import Model

MIN_WIDTH, MIN_HEIGHT = 40, 12
"""The smallest terminal, in columns and lines, on which a screen is shown."""
_WIDE = 120
"""Minimum columns of a wide terminal."""
_MAX_KEYS = {False: 7, True: 12}
"""Maximum number of keys in the footer of a normal and of a wide terminal."""
_LAST_KEYS = ("app.palette", "app.help", "app.quit")
"""Bindings at the end of the footer, in this order; the quit key is left out if there is no room."""


class HeaderPart(NamedTuple):
    """A piece of the header."""

    text: str
    style: str = ""
    rank: int = 0
    """The part with the highest rank is left out first if there is no room; a part of rank 0 always stays."""


@runtime_checkable
class HasHeader(Protocol):
    """A screen or app that supplies the content of header and tabs."""

    def header_parts(self, width: int) -> Sequence[HeaderPart]:
        """Return the pieces of the header, from left to right."""
        ...

    def tabs(self) -> Sequence[tuple[str, str, str, bool]]:
        """Return the tabs: key, name, short name, and whether it is the current one."""
        ...

    def tab_note(self) -> str:
        """Return the note after the tabs, such as `1-7 column` while digits mean columns."""
        ...

    def pick_tab(self, key: str) -> None:
        """Show the screen of a tab."""
        ...


class HeaderLine(Canvas):
    """The header line: name, state, tournament, health."""

    DEFAULT_CSS = """
    HeaderLine { height: 1; }
    """

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        app = app_of(self)
        parts = list(app.header_parts(width)) if isinstance(app, HasHeader) else []
        # One blank before the first part, two between parts.
        while sum(cell_len(part.text) + 2 for part in parts) - 1 > width:
            last = max(parts, key=lambda part: part.rank)
            if last.rank == 0:
                break
            parts.remove(last)
        spans = [span for part in parts for span in ((part.text, part.style), ("  ", ""))]
        return [((" ", ""), *spans)]


class TabRow(Canvas):
    """The screens with their keys, the current one in brackets; a click opens a screen."""

    DEFAULT_CSS = """
    TabRow { height: 1; }
    """

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        app = app_of(self)
        note = app.tab_note() if isinstance(app, HasHeader) else ""
        spans = [(text, style) for text, style, _ in self._tabs(width)]
        return [((" ", ""), *spans, (f" {note}", "alert"))]

    def _tabs(self, width: int) -> list[tuple[str, str, str]]:
        """Return text, style and key of each tab; short names, then only keys if there is no room."""
        app = app_of(self)
        tabs = app.tabs() if isinstance(app, HasHeader) else ()
        # Leave room for the note after the tabs.
        width -= cell_len(app.tab_note()) + 2 if isinstance(app, HasHeader) and app.tab_note() else 0
        for names, gap in (
            ([f"{key} {name}" for key, name, _, _ in tabs], "  "),
            ([f"{key} {short}" for key, _, short, _ in tabs], " "),
            ([f"{key} {short}" if current else key for key, _, short, current in tabs], " "),
        ):
            texts = [f"[{text}]" if tab[3] else text for text, tab in zip(names, tabs, strict=True)]
            if sum(len(text) + len(gap) for text in texts) <= width:
                break
        else:
            texts, gap = [], ""
        return [
            (text + gap, "title" if tab[3] else "dim", tab[0]) for text, tab in zip(texts, tabs, strict=False)
        ]

    def on_click(self, event: events.Click) -> None:
        """Open the screen of the tab that was clicked."""
        app = app_of(self)
        edge = 1
        for text, _, key in self._tabs(self.size.width):
            edge += len(text)
            if event.x < edge and isinstance(app, HasHeader):
                event.stop()
                app.pick_tab(key)
                return


@runtime_checkable
class HasHints(Protocol):
    """A screen that knows which of its keys are useful now."""

    def hints_at(self, action: str) -> bool:
        """Return whether the footer shows the key of an action."""
        ...


class FooterLine(Canvas):
    """The keys of the widget, then of the screen, then global ones; a click presses a key."""

    DEFAULT_CSS = """
    FooterLine { height: 1; }
    """

    def on_mount(self) -> None:
        """Subscribe to changes of the bindings."""
        self.screen.bindings_updated_signal.subscribe(self, self._on_bindings)  # pyright: ignore[reportUnknownMemberType] # Textual leaves results of screens open

    def _on_bindings(self, screen: Screen[object]) -> None:
        if self.is_attached and screen is self.screen:
            self.repaint()

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        spans = [
            span for key, text, _ in self._keys(width) for span in ((f" {key} ", "focus"), (text + " ", ""))
        ]
        return [tuple(spans)]

    def _keys(self, width: int) -> list[tuple[str, str, str]]:
        """Return display, description and key of the keys that are shown."""
        by_id = {
            active.binding.id or active.binding.action: active
            for active in reversed(self.screen.active_bindings.values())
            if active.binding.show and active.enabled and self._is_meant(active.binding.action)
        }
        last = [name for name in _LAST_KEYS if name in by_id]
        names = [name for name in reversed(by_id) if name not in last]
        most = _MAX_KEYS[width >= _WIDE]
        if len(names) + len(last) > most:
            last = last[:-1] if last and last[-1] == "app.quit" else last
        names = [*names[: most - len(last)], *last]
        keys = [
            (
                app_of(self).get_key_display(by_id[name].binding),
                by_id[name].binding.description,
                by_id[name].binding.key,
            )
            for name in names
        ]
        while keys and sum(cell_len(key) + cell_len(text) + 3 for key, text, _ in keys) > width:
            del keys[max(0, len(keys) - len(last) - 1)]
        return keys

    def _is_meant(self, action: str) -> bool:
        screen = self.screen
        return not isinstance(screen, HasHints) or screen.hints_at(action)

    def on_click(self, event: events.Click) -> None:
        """Press the key that was clicked."""
        edge = 0
        for display, text, key in self._keys(self.size.width):
            edge += cell_len(display) + cell_len(text) + 3
            if event.x < edge:
                event.stop()
                app_of(self).simulate_key(key)
                return


class Banner(Canvas):
    """One line with the current problem; hidden if there is none."""

    DEFAULT_CSS = """
    Banner { height: 1; display: none; }
    Banner.-shown { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._text = ""

    def show(self, text: str) -> None:
        """Show a text; an empty one hides the banner."""
        if text != self._text:
            self._text = text
            self.set_class(bool(text), "-shown")
            self.repaint()

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        return [((f" ! {clip(self._text, width - 4)}", "alert"),)]


class TooSmall(Canvas):
    """The message on a terminal that is too small for any screen."""

    DEFAULT_CSS = """
    TooSmall { display: none; width: 100%; height: 1fr; }
    """

    @override
    def draw(self, width: int, height: int) -> list[Line]:
        size = app_of(self).size
        texts = (f"This terminal is {size.width}x{size.height};", f"{MIN_WIDTH}x{MIN_HEIGHT} is the least.")
        return [((clip(text, width), "alert"),) for text in texts]


_GOAL = 60
"""Maximum width of the progress towards a goal, in cells."""


class Shown(Protocol):
    """The part of an app that the header reads."""

    model: Model
    is_frozen: bool
    lag: float | None
    glyphs: Glyphs
    clock: Callable[[], float]


def usual_parts(shown: Shown, width: int) -> Sequence[HeaderPart]:
    """Return state, tournament, progress and health; health is the last part to be left out."""
    model, progress = shown.model, shown.model.view.progress
    words = run_words(model, shown.clock())
    name = f" {shown.glyphs.dot} {progress.name}" if progress.name else ""
    is_live = words.is_live
    parts = [
        HeaderPart("arena", "title"),
        HeaderPart(f"{words.state}{name}", "focus" if is_live else "alert"),
    ]
    if shown.is_frozen:
        parts.append(HeaderPart("FROZEN", "alert"))
    if words.warning:
        parts.append(HeaderPart(words.warning, "alert"))
    parts.append(HeaderPart(f"{progress.game} {progress.tc}".strip(), "", 4))
    parts.append(HeaderPart(shorten(progress.goal, _GOAL) if width >= _WIDE else "", "title", 2))
    if width >= _WIDE and progress.planned != 0:
        parts += _progress_parts(progress, shown.clock(), is_live=is_live)
    if progress.workers and progress.state != "ended":
        plural = "" if progress.workers == 1 else "s"
        parts.append(HeaderPart(f"{progress.workers} worker{plural}", "", 7))
    if model.health.store:
        parts.append(HeaderPart(f"store {model.health.store}", "", 3))
    if shown.lag is not None:
        parts.append(HeaderPart(f"lag {shown.lag:.2f}s", "", 1))
    if not model.is_awaited:
        parts.append(HeaderPart(f"seq {model.view.seq}", "", 8))
    return [part for part in parts if part.text]


def _progress_parts(progress: ProgressView, now: float, *, is_live: bool) -> list[HeaderPart]:
    """Return the progress, and while the tournament is live its rate and remaining time."""
    pace = progress.at(now)
    share = "" if progress.planned is None else f" {100 * pace.share:.0f}%"
    parts = [HeaderPart(f"{count_text(progress.done, progress.planned)} matches{share}", "", 5)]
    if is_live and progress.rate is not None:
        parts.append(HeaderPart(f"{progress.rate:.1f} matches/min", "", 6))
    if pace.is_stalled:
        parts.append(HeaderPart("stalled", "alert", 5))
    elif is_live and pace.eta_s is not None:
        parts.append(HeaderPart(f"ETA {duration_text(pace.eta_s).replace(' ', '')}", "", 5))
    return parts
