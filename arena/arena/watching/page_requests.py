"""Requests and answers for pages of stored matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from arena.live.table_views import MatchRow
from arena.watching.query import Query

PAGE_SIZE = 200
"""Rows per page."""


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for rows: `limit` of them starting at `offset`, in this order."""

    page: int
    """`offset` is `page * PAGE_SIZE`."""
    sort: str = "number"
    """`number`, `date`, `plies` or `duration`."""
    descending: bool = True
    condition: str = ""
    """The condition as typed; the provider parses it."""
    limit: int = PAGE_SIZE

    @property
    def offset(self) -> int:
        """Number of rows before the page."""
        return self.page * PAGE_SIZE


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The answer: rows, and the number of all rows that pass the condition, as far as was searched."""

    rows: tuple[MatchRow, ...]
    total: int
    share: float = 1.0
    """Share of matches that were searched; below 1, more rows may follow on this and later pages."""
    num_newer: int = 0
    """Number of rows added at the top since the search began."""
    bots: tuple[str, ...] = ()
    """Names of all bots of the store, so that labels are the same on every page."""


Provider: TypeAlias = Callable[[PageRequest, Query], Iterator[Page]]
"""Yields a page repeatedly, each time more complete, until all matches are searched.

It is called in changing threads and may raise ArenaError.
"""
