"""In every theme text is readable and drawn elements are distinguishable; nothing depends on colour alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from textual.color import Color
from textual.geometry import Region
from textual.theme import BUILTIN_THEMES

from arena.tui.glyphs import ASCII, UNICODE, choose_glyphs
from arena.tui.look import GLYPH_CONTRAST, TEXT_CONTRAST, THEMES, LookApp, arena_variables, contrast, readable
from arena.tui.shell.screen import FilterLine
from arena.tui.widgets.form import Choice, FieldInput, FieldLabel, FormField, Push
from arena.tui.widgets.small_board import SmallBoard
from dashboard import Host, lines_of, piloted
from live_samples import played

if TYPE_CHECKING:
    from rich.style import Style
    from textual.pilot import Pilot

TEXT = ("", "title", "dim", "first", "second", "last", "eval", "alert", "focus")
FRAMES = ("border",)
ALL = {**BUILTIN_THEMES, **{theme.name: theme for theme in THEMES}}
XTERM = {
    "ansi_black": "#000000", "ansi_red": "#cd0000", "ansi_green": "#00cd00", "ansi_yellow": "#cdcd00",
    "ansi_blue": "#0000ee", "ansi_magenta": "#cd00cd", "ansi_cyan": "#00cdcd", "ansi_white": "#e5e5e5",
    "ansi_bright_black": "#7f7f7f", "ansi_bright_red": "#ff0000", "ansi_bright_green": "#00ff00",
    "ansi_bright_yellow": "#ffff00", "ansi_bright_blue": "#5c5cff", "ansi_bright_magenta": "#ff00ff",
    "ansi_bright_cyan": "#00ffff", "ansi_bright_white": "#ffffff",
}  # fmt: skip
"""The palette of xterm. With any other palette, the user of the terminal decides what is readable."""


def test_there_are_themes_for_those_who_need_them() -> None:
    assert {"arena-contrast", "arena-blue-orange", "arena-ansi"} <= set(LookApp().available_themes)
    assert len(ALL) >= 22


def test_contrast_is_that_of_the_standard() -> None:
    black, white, grey = Color(0, 0, 0), Color(255, 255, 255), Color(118, 118, 118)
    assert contrast(black, white) == pytest.approx(21.0)
    assert contrast(white, grey) == pytest.approx(4.54, abs=0.01)
    assert contrast(grey, grey) == pytest.approx(1.0)
    assert contrast(readable(grey, grey, 4.5), grey) >= 4.5


@pytest.mark.parametrize("name", [name for name, theme in ALL.items() if theme.ansi])
def test_ansi_themes_are_readable_with_the_usual_palette(name: str) -> None:
    theme = ALL[name]
    defaults = {"dark": ("#000000", "#e5e5e5"), "light": ("#ffffff", "#000000")}[
        "dark" if theme.dark else "light"
    ]
    palette = {**XTERM, "ansi_default": defaults[1]}
    variables = arena_variables(theme)
    surface = Color.parse({**palette, "ansi_default": defaults[0]}[variables.pop("arena-surface")])
    for variable, value in variables.items():
        least = GLYPH_CONTRAST if variable == "arena-border" else TEXT_CONTRAST
        # Only the red of xterm on black is darker than text should be; it is used for glyphs.
        least = GLYPH_CONTRAST if value == "ansi_bright_red" else least
        assert contrast(Color.parse(palette[value]), surface) >= least, variable


def test_what_is_painted_is_readable_in_every_theme() -> None:
    board = SmallBoard()
    app = Host(board)

    async def look(pilot: Pilot[None]) -> list[str]:
        board.show(played("connect-four", "4 4"), 3.0)
        wrong: list[str] = []
        for name, theme in ALL.items():
            if theme.ansi:
                continue
            app.theme = name
            await pilot.pause()
            for style in (*TEXT, *FRAMES):
                painted = board.style_of(style)
                assert painted.color is not None
                assert painted.bgcolor is not None
                ratio = contrast(Color.from_rich_color(painted.color), Color.from_rich_color(painted.bgcolor))
                if ratio < (GLYPH_CONTRAST if style in FRAMES else TEXT_CONTRAST):
                    wrong.append(f"{name} {style or 'text'}: {ratio:.2f}")
        return wrong

    assert piloted(app, look) == []


def test_what_is_written_into_lines_and_forms_is_readable_in_every_theme() -> None:
    filter_line = FilterLine(placeholder="part of a name")
    filter_line.add_class("-open")
    field, choice, push = (
        FormField("bots", "mcts minimax"),
        Choice("type", ("match", "gauntlet")),
        Push("go", "Go"),
    )
    app = Host(filter_line, field, choice, push)

    async def look(pilot: Pilot[None]) -> list[str]:
        line = field.query_one(FieldInput)
        wrong: list[str] = []
        for name, theme in ALL.items():
            if theme.ansi:
                continue
            app.theme = name
            for text, focused in (
                ("", line),
                ("", filter_line),
                ("random", choice),
                ("random", line),
                ("random", push),
            ):
                line.value = text
                focused.focus()
                await pilot.pause()
                for widget in (filter_line, line, choice, push, *field.query(FieldLabel)):
                    strips = widget.render_lines(Region(0, 0, *widget.size))
                    painted = [s for strip in strips for s in strip if s.text.strip() and s.style]
                    assert painted or not isinstance(widget, Choice)
                    ratios = [_ratio(segment.style) for segment in painted]
                    if any(ratio < TEXT_CONTRAST for ratio in ratios):
                        wrong.append(f"{name} {widget} {text}: {min(ratios):.2f}")
        return wrong

    assert piloted(app, look) == []


def _ratio(style: Style | None) -> float:
    """Return the contrast of a text as it is painted."""
    assert style is not None
    assert style.color is not None
    assert style.bgcolor is not None
    ends = (Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
    return contrast(*ends)


def test_another_theme_repaints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    board = SmallBoard()
    app = Host(board)

    async def look(pilot: Pilot[None]) -> tuple[str, str]:
        board.show(played("connect-four", "4 4"), 3.0)
        before = app.export_screenshot()
        app.theme = "textual-light"
        await pilot.pause()
        return before, app.export_screenshot()

    before, after = piloted(app, look)
    assert set(_colours(before)) != set(_colours(after))


def test_without_colour_all_is_grey_and_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    board = SmallBoard()
    app = Host(board, glyphs="ascii")

    async def look(pilot: Pilot[None]) -> tuple[str, list[str]]:
        board.show(played("connect-four", "4 4 4 4 3"), 12.6)
        board.focus()
        await pilot.pause()
        return app.export_screenshot(), lines_of(board)

    picture, lines = piloted(app, look)
    # The image's own colour, for text without a colour.
    colours = set(_colours(picture)) - {"#c5c8c6"}
    assert all(len({colour[1:3], colour[3:5], colour[5:7]}) == 1 for colour in colours)
    text = "\n".join(lines)
    # Players, side to move, low clock, last move and focus each have a glyph.
    for fact in ("#=>az v mcts", "[X]X", "*O 0:02!", "X 0:12"):
        assert fact in text


def test_glyphs_follow_terminal_and_option(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdout:
        encoding = "utf-8"

    monkeypatch.setattr("sys.stdout", Stdout())
    assert choose_glyphs(None, {"TERM": "xterm-256color"}) is UNICODE
    assert choose_glyphs(None, {"TERM": "linux"}) is ASCII
    assert choose_glyphs("ascii", {"TERM": "xterm-256color"}) is ASCII
    Stdout.encoding = "iso-8859-1"
    assert choose_glyphs(None, {"TERM": "xterm-256color"}) is ASCII
    assert choose_glyphs("unicode", {"TERM": "dumb"}) is UNICODE


def test_reduced_motion_is_none() -> None:
    assert LookApp(reduce_motion=True).animation_level == "none"


def _colours(picture: str) -> list[str]:
    """Return the colours of text and of its background, without the frame of the window."""
    begin = picture.index("<style>")
    styles = re.findall(r"-r[0-9]+ \{ fill: (#[0-9a-f]{6})", picture[begin:])
    behind = re.findall(r'<rect fill="(#[0-9a-f]{6})" x=', picture)
    assert styles
    return styles + behind
