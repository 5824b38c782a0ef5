"""The columns of a list of stored matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from arena.live.tables import MatchRow


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
SORTS = ("number", "date", "plies", "duration")
"""What `s` goes through; the store has an index of each."""
