"""The clock of the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement


def now() -> ColumnElement[float]:
    """Return the clock of the database, in UTC seconds."""
    # `unixepoch('subsec')` came with SQLite 3.42.
    return (func.julianday("now") - 2_440_587.5) * 86_400.0
