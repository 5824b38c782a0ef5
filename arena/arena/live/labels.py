"""Names as they may be shown, and looked for."""

from __future__ import annotations

from arena_plugins.text import clean_text

MAX_NAME = 64
"""Characters of a name that are shown in full."""


def show_name(name: str) -> str:
    """Give a name as it may be shown: one line, nothing that steers a terminal, never empty."""
    return clean_text(name, MAX_NAME).strip() or "?"


def fits_words(text: str, *names: str) -> bool:
    """Say whether each word of a text occurs in one of the names, in small letters or capitals."""
    known = " ".join(names).casefold()
    return all(word in known for word in text.casefold().split())
