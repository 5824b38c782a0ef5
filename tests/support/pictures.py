"""Pictures of a screen as SVG, with less in them than Textual puts there."""

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
"""Every line is cut to its own height, which makes a third of the picture and shows nothing."""
_CRISP: Final = ' shape-rendering="crispEdges"'
"""Of every rectangle; said once for all of them."""
_BLANKS: Final = re.compile(r"<text[^>]*>(?:&#160;)*</text>")


def picture_of(app: App[Any], title: str) -> str:
    """Give what an app shows."""
    # The fonts would be loaded from elsewhere; every reader has a monospaced one.
    picture = _FONT.sub("", app.export_screenshot(title=title))
    for pattern, new in ((_NO_ID, "a-"), (_CLIPS, ""), (_BLANKS, "")):
        picture = pattern.sub(new, picture)
    picture = picture.replace(_CRISP, "").replace(
        "<style>", "<style>rect { shape-rendering: crispEdges; }", 1
    )
    return "\n".join(line.strip() for line in picture.splitlines() if line.strip()) + "\n"
