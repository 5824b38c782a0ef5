"""The clock of the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import Double

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement


class _Now(GenericFunction[float]):
    """The clock of the database, not of the transaction."""

    type: Double[float] = Double()
    inherit_cache = True


@compiles(_Now)
def _of_sqlite(*_: object, **__: object) -> str:
    # `unixepoch('subsec')` came with SQLite 3.42.
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(_Now, "postgresql")
def _of_postgresql(*_: object, **__: object) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


def now() -> ColumnElement[float]:
    """Return the clock of the database, in UTC seconds."""
    return _Now()
