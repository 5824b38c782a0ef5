"""Statements as the driver of a database takes them, made once and run with tuples by the thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Table
    from sqlalchemy.dialects import postgresql
    from sqlalchemy.sql.expression import ClauseElement


def _module(dialect: str) -> Any:  # noqa: ANN401 - a module of SQLAlchemy
    """Give what belongs to a dialect."""
    if dialect == "sqlite":
        return sqlite
    # 3 MB that only who has such a store needs.
    from sqlalchemy.dialects import postgresql

    return {"postgresql": postgresql}[dialect]


def _dialect(name: str) -> Any:  # noqa: ANN401 - of SQLAlchemy
    """Return a dialect that writes places of values in order, as its driver takes them."""
    return _module(name).dialect() if name == "sqlite" else _module(name).dialect(paramstyle="format")


def upsert(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    """Return an insert that can tell what to do with a row that is there already."""
    return _module(dialect).insert(table)


def driver_text(statement: ClauseElement, dialect: str, columns: Sequence[str] | None = None) -> str:
    """Return the text of a statement; an insert or update takes the values of `columns`."""
    options: dict[str, Any] = {"render_postcompile": True}
    compiled = statement.compile(dialect=_dialect(dialect), column_keys=columns, compile_kwargs=options)
    return str(compiled)


def driver_text_with_values(statement: ClauseElement, dialect: str) -> tuple[str, tuple[Any, ...]]:
    """Return the text of a query with the values it was made with, in the order of their places."""
    options: dict[str, Any] = {"render_postcompile": True}
    compiled: Any = statement.compile(dialect=_dialect(dialect), compile_kwargs=options)
    return str(compiled), tuple(compiled.params[name] for name in compiled.positiontup)


def driver_query(statement: ClauseElement, dialect: str) -> tuple[str, dict[str, Any]]:
    """Return the text of a query, and its values by name in order of their places; None where not given."""
    compiled: Any = statement.compile(dialect=_dialect(dialect))
    return str(compiled), {name: compiled.params[name] for name in compiled.positiontup}


def values_in_order(usual: dict[str, Any], **given: Any) -> tuple[Any, ...]:  # noqa: ANN401 - of any column
    """Return what `driver_query` gives by name as the driver takes it, with what is given in its place."""
    return tuple(given.get(name, value) for name, value in usual.items())
