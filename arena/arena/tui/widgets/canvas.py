"""The base of all widgets: lines of styled text; only their changed parts are painted again."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import ANSIToTruecolor
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget
from typing_extensions import override

from arena.tui.glyphs import UNICODE
from arena.tui.look import LookApp, app_of
from arena.tui.text import fit, line_width, safe

if TYPE_CHECKING:
    from arena.tui.glyphs import Glyphs
    from arena.tui.text import Line

_LOOKS: Final = {
    "dim": ("dim", Style()),
    "first": ("first", Style(bold=True)),
    "second": ("second", Style(bold=True)),
    "last": ("last", Style(bold=True)),
    "eval": ("eval", Style()),
    "border": ("border", Style()),
    "focus": ("focus", Style(bold=True)),
    "alert": ("alert", Style(bold=True)),
    "title": ("text", Style(bold=True)),
    "cursor": ("text", Style(reverse=True)),
}
"""The theme's `$arena-…` colour and the attributes of each span style.

As component classes of each widget these would be ten more nodes to style, a fifth of the first paint.
"""
_NOWHERE = Size(-1, -1)


class Canvas(Widget):
    """A widget that draws lines: override `draw`, and call `repaint` when its content has changed."""

    DEFAULT_CSS = """
    Canvas { background: $arena-surface; color: $arena-text; }
    """
    ALLOW_SELECT = False
    HELP = ""
    """Help text of the widget for `?`."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        # Textual calls `notify_style_update` before its own constructor has finished.
        self._known_styles: dict[str, Style] = {}
        self._strips: dict[Line, Strip] = {}
        self._behind: Color | None = None
        self._theme = ""
        super().__init__(id=id, classes=classes)
        self._lines: list[Line] = []
        self._drawn = _NOWHERE

    def draw(self, width: int, height: int) -> list[Line]:
        """Return the lines, at most `height`; longer ones are cut, shorter ones padded."""
        del width, height
        return []

    @property
    def glyphs(self) -> Glyphs:
        """The set of glyphs of the app."""
        app = app_of(self)
        return app.glyphs if isinstance(app, LookApp) else UNICODE

    def repaint(self) -> None:
        """Draw the lines, and schedule a repaint of the changed cells."""
        # A local copy, because Textual computes the size on every access, from the screen down.
        size = self.size
        if size.area == 0:
            # A hidden widget is drawn when it is shown.
            self._drawn = _NOWHERE
            return
        if self._drawn != size:
            self._drawn = _NOWHERE
            self.refresh()
            return
        lines = self.draw(*size)
        regions = [
            _changed(old, new, y, size.width)
            for y, (old, new) in enumerate(zip_longest(self._lines, lines, fillvalue=()))
            if old != new and y < size.height
        ]
        self._lines = lines
        if regions:
            self.refresh(*regions)

    def forget_paint(self) -> None:
        """Drop all painted lines; a widget that is shown again paints again."""
        self._strips.clear()
        self._drawn = _NOWHERE

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        # Textual would add frames, padding and links to each line, which takes a third of the time of a
        # frame; a canvas has none of these. Without frame and padding, the content has the outer size of the
        # widget.
        width = self._draw_if_needed(self.outer_size).width
        strips = [self._painted(y, width) for y in crop.line_range]
        if crop.column_span == (0, width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]

    @override
    def render_line(self, y: int) -> Strip:
        return self._painted(y, self._draw_if_needed(self.size).width)

    def _draw_if_needed(self, size: Size) -> Size:
        """Draw if the size has changed; return the size."""
        if self._drawn != size:
            self._lines = self.draw(*size)
            self._strips.clear()
            self._drawn = size
        return size

    def _painted(self, y: int, width: int) -> Strip:
        """Return a line as it is sent to the terminal; cached, since boards repeat many lines."""
        line = self._lines[y] if y < len(self._lines) else ()
        strip = self._strips.get(line)
        if strip is None:
            if len(self._strips) > len(self._lines):
                # Few of the lines that are no longer shown will be shown again, and each takes 4 kB.
                self._strips = {shown: self._strips[shown] for shown in self._lines if shown in self._strips}
            strip = self._strips[line] = self._paint(line, width)
        return strip

    def _paint(self, line: Line, width: int) -> Strip:
        if self.glyphs.is_ascii:
            line = tuple((_ascii(text), style) for text, style in line)
        segments = [Segment(safe(text), self.style_of(style)) for text, style in line]
        strip = Strip(segments).adjust_cell_length(width, self.style_of(""))
        # Filters of the app, such as for colours that the terminal lacks and for NO_COLOR.
        for line_filter in self.get_line_filters():
            if isinstance(line_filter, ANSIToTruecolor):
                # This filter is needed only for ANSI themes, and takes a tenth of the time of a frame.
                continue
            if self._behind is None:
                self._behind = self.background_colors[1]
            strip = strip.apply_filter(line_filter, self._behind)
        return strip

    def style_of(self, name: str) -> Style:
        """Return the style of a span; cached, because building it takes longer than drawing."""
        style = self._known_styles.get(name)
        if style is None:
            style = self.rich_style
            if name:
                colour, weight = _LOOKS[name]
                variables = app_of(self).theme_variables
                style += Style(color=Color.parse(variables[f"arena-{colour}"]).rich_color) + weight
            self._known_styles[name] = style
        return style

    @override
    def notify_style_update(self) -> None:
        self._known_styles.clear()
        self._strips.clear()
        self._behind = None
        # Two themes may differ only in colours that Textual does not know to be those of the widget.
        theme = app_of(self).theme
        if theme != self._theme:
            self._theme = theme
            self.refresh()
        super().notify_style_update()

    def text_lines(self) -> list[str]:
        """Return the content as plain text, a line each."""
        return ["".join(text for text, _ in fit(line, self.size.width)) for line in self.draw(*self.size)]

    def _on_focus_change(self) -> None:
        self._drawn = _NOWHERE
        self.refresh()

    def on_focus(self) -> None:
        """Draw the heavy frame."""
        self._on_focus_change()

    def on_blur(self) -> None:
        """Draw the light frame."""
        self._on_focus_change()


def _ascii(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c if c.isascii() else "?" * cell_len(c) for c in text)


def _changed(old: Line, new: Line, y: int, width: int) -> Region:
    """Return the region from the first changed span to the last one."""
    shorter = min(len(old), len(new))
    before = 0
    while before < shorter and old[before] == new[before]:
        before += 1
    after = 0
    while after < shorter - before and old[-1 - after] == new[-1 - after]:
        after += 1
    begin = line_width(new[:before])
    changed = line_width(new[before : len(new) - after])
    # The rest of the line has moved if the changed part has another width than before.
    is_moved = changed != line_width(old[before : len(old) - after])
    end = width if is_moved else min(width, begin + changed)
    return Region(begin, y, max(1, end - begin), 1)
