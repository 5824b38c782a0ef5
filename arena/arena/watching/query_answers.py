"""Answers to a viewer's query of the store: loading, rows, empty or unavailable."""

from __future__ import annotations

from typing import Generic, TypeAlias, TypeVar

import msgspec

_Content = TypeVar("_Content")


class Loading(msgspec.Struct, frozen=True):
    """The query is being answered; a screen keeps its previous content."""

    doing: str
    """The work in progress, such as `reading matches`."""


class Rows(msgspec.Struct, Generic[_Content], frozen=True):
    """The content that was found, or its first part: a query may publish several of these."""

    content: _Content


class Empty(msgspec.Struct, frozen=True):
    """The store was read and has no content; the only answer that a screen shows as empty."""

    why: str = ""
    """What is missing, as a sentence; empty to leave the wording to the screen."""


class Unavailable(msgspec.Struct, frozen=True):
    """The query could not be answered; a screen keeps its previous content."""

    reason: str
    """The reason, for people."""
    is_passing: bool = False
    """Whether the same query may succeed later: the store is gone or locked."""


Answer: TypeAlias = Loading | Rows[_Content] | Empty | Unavailable
