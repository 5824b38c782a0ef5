"""Patterns in the text conditions of a filter: `*` matches any text, `?` any character."""

from __future__ import annotations

from fnmatch import fnmatchcase


def is_wild(text: str) -> bool:
    """Return whether a text is a pattern rather than literal."""
    return "*" in text or "?" in text


def is_like(text: str, wanted: str) -> bool:
    """Return whether a text matches a pattern, in which only `*` and `?` are special."""
    return fnmatchcase(text, glob(wanted))


def glob(wanted: str) -> str:
    """Return a pattern for `fnmatch` and SQLite's GLOB: in both of them, `[` begins a set."""
    return wanted.replace("[", "[[]")
