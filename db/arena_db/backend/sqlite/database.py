"""The backend of a store in a file of SQLite."""

from __future__ import annotations

import errno
import os
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from arena_db.backend.held import one_snapshot
from arena_db.backend.sqlite.backup import copy_to
from arena_db.backend.sqlite.engine import (
    make_engine,
    make_migration_engine,
    open_raw,
    writer_lock,
    writing,
)
from arena_db.backend.sqlite.log import Log
from arena_db.backend.sqlite.place import StorePlace
from arena_db.backend.sqlite.spool import Spool
from arena_db.errors import AccessError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from sqlalchemy import Connection, PoolProxiedConnection

    from arena_db.backend.settings import StoreSettings
    from arena_db.backend.sqlite.engine import FileSettings

_ASKED_EVERY: Final = 100_000
"""Number of instructions of SQLite's virtual machine, about a millisecond, between two calls of
`is_wanted`."""


class SqliteBackend:
    """A store in a file; see `Backend`."""

    def __init__(self, settings: FileSettings) -> None:
        """Prepare connections to a store that `prepare` has prepared."""
        self._settings = settings
        self._place = StorePlace(settings.place)
        self._raws: dict[int, Any] = {}
        self._log = Log(settings)
        self.engine = make_engine(settings, self._place.check, self._raws)
        self.driver_error: type[Exception] = settings.driver.module.Error
        self.spool = Spool(settings.place)

    def close(self) -> None:
        """Close all connections; closing the last one on a store checkpoints its write-ahead log."""
        with writer_lock(self._settings):
            self.engine.dispose()

    def writing(self, settings: StoreSettings, *, alone: bool) -> AbstractContextManager[Connection]:
        """Acquire the one write lock of the file."""
        del alone
        return writing(self.engine, self._own(settings), self._log.tend)

    @contextmanager
    def removing(self, settings: StoreSettings) -> Generator[Connection]:
        """Write without foreign keys: for each deleted match SQLite would scan whole tables."""
        engine = make_migration_engine(self._settings)
        try:
            with writing(engine, self._own(settings), self._log.tend) as connection:
                yield connection
        finally:
            engine.dispose()

    @contextmanager
    def reading(
        self, is_wanted: Callable[[], bool] | None, held: Connection | None = None
    ) -> Generator[Connection]:
        """Read in a transaction; SQLite asks now and then whether the query is still wanted.

        `interrupt` alone would not do: it ends the statement that runs, but one that begins just afterwards
        in another thread would run to its end.
        """
        with self.engine.connect() if held is None else one_snapshot(held) as connection:
            if self._settings.read_only:
                raw: Any = connection.connection.driver_connection
                handler = None if is_wanted is None else lambda: not is_wanted()
                raw.set_progress_handler(handler, _ASKED_EVERY)
            yield connection

    def watcher(self) -> PoolProxiedConnection:
        """Open a connection: SQLite counts the commits of others per connection."""
        return self.engine.raw_connection()

    @contextmanager
    def looking(self, raw: Any) -> Generator[None]:  # noqa: ANN401 - one of two libraries
        """Read in a transaction."""
        raw.execute("BEGIN")
        try:
            yield
        finally:
            # An error may have ended the transaction.
            if raw.in_transaction:
                raw.execute("COMMIT")

    @contextmanager
    def beside(self, busy_ms: int) -> Generator[Any]:
        """Open a connection for this write only, without a sync and without a checkpoint."""
        settings = replace(self._settings, read_only=False, fast=True, busy_ms=busy_ms)
        with writer_lock(settings), closing(open_raw(settings)) as raw:
            raw.execute("PRAGMA wal_autocheckpoint=0").fetchall()
            raw.execute("BEGIN IMMEDIATE")
            yield raw
            raw.execute("COMMIT")

    def data_version(self, raw: Any) -> int:  # noqa: ANN401 - see above
        """Return SQLite's count of the commits of others, kept per connection."""
        return int(raw.execute("PRAGMA data_version").fetchall()[0][0])

    def interrupt(self) -> None:
        """Interrupt the running queries."""
        for raw in list(self._raws.values()):
            # A connection that is being closed has no query to interrupt.
            with suppress(self._settings.driver.module.ProgrammingError):
                raw.interrupt()

    def check_readable(self) -> None:
        """Check that the file has its name and is readable.

        Raises:
            MovedError: it was removed, moved or replaced.
            AccessError: it is not readable any more.
        """
        self._place.check()
        if not os.access(self._settings.place, os.R_OK):
            denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            raise AccessError(
                f"{self._settings.place} is not readable for you; check its permissions"
            ) from denied

    def check_place(self) -> None:
        """Check that the file still has its name.

        Raises:
            MovedError: it was removed, moved or replaced.
        """
        self._place.check()

    def hold_place(self) -> None:
        """From now on check the files of the log, too.

        Raises:
            MovedError: the file is not the one that was opened.
        """
        self._place.hold()

    def take_warnings(self) -> list[str]:
        """Return warnings about the log."""
        return self._log.take_warnings()

    def backup(self, target: Path) -> None:
        """Copy the file.

        Raises:
            TakenError: the target exists.
            DamagedError: the copy does not pass SQLite's check.
        """
        copy_to(self._settings, target)

    def _own(self, settings: StoreSettings) -> FileSettings:
        return replace(self._settings, fast=settings.fast, busy_ms=settings.busy_ms)
