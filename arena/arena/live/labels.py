"""Cleans names for display, and searches in them."""

from __future__ import annotations

from arena_plugins.text import clean_text

MAX_NAME = 64
"""Maximum characters of a displayed name."""


def show_name(name: str) -> str:
    """Return a name for display: one line, without control characters, never empty."""
    return clean_text(name, MAX_NAME).strip() or "?"


def fits_words(text: str, *names: str) -> bool:
    """Return whether each word of a text occurs in one of the names, ignoring case."""
    known = " ".join(names).casefold()
    return all(word in known for word in text.casefold().split())
