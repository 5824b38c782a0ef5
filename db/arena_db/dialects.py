"""Statements as SQL text for the driver of a database, compiled once and run with tuples of values."""

from __future__ import annotations

from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Table
    from sqlalchemy.dialects import postgresql
    from sqlalchemy.sql.expression import ClauseElement

_numbers: Final = count()
"""Numbers for names of cursors: two cursors of one connection must have different names."""


def _module(dialect: str) -> Any:  # noqa: ANN401 - a module of SQLAlchemy
    """Return SQLAlchemy's module for a dialect."""
    if dialect == "sqlite":
        return sqlite
    # Imported here, because it takes 3 MB that only stores on a server need.
    from sqlalchemy.dialects import postgresql

    return {"postgresql": postgresql}[dialect]


def _dialect(name: str) -> Any:  # noqa: ANN401 - of SQLAlchemy
    """Return a dialect that compiles to positional placeholders, as its driver expects."""
    return _module(name).dialect() if name == "sqlite" else _module(name).dialect(paramstyle="format")


def upsert(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    """Return an insert statement that supports ON CONFLICT."""
    return _module(dialect).insert(table)


def driver_text(statement: ClauseElement, dialect: str, columns: Sequence[str] | None = None) -> str:
    """Return the text of a statement; an insert or update takes the values of `columns`, in that order."""
    options: dict[str, Any] = {"render_postcompile": True}
    compiled = statement.compile(dialect=_dialect(dialect), column_keys=columns, compile_kwargs=options)
    return str(compiled)


def driver_text_with_values(statement: ClauseElement, dialect: str) -> tuple[str, tuple[Any, ...]]:
    """Return the text of a query, and its values in the order of the placeholders."""
    options: dict[str, Any] = {"render_postcompile": True}
    compiled: Any = statement.compile(dialect=_dialect(dialect), compile_kwargs=options)
    return str(compiled), tuple(compiled.params[name] for name in compiled.positiontup)


def driver_query(statement: ClauseElement, dialect: str) -> tuple[str, dict[str, Any]]:
    """Return the text of a query, and its values by name in placeholder order; unbound ones are None."""
    compiled: Any = statement.compile(dialect=_dialect(dialect))
    return str(compiled), {name: compiled.params[name] for name in compiled.positiontup}


def stream(connection: Connection, query: str, num: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a query in lists of up to `num`, as tuples of the driver.

    SQLAlchemy would create another object for each of a million rows. On a server the query gets a cursor
    with a name: without one the driver reads all rows into memory first.
    """
    raw: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        cursor = raw.execute(query)
    else:
        cursor = raw.cursor(name=f"stream_{next(_numbers)}")
        cursor.execute(query)
    with closing(cursor):
        while rows := cursor.fetchmany(num):
            yield rows


def values_in_order(usual: dict[str, Any], **given: Any) -> tuple[Any, ...]:  # noqa: ANN401 - of any column
    """Return the values of `driver_query` in order, replaced by given ones, for the driver."""
    return tuple(given.get(name, value) for name, value in usual.items())
