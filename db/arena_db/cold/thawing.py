"""Reads cold matches with the queries for stored ones.

The rows of a cold tournament are loaded from their files into temporary tables of one connection. Both
databases find temporary tables first, so they hide the stored tables of the same names: on that connection
the tournament is as if it were stored, and no other tournament has matches.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import insert, select
from sqlalchemy.schema import CreateIndex, CreateTable

from arena_db.cold import archive
from arena_db.cold.parquet import read_numbers
from arena_db.cold_tables import cold_tournaments
from arena_db.dialects import driver_text
from arena_db.errors import DamagedError, RefusedError
from arena_db.models import matches, tournaments

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from sqlalchemy import Connection, Row, Table

PUT_BACK: Final = "put back a copy of the folder"
"""What to do if the files of a cold tournament are missing or damaged, for messages."""
_HIDDEN: Final = (*archive.TABLES, cold_tournaments)
"""Tables that temporary ones hide; with the last one empty, the tournament does not look cold."""
_AT_ONCE: Final = 5_000
"""Rows inserted by one call of the driver: a tournament of a million matches need not fit into memory."""


class ColdTournament(NamedTuple):
    """A tournament whose matches are in files."""

    id: int
    name: str
    folder: Path
    """Absolute path of its files."""
    manifest_hash: bytes
    num_matches: int
    first_match: int
    """Lowest id of a match."""
    last_match: int


def list_cold(connection: Connection) -> list[ColdTournament]:
    """Return all cold tournaments, by id."""
    rows = connection.execute(_ALL.order_by(cold_tournaments.c.tournament_id)).all()
    return [_cold(connection, row) for row in rows]


def find_cold(connection: Connection, key: int | str) -> ColdTournament | None:
    """Return the cold tournament with this id or name; None if there is none, or its matches are stored."""
    column = tournaments.c.name if isinstance(key, str) else cold_tournaments.c.tournament_id
    row = connection.execute(_ALL.where(column == key)).first()
    return None if row is None else _cold(connection, row)


def require_warm(connection: Connection, tournament: int) -> None:
    """Check that the matches of a tournament are stored.

    Raises:
        RefusedError: they are in files; the text says how to store them again.
    """
    found = find_cold(connection, tournament)
    if found is not None:
        raise RefusedError(told_cold(found.name))


def missing_match(connection: Connection, number: int) -> RefusedError:
    """Return the error for a match that is not stored: it is in files, or there is none."""
    for cold in list_cold(connection):
        if holds(cold, [number]):
            return RefusedError(told_cold(cold.name))
    return RefusedError(f"there is no match #{number}")


def told_cold(name: str) -> str:
    """Return the message that refuses an operation because the matches of a tournament are in files."""
    return f"the matches of {name} are in archived files; arena unarchive {name} brings them back first"


def holds(cold: ColdTournament, numbers: Sequence[int]) -> bool:
    """Return whether some of these ids are of matches of a cold tournament; reads one column of one file.

    Raises:
        DamagedError: its files are missing or damaged.
    """
    # Ids of a tournament are close together, so this saves opening nearly all files.
    near = {number for number in numbers if cold.first_match <= number <= cold.last_match}
    with told_damage(cold):
        return bool(near) and not near.isdisjoint(read_numbers(archive.file_of(cold.folder, matches), "id"))


@contextmanager
def thawed(connection: Connection, cold: ColdTournament) -> Generator[None]:
    """Hide the stored tables behind the rows of a cold tournament within a `with` block.

    Raises:
        DamagedError: its files are missing or damaged.
        UnsupportedError: pyarrow is not installed.
    """
    try:
        load(connection, cold)
        yield
    finally:
        _keep_plans(connection, after=_PLANNED_AFTER)
        for table in _HIDDEN:
            # With its schema: without a temporary table, the bare name would be that of the stored one.
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {_temporary(connection)}.{table.name}")


def load(connection: Connection, cold: ColdTournament) -> None:
    """Fill temporary tables with the rows of a cold tournament; they stay until the connection is closed.

    Raises:
        DamagedError: its files are missing or damaged.
        UnsupportedError: pyarrow is not installed.
    """
    with told_damage(cold):
        # The store keeps the hash of the manifest, and the manifest those of the files: none can be
        # exchanged.
        manifest, manifest_hash = archive.read_manifest(cold.folder)
        if manifest_hash != cold.manifest_hash:
            raise DamagedError(f"{cold.folder / archive.MANIFEST} is not as it was written")
        _keep_plans(connection, after=None)
        for table in _HIDDEN:
            # Without foreign keys: those of a temporary table refer to temporary tables, most of which do not
            # exist.
            # A connection that may only read the store may do this: temporary tables are not part of it.
            made = CreateTable(table, include_foreign_key_constraints=[]).compile(connection)
            connection.exec_driver_sql(str(made).replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
        for table in archive.TABLES:
            insert_rows(connection, table, archive.rows_in(cold.folder, manifest, table))
            # After the rows: building an index at once is faster than extending it row by row.
            for index in sorted(table.indexes, key=lambda index: str(index.name)):
                connection.execute(CreateIndex(index))


def _keep_plans(connection: Connection, *, after: int | None) -> None:
    """Have a PostgreSQL server keep the plan of a statement after so many executions; None for never.

    A kept plan reads the table that its name meant when it was made: it would read the stored table behind a
    temporary one. So a merge of many tournaments copied cold ones without their matches.
    """
    if connection.dialect.name == "postgresql":
        raw: Any = connection.connection.driver_connection
        raw.prepare_threshold = after


def insert_rows(connection: Connection, table: Table, rows: Iterable[Sequence[Any]]) -> int:
    """Insert rows with all their columns, quickly; return how many."""
    # A bare name means the temporary table if there is one, so this fills those of `load`, too.
    names = [column.name for column in table.c]
    if connection.dialect.name == "postgresql":
        num = 0
        raw: Any = connection.connection.driver_connection
        with (
            raw.cursor() as cursor,
            cursor.copy(f"COPY {table.name} ({', '.join(names)}) FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)
                num += 1
        return num
    statement = driver_text(insert(table), connection.dialect.name, names)
    num = 0
    block: list[Sequence[Any]] = []
    for row in rows:
        block.append(row)
        if len(block) == _AT_ONCE:
            num += connection.exec_driver_sql(statement, block).rowcount
            block.clear()
    return num + (connection.exec_driver_sql(statement, block).rowcount if block else 0)


@contextmanager
def told_damage(cold: ColdTournament) -> Generator[None]:
    """Name the tournament, and what helps, in errors about its files.

    Raises:
        DamagedError: in place of one without.
    """
    try:
        yield
    except DamagedError as error:
        raise DamagedError(
            f"the archived matches of {cold.name} cannot be read: {error}; {PUT_BACK} {cold.folder}; other "
            "tournaments are not affected"
        ) from error


def base_of(connection: Connection) -> Path | None:
    """Return the folder of the store; None if it is on a server."""
    if connection.dialect.name != "sqlite":
        return None
    file: str = connection.exec_driver_sql("PRAGMA database_list").all()[0][2]
    return Path(file).parent


_PLANNED_AFTER: Final = 5
"""The default of psycopg."""
_ALL: Final = select(
    cold_tournaments.c.tournament_id,
    tournaments.c.name,
    *(cold_tournaments.c[name] for name in ("folder", *ColdTournament._fields[3:])),
).join_from(cold_tournaments, tournaments)


def _cold(connection: Connection, row: Row[*tuple[Any, ...]]) -> ColdTournament:
    number, name, folder, *rest = row
    base = base_of(connection)
    # Joining an absolute path leaves that path.
    return ColdTournament(number, name, Path(folder) if base is None else base / folder, *rest)


def _temporary(connection: Connection) -> str:
    return "temp" if connection.dialect.name == "sqlite" else "pg_temp"
