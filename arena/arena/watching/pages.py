"""Pages of stored matches: what a list asks, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from arena.live.tables import MatchRow
from arena.watching.query import Query

PAGE_SIZE = 200
"""Rows of a page."""


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that are wanted: `limit` of them from `offset` on, in this order."""

    page: int
    """`offset` is `page * PAGE_SIZE`."""
    sort: str = "number"
    """`number`, `date`, `plies` or `duration`."""
    descending: bool = True
    condition: str = ""
    """As a person wrote it; the provider reads it."""
    limit: int = PAGE_SIZE

    @property
    def offset(self) -> int:
        """How many rows come before."""
        return self.page * PAGE_SIZE


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: rows, and how many there are in all under this condition, as far as was searched."""

    rows: tuple[MatchRow, ...]
    total: int
    share: float = 1.0
    """Of the matches, those that were searched; below 1 there may be more rows, here and behind."""
    num_newer: int = 0
    """Of them, those that came on top since the search began."""
    bots: tuple[str, ...] = ()
    """Names of all bots of the store, so that a bot is called the same on every page."""


Provider: TypeAlias = Callable[[PageRequest, Query], Iterator[Page]]
"""Yields a page again and again, each time more complete, until all matches are searched.

Called in threads that change; may raise ArenaError."""
