"""Compares the schema of a store with a new schema of its revision."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import NullPool, create_engine

from arena_db.backend.sqlite.engine import find_driver
from arena_db.errors import AlteredError
from arena_db.models import REVISION, create

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

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
    """The columns in order, which defines their numbers."""
    constraints: tuple[str, ...]
    """The constraints, sorted: a migration may write them in another order, which means the same."""


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
    """Return one sentence per table or index that differs; see `find_differing`."""
    return [text for _, text in find_differing(raw, revision)]


def find_differing(raw: Any, revision: str) -> list[tuple[tuple[str, str], str]]:  # noqa: ANN401 — see above
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


@lru_cache(maxsize=128)
def _shape(table: str, sql: str, kind: str) -> _Shape:
    """Return the shape of an object; those of a sound store and of a new one have the same texts."""
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
