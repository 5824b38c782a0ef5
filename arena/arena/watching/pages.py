"""Pages of stored matches: what a list asks, and the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from arena.live.tables import MatchRow

PAGE_SIZE = 200
"""Rows of a page."""


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that are wanted: `limit` of them from `offset` on, in this order."""

    page: int
    """`offset` is `page * PAGE_SIZE`."""
    sort: str = "number"
    descending: bool = True
    condition: str = ""
    """As a person wrote it; the provider reads it."""
    limit: int = PAGE_SIZE

    @property
    def offset(self) -> int:
        """How many rows come before."""
        return self.page * PAGE_SIZE


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: rows, and how many there are in all under this condition."""

    rows: tuple[MatchRow, ...]
    total: int
    bots: tuple[str, ...] = ()
    """Names of all bots of the store, so that a bot is called the same on every page."""


Provider: TypeAlias = Callable[[PageRequest], Page]
"""Called in threads that change, one call at a time; may raise ArenaError, whose text is shown."""
