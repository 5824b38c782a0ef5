"""Compares the tables of a database on a server with arena's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, UniqueConstraint, text

from arena_db.naming import metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Table

Key: TypeAlias = tuple[str, str]
"""Kind and name of a part of the schema."""

_OF_ALEMBIC: Final = "alembic_version"
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


def find_differing(connection: Connection) -> Iterator[tuple[Key, str]]:
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
