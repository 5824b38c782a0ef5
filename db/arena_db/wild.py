"""Patterns in the text conditions of a filter: `*` stands for any text, `?` for any character."""

from __future__ import annotations

from fnmatch import fnmatchcase


def is_wild(text: str) -> bool:
    """Return whether a text is a pattern, not just itself."""
    return "*" in text or "?" in text


def is_like(text: str, wanted: str) -> bool:
    """Return whether a text fits a pattern, in which only `*` and `?` are special."""
    return fnmatchcase(text, glob(wanted))


def glob(wanted: str) -> str:
    """Return a pattern for `fnmatch` and SQLite's GLOB, which are one language: in both, `[` begins a set."""
    return wanted.replace("[", "[[]")
