"""The clock of the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import Double

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement


class _Now(GenericFunction[float]):
    """SQL function: the clock of the database at this moment, not at the start of the transaction."""

    type: Double[float] = Double()
    inherit_cache = True


@compiles(_Now)
def _of_sqlite(*_: object, **__: object) -> str:
    # `unixepoch('subsec')` needs SQLite 3.42; 2440587.5 is the Julian date of the Unix epoch.
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(_Now, "postgresql")
def _of_postgresql(*_: object, **__: object) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


def now() -> ColumnElement[float]:
    """Return the SQL expression for the clock of the database, in UTC seconds."""
    return _Now()
