"""Columns and checks the tables are made of, good for SQLite's strict tables and for PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    REAL,
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex

if TYPE_CHECKING:
    from sqlalchemy import Row, Table
    from sqlalchemy.sql.compiler import DDLCompiler
    from sqlalchemy.sql.elements import ColumnElement, TextClause
    from sqlalchemy.types import TypeEngine


def big() -> TypeEngine[int]:
    """Return a 64-bit integer that SQLite can number rows by."""
    # SQLite numbers rows by itself only in a column of type INTEGER.
    return BigInteger().with_variant(Integer(), "sqlite")


def seconds() -> TypeEngine[float]:
    """Return the type of a float with eight bytes, which a time in UTC seconds needs."""
    # REAL has four bytes on PostgreSQL, and a strict table knows no DOUBLE.
    double: Double[float] = Double()
    return double.with_variant(REAL(), "sqlite")


def words() -> TypeEngine[str]:
    """Return the type of a text, which is compared byte by byte everywhere."""
    bytewise = Text(collation="C")
    return bytewise.with_variant(Text(), "sqlite")


def integer(name: str) -> Column[int]:
    """Return a column of a 32-bit integer."""
    return Column(name, Integer, nullable=False)


def text(name: str) -> Column[str]:
    """Return a column of text."""
    return Column(name, words(), nullable=False)


def blob(name: str) -> Column[bytes]:
    """Return a column of bytes."""
    return Column(name, LargeBinary, nullable=False)


def tournament_key() -> Column[int]:
    """Return the column that starts the key of what belongs to a tournament."""
    return Column("tournament_id", big(), ForeignKey("tournaments.id"), nullable=False, primary_key=True)


def length(name: str, least: int, most: int) -> CheckConstraint:
    """Bound the characters of a text, or the bytes of a blob."""
    return CheckConstraint(f"length({name}) BETWEEN {least} AND {most}", name=f"{name}_length")


def one_of(name: str, values: tuple[str, ...]) -> CheckConstraint:
    """Bound a text to the names of an enum."""
    # SQLite builds a table for every IN list and row; a chain ends at the first hit.
    return CheckConstraint(" OR ".join(f"{name} = '{value}'" for value in values), name=f"{name}_known")


def at_least(name: str, least: int) -> CheckConstraint:
    """Bound a number from below."""
    return CheckConstraint(f"{name} >= {least}", name=f"{name}_least")


def flag(name: str) -> CheckConstraint:
    """Bound a number to 0 and 1."""
    return CheckConstraint(f"{name} IN (0, 1)", name=f"{name}_flag")


def two_seats() -> tuple[ForeignKeyConstraint, ForeignKeyConstraint, CheckConstraint]:
    """Tie the two seats of a match to entrants of its tournament, and keep them apart."""
    return (
        ForeignKeyConstraint(["tournament_id", "first_seat"], ["entrants.tournament_id", "entrants.seat"]),
        ForeignKeyConstraint(["tournament_id", "second_seat"], ["entrants.tournament_id", "entrants.seat"]),
        apart(),
    )


def apart() -> CheckConstraint:
    """Keep the two seats of a match apart."""
    return CheckConstraint("first_seat <> second_seat", name="two_seats")


def values_of(table: Table, row: Row[*tuple[Any, ...]]) -> dict[str, Any]:
    """Return the columns of a row of a table by name."""
    return {column.name: getattr(row, column.name) for column in table.c}


def partial_index(
    name: str, *indexed: Column[Any], where: ColumnElement[bool] | TextClause, unique: bool = False
) -> Index:
    """Return an index of some rows of a table alone."""
    return Index(name, *indexed, unique=unique, sqlite_where=where)


@compiles(CreateIndex, "postgresql")
def _create_partial_index(element: CreateIndex, compiler: DDLCompiler, **options: Any) -> str:  # noqa: ANN401 - of SQLAlchemy
    """Tell PostgreSQL of the rows as well; told with the table, its dialect would take 2 MB of everybody."""
    known = element.element.dialect_options
    known["postgresql"]["where"] = known["sqlite"]["where"]
    return compiler.visit_create_index(element, **options)  # pyright: ignore[reportUnknownMemberType] # SQLAlchemy leaves it open
