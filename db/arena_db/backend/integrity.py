"""Checks the database below a store: its schema and its pages."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.exc import DatabaseError

from arena_db.backend import server_schema
from arena_db.backend.sqlite import schema
from arena_db.errors import DamagedError
from arena_db.models import APPLICATION_ID, REVISION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import Connection

WAY_OUT: Final = "nothing was changed; `arena db restore BACKUP` takes a backup back"

_WHOLE_INDEXES: Final = (
    "SELECT name, tbl_name FROM sqlite_master WHERE type = 'index' AND ifnull(sql, '') NOT LIKE '% WHERE %'"
)
"""All indexes but the partial ones, which list fewer rows than their tables."""


def is_file(connection: Connection) -> bool:
    """Return whether a connection is to a file of SQLite."""
    return connection.dialect.name == "sqlite"


def driver_error(connection: Connection) -> type[Exception]:
    """Return the base class of the exceptions of a connection's driver."""
    driver: Any = connection.dialect.dbapi
    return driver.Error


def find_differing(connection: Connection) -> list[tuple[tuple[str, str], str]]:
    """Return kind and name of each part of the schema that differs from arena's, with a sentence."""
    if is_file(connection):
        raw: Any = connection.connection.driver_connection
        return schema.find_differing(raw, REVISION)
    return list(server_schema.find_differing(connection))


def find_faults(connection: Connection, *, quick: bool) -> Iterator[str]:
    """Yield a sentence for each fault of a file's header and pages; a server checks its own."""
    if is_file(connection):
        application_id = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        if application_id != APPLICATION_ID:
            yield f"the application id is {application_id:#x}, not {APPLICATION_ID:#x}"
    revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one()
    if revision != REVISION:
        yield f"the tables have revision {revision}, not {REVISION}"
    if is_file(connection):
        pragma = "quick_check" if quick else "integrity_check"
        for found in connection.exec_driver_sql(f"PRAGMA {pragma}").scalars():
            if found != "ok":
                yield f"SQLite finds: {found}"


def find_loose_references(connection: Connection, most: int) -> Iterator[str]:
    """Yield a sentence for each row with a dangling reference; a server rejects such rows."""
    if not is_file(connection):
        return
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(most):
        yield f"row {row} of {table} refers to a missing row of {parent}"


def mend_pages(connection: Connection, derived: Collection[str]) -> list[str]:
    """Rebuild the pages of all indexes if SQLite finds that they contradict their tables.

    Args:
        connection: to the store, in a transaction.
        derived: names of the tables whose rows can be computed again.

    Raises:
        DamagedError: other pages are damaged, or rows of other tables are lost.
    """
    if not is_file(connection) or _first_fault(connection) is None:
        return []
    # An index that is rebuilt forgets the rows that its table has lost, and nothing else may list them.
    for table, number in _lost_rows(connection):
        if table not in derived:
            raise DamagedError(
                f"{number} rows of {table} are lost, which an index still lists and nothing can rebuild;"
                f" {WAY_OUT}"
            )
    connection.exec_driver_sql("REINDEX")
    fault = _first_fault(connection)
    if fault is not None:
        raise DamagedError(f"SQLite finds: {fault}, which cannot be repaired; {WAY_OUT}")
    return ["the pages of all indexes are rebuilt"]


def _lost_rows(connection: Connection) -> Iterator[tuple[str, int]]:
    """Yield each table with fewer rows than one of its indexes, and the difference."""
    indexes = connection.exec_driver_sql(_WHOLE_INDEXES).all()
    listed: dict[str, int] = {}
    for index, table in indexes:
        # An index that cannot be read is rebuilt, and says nothing about its table.
        with suppress(DatabaseError):
            listed[table] = max(listed.get(table, 0), _num_rows(connection, table, f'INDEXED BY "{index}"'))
    for table, number in listed.items():
        lost = number - _num_rows(connection, table, "NOT INDEXED")
        if lost > 0:
            yield table, lost


def _num_rows(connection: Connection, table: str, way: str) -> int:
    # The names are those of the schema, which was compared with arena's before.
    statement = f'SELECT count(*) FROM "{table}" {way}'  # noqa: S608 # see above
    return int(connection.exec_driver_sql(statement).scalar_one())


def _first_fault(connection: Connection) -> str | None:
    text = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
    return None if text == "ok" else str(text)
