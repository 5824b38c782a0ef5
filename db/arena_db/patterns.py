"""The patterns of `arena_db.wild` as conditions of a query."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlalchemy import Boolean, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from arena_db.wild import glob, is_wild

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement
    from sqlalchemy.sql.compiler import SQLCompiler


class _Like(FunctionElement[bool]):
    """SQL function of a text, a pattern for SQLite, and a regular expression for PostgreSQL."""

    type = Boolean()
    inherit_cache = True


@compiles(_Like)
def _of_sqlite(element: _Like, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - of SQLAlchemy
    text, pattern, _ = element.clauses
    return f"{compiler.process(text, **options)} GLOB {compiler.process(pattern, **options)}"


@compiles(_Like, "postgresql")
def _of_postgresql(element: _Like, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - of SQLAlchemy
    text, _, pattern = element.clauses
    return f"{compiler.process(text, **options)} ~ {compiler.process(pattern, **options)}"


def like(column: ColumnElement[str], wanted: str) -> ColumnElement[bool]:
    """Return whether a text matches a pattern, in which only `*` and `?` are special."""
    return _Like(column, literal(glob(wanted)), literal(expression(wanted)))


def fits(column: ColumnElement[str], wanted: str) -> ColumnElement[bool]:
    """Return whether a text is the wanted one, or matches it if that is a pattern."""
    return like(column, wanted) if is_wild(wanted) else column == wanted


def expression(wanted: str) -> str:
    """Return a regular expression of PostgreSQL that matches a whole text."""
    # A leading `***:` or `(?` would be a directive in PostgreSQL; after the anchor it is not.
    parts = (".*" if part == "*" else "." if part == "?" else _escaped(part) for part in wanted)
    return f"^{''.join(parts)}$"


def _escaped(character: str) -> str:
    return re.sub(r"[][.*+?(){}|^$\\]", r"\\\g<0>", character)
