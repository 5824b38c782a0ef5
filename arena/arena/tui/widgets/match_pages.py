"""Pages of stored matches: what a list asks of its provider, and the columns that it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


class Column(msgspec.Struct, frozen=True):
    """A column of the list."""

    key: str
    head: str
    width: int
    """Cells, at least; addresses take what they need, names what is left."""
    write: Callable[[MatchRow], str]
    is_right: bool = False


COLUMNS: Sequence[Column] = (
    Column("number", "match", 8, lambda row: row.address),
    Column("first", "first", 16, lambda row: row.names[0]),
    Column("result", "result", 6, lambda row: row.result),
    Column("second", "second", 16, lambda row: row.names[1]),
    Column("termination", "by", 12, lambda row: row.termination),
    Column("plies", "ply", 4, lambda row: str(row.plies), is_right=True),
    Column("game", "game", 20, lambda row: row.game),
)
"""In order; those at the end go first where there is no room."""
ALWAYS = 4
"""Columns that are there at any width."""
SORTS = ("number", "plies", "termination", "result", "first", "second")
"""What `s` goes through."""
