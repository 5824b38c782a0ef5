"""Two sets of glyphs: one for terminals that show Unicode, one of ASCII only."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

GlyphName = Literal["unicode", "ascii"]


class Border(NamedTuple):
    """The pieces of a frame."""

    top_left: str
    top: str
    top_right: str
    side: str
    bottom_left: str
    bottom_right: str


# Compared by identity, so that it is a cheap cache key for drawn lines.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Glyphs:
    """Every glyph that is not text; each character is one cell wide."""

    name: GlyphName
    players: tuple[str, str]
    """Stones of the first and the second player."""
    coins: tuple[tuple[str, str, str], tuple[str, str, str]]
    """Stones of a board with tall cells, first and second: three lines of five cells."""
    ghosts: tuple[str, str]
    """Stones that are not placed yet, of both players."""
    empty: str
    light: Border
    heavy: Border
    """The frame of the focused widget."""
    grid_side: str
    grid_top: tuple[str, str, str, str]
    """Upper edge of a grid: left corner, line, joint, right corner."""
    grid_middle: tuple[str, str, str, str]
    grid_bottom: tuple[str, str, str, str]
    bar: tuple[str, str]
    """The done and the remaining part of a bar."""
    shades: str
    """Four shades, lightest first."""
    levels: str
    """Heights of a trend, lowest first."""
    series: str
    """Points of the lines of a chart, one glyph for each line."""
    interval: tuple[str, str, str, str]
    """A rating with its interval: left end, line, middle, right end."""
    dot: str
    plus_minus: str
    arrow: str
    """Mark of the row at the cursor."""

    @property
    def is_ascii(self) -> bool:
        """Whether only ASCII may be shown."""
        return self.name == "ascii"


UNICODE = Glyphs(
    name="unicode",
    players=("●", "○"),
    coins=(("▄███▄", "█████", "▀███▀"), ("▄▀▀▀▄", "█   █", "▀▄▄▄▀")),
    ghosts=("x", "o"),
    empty="·",
    light=Border("┌", "─", "┐", "│", "└", "┘"),
    heavy=Border("┏", "━", "┓", "┃", "┗", "┛"),
    grid_side="│",
    grid_top=("┌", "─", "┬", "┐"),
    grid_middle=("├", "─", "┼", "┤"),
    grid_bottom=("└", "─", "┴", "┘"),
    bar=("█", "░"),
    shades="▁▃▅█",
    levels="▁▂▃▄▅▆▇█",
    series="●○■□▲△◆◇",
    interval=("├", "─", "●", "┤"),
    dot="●",
    plus_minus="±",
    arrow="▶",
)
ASCII = Glyphs(
    name="ascii",
    players=("X", "O"),
    coins=((" \\ / ", "  X  ", " / \\ "), (" .-. ", "( O )", " '-' ")),
    ghosts=("x", "o"),
    empty=".",
    light=Border("+", "-", "+", "|", "+", "+"),
    heavy=Border("#", "=", "#", "#", "#", "#"),
    grid_side="|",
    grid_top=("+", "-", "+", "+"),
    grid_middle=("+", "-", "+", "+"),
    grid_bottom=("+", "-", "+", "+"),
    bar=("#", "."),
    shades=".-*#",
    levels="_.:-=+*#",
    series="*o+x#@%&",
    interval=("[", "-", "o", "]"),
    dot="o",
    plus_minus="+/-",
    arrow=">",
)
SETS: Mapping[GlyphName, Glyphs] = {"unicode": UNICODE, "ascii": ASCII}


def choose_glyphs(wanted: GlyphName | None = None, environ: Mapping[str, str] = os.environ) -> Glyphs:
    """Return the requested set, else the one that the terminal can show."""
    if wanted is not None:
        return SETS[wanted]
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    if environ.get("LC_ALL") in ("C", "POSIX"):
        # Python writes UTF-8 even there, but a user who sets this locale wants ASCII.
        return ASCII
    # The font of the Linux console has 256 glyphs, without stones.
    can_show = encoding in ("utf8", "utf8sig") and environ.get("TERM", "") not in ("linux", "dumb")
    return UNICODE if can_show else ASCII
