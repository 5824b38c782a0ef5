"""Colours: the dashboard's variables for every theme, with readable contrast, and three themes of its own."""

from __future__ import annotations

from textual.color import BLACK, WHITE, Color
from textual.theme import BUILTIN_THEMES, Theme

TEXT_CONTRAST = 4.5
"""Minimum contrast of text, WCAG 2.2, 1.4.3."""
GLYPH_CONTRAST = 3.0
"""Minimum contrast of meaningful glyphs and borders, WCAG 2.2, 1.4.11."""
# Margin, so that rounding to 8 bits cannot take a colour below its bound.
_SPARE = 0.05
_STEPS = 40
"""Number of steps in which a colour is blended towards white or black."""
_LINEAR = 0.04045
"""sRGB is linear up to this value."""

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
    `-focus` (frames, too) are text on it, `-border` is for frames only.
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
