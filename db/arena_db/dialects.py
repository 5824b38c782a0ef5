"""Statements as the driver of a database takes them, made once and run with tuples by the thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Table
    from sqlalchemy.sql.expression import ClauseElement

_MODULES: Final = {"sqlite": sqlite, "postgresql": postgresql}


def upsert(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    """Return an insert that can tell what to do with a row that is there already."""
    return _MODULES[dialect].insert(table)


def driver_text(statement: ClauseElement, dialect: str, columns: Sequence[str] | None = None) -> str:
    """Return the text of a statement; an insert or update takes the values of `columns`."""
    options: dict[str, Any] = {"render_postcompile": True}
    compiled = statement.compile(
        dialect=_MODULES[dialect].dialect(), column_keys=columns, compile_kwargs=options
    )
    return str(compiled)


def driver_text_with_values(statement: ClauseElement, dialect: str) -> tuple[str, tuple[Any, ...]]:
    """Return the text of a query with the values it was made with, in the order of their places."""
    options: dict[str, Any] = {"render_postcompile": True}
    compiled: Any = statement.compile(dialect=_MODULES[dialect].dialect(), compile_kwargs=options)
    return str(compiled), tuple(compiled.params[name] for name in compiled.positiontup)
