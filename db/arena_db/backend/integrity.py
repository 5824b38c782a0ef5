"""Checks the database below a store: its schema, in a file or on a server, and its pages."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, NullPool, UniqueConstraint, create_engine, text
from sqlalchemy.exc import DatabaseError

from arena_db.backend.sqlite.engine import find_driver
from arena_db.errors import AlteredError, DamagedError
from arena_db.models import APPLICATION_ID, REVISION, create
from arena_db.naming import metadata

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

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
        return _differing_in_file(raw, REVISION)
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
    text = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
    return None if text == "ok" else str(text)


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


# SQLite executes the text of a row when it loads the schema, whatever its `type` says, so check the text.
# None of arena's own texts contains the word VIRTUAL, which virtual tables and generated columns need.
_FOREIGN: Final = """
SELECT coalesce(type, ''), coalesce(name, '') FROM sqlite_master
WHERE coalesce(sql LIKE '%virtual%', 0) OR NOT CASE type
    WHEN 'table' THEN coalesce(sql LIKE 'CREATE TABLE %', 0)
    WHEN 'index' THEN sql IS NULL OR sql LIKE 'CREATE INDEX %' OR sql LIKE 'CREATE UNIQUE INDEX %'
    ELSE 0 END
LIMIT 1"""

_MOST_OBJECTS: Final = 1000
"""Maximum number of objects of a schema that are read; a hostile file could claim millions."""
_LONGEST: Final = 1 << 16
"""Maximum number of characters of an object's text that are read."""
_SHOWN: Final = 120
"""Maximum number of characters of a name or a difference in a message."""
_OF_SQLITE: Final = re.compile(r"sqlite_(sequence|stat[1-4])\Z")
"""Tables that SQLite creates by itself, for AUTOINCREMENT and ANALYZE."""
_TOKEN: Final = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*` | \[[^\]]*\] | [\w$]+ | \s+ | .""", re.VERBOSE | re.DOTALL
)
_PLAIN_NAME: Final = re.compile(r'"([a-z_][a-z0-9_]*)"\Z')
"""A quoted name that means the same without quotation marks; keywords are in capitals."""
_CONSTRAINTS: Final = frozenset({"CONSTRAINT", "CHECK", "FOREIGN", "PRIMARY", "UNIQUE"})


class _Shape(NamedTuple):
    """The parsed text of a table or an index, independent of its formatting."""

    frame: tuple[str, ...]
    """The parts before and behind the outer brackets."""
    columns: tuple[str, ...]
    """In order, which defines their numbers."""
    constraints: tuple[str, ...]
    """Sorted: a migration may write them in another order, which means the same."""


def refuse_code(raw: Any, path: Path) -> None:  # noqa: ANN401 — a connection of one of two libraries
    """Refuse a store whose schema has more than tables and indexes: later statements would run that code.

    Only the schema is read; it takes some 20 microseconds.

    Raises:
        AlteredError: there is a trigger, a view, a virtual table or a generated column.
    """
    row = raw.execute(_FOREIGN).fetchone()
    if row is not None:
        kind, name = (_shown(str(part)) for part in row)
        raise AlteredError(
            f"{path} contains the {kind} {name}, which arena does not create: its statements could change "
            "what is stored or read; nothing was changed; remove it with an SQLite tool, or use a backup "
            "without it"
        )


def find_differences(raw: Any, revision: str) -> list[str]:  # noqa: ANN401 — see above
    """Return one sentence per table or index that differs; see `_differing_in_file`."""
    return [text for _, text in _differing_in_file(raw, revision)]


def _differing_in_file(raw: Any, revision: str) -> list[tuple[tuple[str, str], str]]:  # noqa: ANN401 — see above
    """Compare the schema of a driver's connection with a new one of the same revision.

    No table but `sqlite_master` is read, so no code of a foreign schema is run.

    Args:
        raw: a connection of the driver.
        revision: one that this version has migrations for.

    Returns:
        Type and name of each table or index that is missing, foreign or different, and a sentence that says
            which it is.
    """
    query = "SELECT type, name, tbl_name, substr(sql, 1, ?) FROM sqlite_master LIMIT ?"
    found = _shapes(raw.execute(query, (_LONGEST, _MOST_OBJECTS)).fetchall())
    return list(_compare(found, _fresh(revision)))


def _compare(
    found: dict[tuple[str, str], _Shape], wanted: dict[tuple[str, str], _Shape]
) -> Iterator[tuple[tuple[str, str], str]]:
    # Tables first, because a fault of an index often follows from its table.
    for key in sorted(found.keys() | wanted.keys(), key=lambda key: (key[0] != "table", *key)):
        what = f"the {_shown(key[0])} {_shown(key[1])}"
        if key not in wanted:
            yield key, f"{what} is not one of arena's"
        elif key not in found:
            yield key, f"{what} is missing"
        elif found[key] != wanted[key]:
            yield key, f"{what} differs from arena's: {_difference(found[key], wanted[key])}"


def _difference(found: _Shape, wanted: _Shape) -> str:
    """Return a phrase for the first part that only one of two shapes has."""
    mine = [part for parts in wanted for part in parts]
    theirs = [part for parts in found for part in parts]
    for word, parts, others in (("has", theirs, mine), ("lacks", mine, theirs)):
        for part in parts:
            if parts.count(part) > others.count(part):
                return f"it {word} {_shown(part)}"
    return "its columns have another order"


@cache
def _fresh(revision: str) -> dict[tuple[str, str], _Shape]:
    """Return the schema of a new store of a revision, created in memory."""
    engine = create_engine("sqlite+pysqlite://", module=find_driver().module, poolclass=NullPool)
    with engine.connect() as connection, connection.begin():
        _make(connection, revision)
        rows = connection.exec_driver_sql("SELECT type, name, tbl_name, sql FROM sqlite_master")
        return _shapes(rows.fetchall())


def _make(connection: Connection, revision: str) -> None:
    if revision == REVISION:
        create(connection)
    else:
        # Imported here: importing Alembic takes longer than opening a store.
        from arena_db.migrate import upgrade

        upgrade(connection, revision)


def _shapes(rows: Iterable[Any]) -> dict[tuple[str, str], _Shape]:
    """Return the shapes of the objects of a schema, by type and name."""
    shapes: dict[tuple[str, str], _Shape] = {}
    for kind, name, table, sql in rows:
        if kind != "table" or not _OF_SQLITE.match(str(name)):
            shapes[str(kind), str(name)] = _shape(str(table), "" if sql is None else str(sql), kind)
    return shapes


def _shape(table: str, sql: str, kind: str) -> _Shape:
    tokens = [token for token in _TOKEN.findall(sql) if not token.isspace()]
    tokens = [_PLAIN_NAME.sub(r"\1", token) for token in tokens]
    if kind != "table" or "(" not in tokens:
        return _Shape((table, *tokens), (), ())
    start = tokens.index("(")
    parts, rest = _split(tokens[start + 1 :])
    texts = [" ".join(part) for part in parts]
    is_constraint = [bool(part) and part[0] in _CONSTRAINTS for part in parts]
    return _Shape(
        (table, *tokens[:start], *rest),
        tuple(text for text, other in zip(texts, is_constraint, strict=True) if not other),
        tuple(sorted(text for text, other in zip(texts, is_constraint, strict=True) if other)),
    )


def _split(words: list[str]) -> tuple[list[list[str]], list[str]]:
    """Return the parts between the outermost commas up to the closing bracket, and the tokens after it."""
    parts: list[list[str]] = [[]]
    depth = 0
    for index, word in enumerate(words):
        if word == ")" and depth == 0:
            return parts, words[index + 1 :]
        depth += (word == "(") - (word == ")")
        if word == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts, []


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
