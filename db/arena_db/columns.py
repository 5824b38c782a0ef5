"""Columns and checks of the tables, valid for SQLite's strict tables and for PostgreSQL."""

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
    """Return the type of a 64-bit integer that can be an automatic row id in SQLite."""
    # SQLite assigns row ids only to a column of type INTEGER.
    return BigInteger().with_variant(Integer(), "sqlite")


def seconds() -> TypeEngine[float]:
    """Return the type of an eight-byte float, which a time in UTC seconds needs."""
    # REAL has four bytes on PostgreSQL, and SQLite's strict tables have no DOUBLE.
    double: Double[float] = Double()
    return double.with_variant(REAL(), "sqlite")


def words() -> TypeEngine[str]:
    """Return the type of a string that is compared byte by byte in every database."""
    bytewise = Text(collation="C")
    return bytewise.with_variant(Text(), "sqlite")


def integer(name: str) -> Column[int]:
    """Return a column of 32-bit integers."""
    return Column(name, Integer, nullable=False)


def text(name: str) -> Column[str]:
    """Return a column of strings."""
    return Column(name, words(), nullable=False)


def blob(name: str) -> Column[bytes]:
    """Return a column of bytes."""
    return Column(name, LargeBinary, nullable=False)


def tournament_key() -> Column[int]:
    """Return the first key column of tables that belong to a tournament."""
    return Column("tournament_id", big(), ForeignKey("tournaments.id"), nullable=False, primary_key=True)


def length(name: str, least: int, most: int) -> CheckConstraint:
    """Return a check of the number of characters of a string, or of bytes of a blob."""
    return CheckConstraint(f"length({name}) BETWEEN {least} AND {most}", name=f"{name}_length")


def one_of(name: str, values: tuple[str, ...]) -> CheckConstraint:
    """Return a check that limits a string to the names of an enum."""
    # SQLite builds a table for every IN list and row; a chain of comparisons stops at the first hit.
    return CheckConstraint(" OR ".join(f"{name} = '{value}'" for value in values), name=f"{name}_known")


def at_least(name: str, least: int) -> CheckConstraint:
    """Return a check that bounds a number from below."""
    return CheckConstraint(f"{name} >= {least}", name=f"{name}_least")


def flag(name: str) -> CheckConstraint:
    """Return a check that limits a number to 0 and 1."""
    return CheckConstraint(f"{name} IN (0, 1)", name=f"{name}_flag")


def two_seats() -> tuple[ForeignKeyConstraint, ForeignKeyConstraint, CheckConstraint]:
    """Return constraints that tie both seats of a match to different entrants of its tournament."""
    return (
        ForeignKeyConstraint(["tournament_id", "first_seat"], ["entrants.tournament_id", "entrants.seat"]),
        ForeignKeyConstraint(["tournament_id", "second_seat"], ["entrants.tournament_id", "entrants.seat"]),
        apart(),
    )


def apart() -> CheckConstraint:
    """Return a check that the two seats of a match differ."""
    return CheckConstraint("first_seat <> second_seat", name="two_seats")


def values_of(table: Table, row: Row[*tuple[Any, ...]]) -> dict[str, Any]:
    """Return the columns of a row of a table by name."""
    return {column.name: getattr(row, column.name) for column in table.c}


def partial_index(
    name: str, *indexed: Column[Any], where: ColumnElement[bool] | TextClause, unique: bool = False
) -> Index:
    """Return an index of only those rows of a table that meet a condition."""
    return Index(name, *indexed, unique=unique, sqlite_where=where)


@compiles(CreateIndex, "postgresql")
def _create_partial_index(element: CreateIndex, compiler: DDLCompiler, **options: Any) -> str:  # noqa: ANN401 - of SQLAlchemy
    """Compile a partial index for PostgreSQL, too.

    Declaring the condition with the table would import its dialect, 2 MB of memory in every process.
    """
    known = element.element.dialect_options
    known["postgresql"]["where"] = known["sqlite"]["where"]
    return compiler.visit_create_index(element, **options)  # pyright: ignore[reportUnknownMemberType] # SQLAlchemy leaves it open
