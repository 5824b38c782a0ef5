"""Containers that paint only their background, which is much cheaper in Textual."""

from __future__ import annotations

from textual.containers import Container, Horizontal, Vertical


class Box(Container):
    """As Textual's `Container`."""

    BLANK = True


class Column(Vertical):
    """As Textual's `Vertical`."""

    BLANK = True


class Row(Horizontal):
    """As Textual's `Horizontal`."""

    BLANK = True
