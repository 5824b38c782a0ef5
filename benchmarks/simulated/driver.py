"""Wraps apsw, whose file systems can be written in Python, in the interface of the store's SQLite driver."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import apsw

from arena_db.backend.sqlite.engine import Driver

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence


class Error(Exception):
    """An error, with the name of SQLite's result code."""

    def __init__(self, text: str, name: str = "") -> None:
        super().__init__(text)
        self.sqlite_errorname = name


class Warning(Exception):  # noqa: A001, N818 - the name the DB-API gives it
    """Never raised."""


class InterfaceError(Error):
    """Never raised."""


class DatabaseError(Error):
    """An error reported by the database."""


class OperationalError(DatabaseError):
    """An error that is not the fault of the statement."""


class IntegrityError(DatabaseError):
    """A constraint of the tables was violated."""


class Module:
    """Imitates the module `sqlite3`; its connections use one file system."""

    apilevel = "2.0"
    threadsafety = 1
    paramstyle = "qmark"
    Binary = bytes
    sqlite_version = apsw.sqlite_lib_version()
    sqlite_version_info = tuple(map(int, apsw.sqlite_lib_version().split(".")))
    Error, Warning = Error, Warning
    InterfaceError, DatabaseError, OperationalError = InterfaceError, DatabaseError, OperationalError
    IntegrityError, DataError, InternalError = IntegrityError, DatabaseError, DatabaseError
    ProgrammingError, NotSupportedError = DatabaseError, DatabaseError

    def __init__(self, vfs: str) -> None:
        self.vfs = vfs

    def connect(self, database: str, *, timeout: float, **_: object) -> Connection:
        """Open a database by its URI."""
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        with _translated():
            raw = apsw.Connection(database, flags=flags, vfs=self.vfs)
            raw.set_busy_timeout(round(timeout * 1000))
        return Connection(raw)


class Connection:
    """Imitates a connection of `sqlite3` without transactions of its own."""

    isolation_level = None

    def __init__(self, raw: apsw.Connection) -> None:
        self._raw = raw

    def cursor(self) -> Cursor:
        return Cursor(self._raw)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Cursor:
        return self.cursor().execute(sql, parameters)

    def commit(self) -> None:
        if self._raw.in_transaction:
            self.execute("COMMIT")

    def rollback(self) -> None:
        if self._raw.in_transaction:
            self.execute("ROLLBACK")

    def close(self) -> None:
        # SQLite reports no failure of a close; exceptions of the file system come through all the same.
        with suppress(apsw.Error):
            self._raw.close()

    def create_function(self, name: str, num: int, function: Callable[..., Any], **_: object) -> None:
        self._raw.create_scalar_function(name, function, num)  # pyright: ignore[reportUnknownMemberType] - typed for 3.12


class Cursor:
    """Imitates a cursor of `sqlite3`; reads all rows at once."""

    arraysize = 1

    def __init__(self, raw: apsw.Connection) -> None:
        self._raw = raw
        self._rows: Iterator[Any] = iter(())
        self.description: tuple[tuple[Any, ...], ...] | None = None
        self.rowcount = -1
        self.lastrowid = 0

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Cursor:
        self.rowcount = self._run(sql, parameters)
        return self

    def executemany(self, sql: str, many: Iterable[Sequence[Any]]) -> Cursor:
        self.rowcount = sum(self._run(sql, parameters) for parameters in many)
        return self

    def fetchone(self) -> Any:  # noqa: ANN401 - a row of any columns
        return next(self._rows, None)

    def fetchmany(self, size: int = 1) -> list[Any]:
        return [row for row, _ in zip(self._rows, range(size), strict=False)]

    def fetchall(self) -> list[Any]:
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows

    def close(self) -> None:
        self._rows = iter(())

    def _run(self, sql: str, parameters: Sequence[Any]) -> int:
        with _translated():
            cursor = self._raw.cursor()
            # apsw reports no columns of a finished statement, so they are recorded before its first row.
            cursor.exec_trace = self._note
            before = self._raw.total_changes()
            self._rows = iter(list(cursor.execute(sql, tuple(parameters))))  # pyright: ignore[reportUnknownMemberType] - as above
            self.lastrowid = self._raw.last_insert_rowid()
            return self._raw.total_changes() - before

    def _note(self, cursor: apsw.Cursor, _sql: str, _parameters: object) -> bool:
        columns = cursor.get_description()
        self.description = tuple((name, None, None, None, None, None, None) for name, *_ in columns) or None
        return True


def driver(vfs: str) -> Driver:
    """Return the driver of the store for a file system."""
    return Driver(module=Module(vfs), single_writer=False)


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except apsw.Error as error:
        codes: dict[int, str] = apsw.mapping_extended_result_codes | apsw.mapping_result_codes  # type: ignore[operator]
        name = codes.get(getattr(error, "extendedresult", 0)) or codes.get(getattr(error, "result", 0), "")
        kind = IntegrityError if isinstance(error, apsw.ConstraintError) else OperationalError
        raise kind(str(error), name) from error
