"""Containers that paint only their background, which is much cheaper in Textual."""

from __future__ import annotations

from textual.containers import Container, Horizontal, Vertical


class BlankContainer(Container):
    """As Textual's `Container`."""

    BLANK = True


class BlankVertical(Vertical):
    """As Textual's `Vertical`."""

    BLANK = True


class BlankHorizontal(Horizontal):
    """As Textual's `Horizontal`."""

    BLANK = True
