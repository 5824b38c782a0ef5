"""Containers that paint only their background, which is much cheaper in Textual."""

from __future__ import annotations

from textual.containers import Container, Horizontal, Vertical


class BlankContainer(Container):
    """Textual's `Container`, of which only the background is painted."""

    BLANK = True


class BlankVertical(Vertical):
    """Textual's `Vertical`, of which only the background is painted."""

    BLANK = True


class BlankHorizontal(Horizontal):
    """Textual's `Horizontal`, of which only the background is painted."""

    BLANK = True
