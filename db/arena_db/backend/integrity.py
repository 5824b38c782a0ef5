"""Checks the database below a store: its schema, in a file or on a server, and its pages."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, UniqueConstraint, text
from sqlalchemy.exc import DatabaseError

from arena_db.backend.sqlite import schema
from arena_db.errors import DamagedError
from arena_db.models import APPLICATION_ID, REVISION
from arena_db.naming import metadata

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import Connection, Table

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
    return list(_differing_on_server(connection))


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
    # At most one fault is looked for: a damaged file may have thousands, and one is enough to refuse it.
    text = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
    return None if text == "ok" else str(text)


Key: TypeAlias = tuple[str, str]
"""Kind and name of a part of the schema."""

_OF_ALEMBIC: Final = "alembic_version"
# Without sequences (S), row types (c) and TOAST tables (t), which come with their tables, and without indexes
# (i, I), which are listed below with their validity.
_FOUND: Final = text(
    """
SELECT 'table' AS kind, relname::text AS name, relkind::text AS detail FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind NOT IN ('i', 'S', 'c', 't', 'I')
UNION ALL
SELECT 'column', c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod)
    || CASE WHEN a.atttypid = 'text'::regtype THEN ' COLLATE "' || o.collname || '"' ELSE '' END
    || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
LEFT JOIN pg_collation o ON o.oid = a.attcollation
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'rule', n.conname::text, CASE WHEN n.convalidated THEN 'valid' ELSE 'not checked' END
FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid
WHERE n.connamespace = 'public'::regnamespace AND n.contype IN ('c', 'f', 'u', 'p', 'x')
UNION ALL
SELECT 'index', c.relname::text, CASE WHEN i.indisvalid THEN 'valid' ELSE 'not valid' END
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relnamespace = 'public'::regnamespace
AND NOT EXISTS (SELECT 1 FROM pg_constraint n WHERE n.conindid = c.oid)
UNION ALL
SELECT 'trigger', t.tgname::text, '' FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal
UNION ALL
SELECT 'rewrite rule', r.rulename::text, '' FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
"""
)


def _differing_on_server(connection: Connection) -> Iterator[tuple[Key, str]]:
    """Yield kind and name of each part of the schema that is missing, foreign or different.

    Tables come first, because a fault of an index often follows from its table.
    """
    found = {(row.kind, row.name): row.detail for row in connection.execute(_FOUND)}
    wanted = dict(_wanted(connection))
    for key in sorted(found.keys() | wanted.keys(), key=lambda key: (_KINDS.index(key[0]), key)):
        what = f"the {key[0]} {key[1]}"
        if _OF_ALEMBIC in key[1]:
            continue
        if key not in wanted:
            yield key, f"{what} is not one of arena's"
        elif key not in found:
            yield key, f"{what} is missing"
        elif found[key] != wanted[key]:
            yield key, f"{what} differs from arena's: it is {found[key]}, not {wanted[key]}"


_KINDS: Final = ("table", "column", "rule", "index", "trigger", "rewrite rule")


def _wanted(connection: Connection) -> Iterator[tuple[Key, str]]:
    for table in metadata.sorted_tables:
        yield ("table", table.name), "r"
        for column in table.c:
            shown = column.type.compile(connection.dialect)
            shown = shown.replace("TEXT", "text") if "COLLATE" in shown else shown.lower()
            yield ("column", f"{table.name}.{column.name}"), shown + ("" if column.nullable else " NOT NULL")
        yield from _rules(table)
        for index in table.indexes:
            yield ("index", str(index.name)), "valid"


def _rules(table: Table) -> Iterator[tuple[Key, str]]:
    yield ("rule", str(table.primary_key.name)), "valid"
    for rule in table.constraints:
        if isinstance(rule, CheckConstraint | ForeignKeyConstraint | UniqueConstraint):
            yield ("rule", str(rule.name)), "valid"
