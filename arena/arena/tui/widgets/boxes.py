"""Containers that paint nothing but their background, which Textual does at a fraction of the cost."""

from __future__ import annotations

from textual.containers import Container, Horizontal, Vertical


class Box(Container):
    """As in Textual."""

    BLANK = True


class Column(Vertical):
    """As Textual's `Vertical`."""

    BLANK = True


class Row(Horizontal):
    """As Textual's `Horizontal`."""

    BLANK = True
