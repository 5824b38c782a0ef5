"""An app with the look of the dashboard: themes with readable contrast, glyphs, motion; without any data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, cast

from textual.app import App
from textual.color import BLACK, WHITE, Color
from textual.keys import key_to_character
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.theme import BUILTIN_THEMES, Theme
from typing_extensions import override

from arena.tui.glyphs import choose_glyphs
from arena.tui.palette import Palette

if TYPE_CHECKING:
    from textual.binding import Binding
    from textual.message_pump import MessagePump
    from textual.screen import Screen

    from arena.tui.glyphs import GlyphName, Glyphs

DEFAULT_THEME = "textual-dark"


class AsciiBars(ScrollBarRender):
    """Scroll bars with whole cells at their ends, which need no glyph but the blank."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


class LookOptions(TypedDict, total=False):
    """How an app looks; the arguments of `LookApp`."""

    glyphs: GlyphName | None
    theme: str
    reduce_motion: bool


class LookApp(App[None]):
    """The base class of the dashboard, and the host in which its widgets are tested."""

    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [  # pyright: ignore[reportIncompatibleVariableOverride] # meant to be overridden
        (0, "-narrow"),
        (40, "-single"),
        (60, "-pair"),
        (80, "-usual"),
        (120, "-wide"),
    ]
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [  # pyright: ignore[reportIncompatibleVariableOverride] # meant to be overridden
        (0, "-shallow"),
        (12, "-flat"),
        (16, "-low"),
        (24, "-reference"),
        (40, "-tall"),
    ]
    CSS = """
    /* What Textual draws with other glyphs than ASCII, once only that may be shown. */
    App.-ascii {
        CommandPalette #--input, CommandPalette #--input.--list-visible { border: none; height: 3; }
        CommandPalette SearchIcon, CommandPalette LoadingIndicator { display: none; }
        CommandList, CommandList:focus, CommandList.--visible { border: none; }
        HelpScreen > VerticalScroll, ConfirmScreen > Vertical { border: ascii $arena-focus; }
        Toast { border: none; }
    }
    """
    glyphs: Glyphs
    """The glyphs that widgets draw with."""

    def __init__(
        self, *, glyphs: GlyphName | None = None, theme: str = "", reduce_motion: bool = False
    ) -> None:
        """Create the app.

        Args:
            glyphs: the set of glyphs; None chooses by the terminal.
            theme: name of the theme; empty for the default one.
            reduce_motion: whether sliding, fading and blinking are off.
        """
        super().__init__()
        self.glyphs = choose_glyphs(glyphs)
        self.set_class(self.glyphs.is_ascii, "-ascii")
        # A class attribute is the only hook: Textual uses it for all scroll bars of the process.
        ScrollBar.renderer = AsciiBars if self.glyphs.is_ascii else ScrollBarRender
        self.reduce_motion = reduce_motion
        if reduce_motion:
            self.animation_level = "none"
        for own in THEMES:
            self.register_theme(own)
        self.theme = theme if theme in self.available_themes else DEFAULT_THEME

    @property
    @override
    def _background_screens(self) -> list[Screen[Any]]:
        # Textual also lays out and paints the screen below, even if the screen on top fills the terminal and
        # hides it: each resize then caused three full paints.
        if self._screen_stack and self._screen_stack[-1].styles.background.a == 1:
            return []
        return super()._background_screens  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] # Textual leaves results of screens open

    @override
    def get_theme_variable_defaults(self) -> dict[str, str]:
        return arena_variables(self.current_theme)

    @override
    def search_themes(self) -> None:
        self.push_screen(Palette.of_themes())

    @override
    def get_key_display(self, binding: Binding) -> str:
        """Return a word or character for a key, never a pictogram."""
        if binding.key_display:
            return binding.key_display
        *modifiers, key = binding.key.split("+")
        character = key_to_character(key)
        shown = character if character and character.isprintable() and character != " " else key
        return "".join("^" if modifier == "ctrl" else f"{modifier}+" for modifier in modifiers) + shown


def app_of(node: MessagePump) -> App[object]:
    """Return the app of a widget or a screen, with a type."""
    return cast("App[object]", node.app)


TEXT_CONTRAST = 4.5
"""Minimum contrast of text, WCAG 2.2, 1.4.3."""
GLYPH_CONTRAST = 3.0
"""Minimum contrast of meaningful glyphs and borders, WCAG 2.2, 1.4.11."""
# Margin, so that rounding to 8 bits cannot take a colour below its bound.
_SPARE = 0.05
_STEPS = 40
"""Number of steps in which a colour is blended towards white or black."""
_LINEAR = 0.04045
"""Value up to which sRGB is linear."""

THEMES = (
    Theme(
        name="arena-contrast",
        primary="#FFFFFF",
        secondary="#00FFFF",
        accent="#FFFF00",
        warning="#FFFF00",
        error="#FF8080",
        success="#00FF00",
        foreground="#FFFFFF",
        background="#000000",
        surface="#000000",
        panel="#1A1A1A",
        variables={"arena-first": "#FFFF00", "arena-second": "#00FFFF", "arena-border": "#FFFFFF"},
    ),
    Theme(
        name="arena-blue-orange",
        primary="#56B4E9",
        secondary="#0072B2",
        accent="#E69F00",
        warning="#E69F00",
        error="#E69F00",
        success="#56B4E9",
        foreground="#F0F0F0",
        background="#101418",
        surface="#181D23",
        panel="#222A33",
        # From the palette of Okabe and Ito, which is distinguishable with every kind of colour blindness.
        variables={"arena-first": "#E69F00", "arena-second": "#56B4E9", "arena-eval": "#F0E442"},
    ),
    Theme(
        name="arena-ansi",
        ansi=True,
        primary="ansi_bright_blue",
        secondary="ansi_cyan",
        warning="ansi_bright_yellow",
        error="ansi_bright_red",
        success="ansi_bright_green",
        accent="ansi_bright_yellow",
        foreground="ansi_bright_white",
        background="ansi_black",
        surface="ansi_black",
        panel="ansi_black",
        boost="ansi_black",
        variables={
            **BUILTIN_THEMES["ansi-dark"].variables,
            "surface": "ansi_black",
            "background": "ansi_black",
            "foreground": "ansi_bright_white",
            "arena-surface": "ansi_black",
            "arena-text": "ansi_bright_white",
            "arena-dim": "ansi_white",
        },
    ),
)
"""High contrast; blue and orange; the sixteen colours of the terminal."""

_ANSI_DARK = {
    "arena-surface": "ansi_default",
    "arena-text": "ansi_default",
    "arena-dim": "ansi_default",
    "arena-first": "ansi_bright_red",
    "arena-second": "ansi_bright_yellow",
    "arena-last": "ansi_bright_white",
    "arena-eval": "ansi_bright_cyan",
    "arena-border": "ansi_white",
    "arena-focus": "ansi_bright_green",
    "arena-alert": "ansi_bright_yellow",
}
_ANSI_LIGHT = _ANSI_DARK | {
    "arena-first": "ansi_red",
    "arena-second": "ansi_blue",
    "arena-last": "ansi_black",
    "arena-eval": "ansi_magenta",
    "arena-border": "ansi_black",
    "arena-focus": "ansi_blue",
    "arena-alert": "ansi_red",
}


def arena_variables(theme: Theme) -> dict[str, str]:
    """Return the colours of the dashboard for a theme, as CSS variables; the theme's own take precedence.

    `arena-surface` is the background; `-text`, `-dim`, `-first`, `-second`, `-last`, `-eval`, `-alert` and
    `-focus` (also for frames) are for text on it, and `-border` is for frames only.
    """
    if theme.ansi:
        return (_ANSI_DARK if theme.dark else _ANSI_LIGHT) | _own(theme)
    generated = theme.to_color_system().generate()
    surface = Color.parse(generated["surface"])
    text = Color.parse(generated["foreground"])
    wanted = {
        "arena-text": (text, TEXT_CONTRAST),
        "arena-dim": (text.blend(surface, 0.35), TEXT_CONTRAST),
        "arena-first": (Color.parse("#FF5A5F"), TEXT_CONTRAST),
        "arena-second": (Color.parse("#F2C744" if theme.dark else "#2456C4"), TEXT_CONTRAST),
        "arena-last": (text, TEXT_CONTRAST),
        "arena-eval": (Color.parse(generated["primary"]), TEXT_CONTRAST),
        "arena-border": (text.blend(surface, 0.55), GLYPH_CONTRAST),
        "arena-focus": (Color.parse(generated["accent"]), TEXT_CONTRAST),
        "arena-alert": (Color.parse(generated["warning"]), TEXT_CONTRAST),
    }
    colours = {name: readable(colour, surface, least).hex for name, (colour, least) in wanted.items()}
    return {"arena-surface": surface.hex} | colours | _own(theme)


def readable(colour: Color, background: Color, least: float) -> Color:
    """Blend `colour` with white or black, whichever contrasts more with the background, until readable."""
    target = max((WHITE, BLACK), key=lambda end: contrast(end, background))
    for step in range(_STEPS + 1):
        candidate = colour.blend(target, step / _STEPS, alpha=1.0)
        if contrast(candidate, background) >= least + _SPARE:
            return candidate
    return target


def contrast(one: Color, two: Color) -> float:
    """Return the contrast ratio of WCAG 2.2, from 1 to 21."""
    high, low = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Color) -> float:
    """Return the relative luminance of WCAG 2.2."""
    red, green, blue = (
        part / 12.92 if part <= _LINEAR else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _own(theme: Theme) -> dict[str, str]:
    return {name: value for name, value in theme.variables.items() if name.startswith("arena-")}
