"""The dialect of stores in files: all engines of a process share their compiled statements.

SQLAlchemy keeps compiled statements by engine and by dialect object. Each store has an engine of its own, and
a viewer opens one per query, so each would compile the same statements anew: about a millisecond per
statement, a fifth of the time of a small query.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

URL: Final = "sqlite+arena://"
"""The URL with which `create_engine` uses this dialect."""

COMPILED: Final[LRUCache[Any, Any]] = LRUCache(1000)
"""Compiled statements of all engines with this dialect, by statement and dialect; given to each engine as
`compiled_cache`. SQLAlchemy keeps 500 for each engine."""


class ArenaSqlite(SQLiteDialect_pysqlite):
    """Equal for the same SQLite library, on whose version alone the text of a statement depends."""

    # SQLAlchemy demands it of each class, subclasses included.
    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArenaSqlite) and other.dbapi is self.dbapi

    def __hash__(self) -> int:
        return hash((ArenaSqlite, id(self.dbapi)))


registry.register("sqlite.arena", __name__, ArenaSqlite.__name__)
