"""Pictures of a screen as SVG, without the parts of Textual's output that are not needed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from textual.app import App

_FONT: Final = re.compile(r"@font-face \{.*?\}", re.DOTALL)
_NO_ID: Final = re.compile(r"terminal-\d+-")
_CLIPS: Final = re.compile(
    r'<clipPath id="a-line-\d+">.*?</clipPath>| clip-path="url\(#a-line-\d+\)"', re.DOTALL
)
"""Clip paths that cut every line to its own height: a third of the picture, without visible effect."""
_CRISP: Final = ' shape-rendering="crispEdges"'
"""Attribute of every rectangle, written only once instead."""
_BLANKS: Final = re.compile(r"<text[^>]*>(?:&#160;)*</text>")


def picture_of(app: App[Any], title: str) -> str:
    """Return the picture of an app."""
    # The fonts would be downloaded; every reader has a monospaced one.
    picture = _FONT.sub("", app.export_screenshot(title=title))
    for pattern, new in ((_NO_ID, "a-"), (_CLIPS, ""), (_BLANKS, "")):
        picture = pattern.sub(new, picture)
    picture = picture.replace(_CRISP, "").replace(
        "<style>", "<style>rect { shape-rendering: crispEdges; }", 1
    )
    return "\n".join(line.strip() for line in picture.splitlines() if line.strip()) + "\n"
