"""Stores many rows at once in a database on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection, Table

LEAST: Final = 20
"""Number of rows from which COPY is worth its three statements."""


def is_many(rows: Sequence[object]) -> bool:
    """Return whether `copy_new` stores these rows faster than single inserts."""
    return len(rows) >= LEAST


def copy(connection: Connection, table: Table, names: Sequence[str], rows: Iterable[Any]) -> None:
    """Insert rows of a table; one that is there already is an error.

    Args:
        connection: holds the write lock.
        table: the table.
        names: names of columns, in the order of the values.
        rows: tuples of values.
    """
    raw: Any = connection.connection.driver_connection
    with raw.cursor() as cursor:
        _send(cursor, table.name, names, rows)


def copy_new(connection: Connection, table: Table, names: Sequence[str], rows: Sequence[Any]) -> int:
    """Insert those rows of a table that are not there yet, in their order; return how many.

    They are sent by COPY into a temporary table: row by row they take several times as long.

    Args:
        connection: holds the write lock.
        table: its key is a sequence number assigned to each row.
        names: names of columns, in the order of the values.
        rows: tuples of values.
    """
    raw: Any = connection.connection.driver_connection
    told, into = ", ".join(names), f"new_{table.name}"
    with raw.cursor() as cursor:
        cursor.execute(
            f"CREATE TEMP TABLE IF NOT EXISTS {into} ON COMMIT DELETE ROWS "  # noqa: S608 - our own names
            f"AS SELECT 0::bigint AS place, {told} FROM {table.name} LIMIT 0"
        )
        _send(cursor, into, ["place", *names], ((place, *row) for place, row in enumerate(rows)))
        cursor.execute(
            f"INSERT INTO {table.name} ({told}) SELECT {told} FROM {into} "  # noqa: S608 - our own names
            f"ORDER BY place ON CONFLICT DO NOTHING"
        )
        num: int = cursor.rowcount
        # Another batch may follow in this transaction.
        cursor.execute(f"DELETE FROM {into}")  # noqa: S608 - our own names
    return num


def _send(cursor: Any, table: str, names: Sequence[str], rows: Iterable[Any]) -> None:  # noqa: ANN401 - of psycopg
    with cursor.copy(f"COPY {table} ({', '.join(names)}) FROM STDIN") as stream:
        for row in rows:
            stream.write_row(row)


def go_on_after(connection: Connection, table: Table) -> None:
    """Set the sequence of a table to continue after the highest id inserted explicitly."""
    given = f"pg_get_serial_sequence('{table.name}', 'id')"
    # The sequence never goes back: an id is not reused, even if its row is gone.
    connection.exec_driver_sql(
        f"SELECT setval({given}, greatest(coalesce(max(id), 1), nextval({given}))) FROM {table.name}"  # noqa: S608 - our own name
    )
