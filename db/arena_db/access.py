"""Connections to an open store: who reads, who writes, and what waits beside it for a writer."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import local
from typing import TYPE_CHECKING, Any, Final, Self

from arena_db.backend.lite.engine import make_engine, writer_lock, writing
from arena_db.backend.lite.log import Log
from arena_db.backend.lite.place import StorePlace
from arena_db.backend.lite.spool import Spool
from arena_db.batch import Facts
from arena_db.errors import AccessError, RefusedError, StoppedError
from arena_db.failures import reading, translated
from arena_db.fence import pass_fence

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from sqlalchemy import Connection, PoolProxiedConnection

    from arena_db.backend.lite.engine import Settings
    from arena_db.fence import Fence


_ASKED_EVERY: Final = 100_000
"""Instructions of SQLite's machine, about a millisecond, between two questions whether a query is wanted."""

_SHORT_MS: Final = 1000
"""How long a save waits for the lock where results wait for it already."""


class _Asking(local):
    """What the present thread wants of its queries: whether still an answer, and of which moment."""

    def __init__(self) -> None:
        self.is_wanted: Callable[[], bool] = _always
        self.moment: Connection | None = None
        """Of the transaction that all of its queries belong to, in `at_one_moment`."""


def _always() -> bool:
    return True


class Access:
    """The connections of a store; a context manager that closes them."""

    def __init__(self, settings: Settings) -> None:
        """Take a prepared store; `Store.open` is the way to get one."""
        self._settings = settings
        self._place = StorePlace(settings.path)
        self._fence: Fence | None = None
        self._is_stopped = False
        self._asking = _Asking()
        self._raws: dict[int, Any] = {}
        self._engine = make_engine(settings, self._place.check, self._raws)
        self._watcher: PoolProxiedConnection | None = None
        self._spool = Spool(settings.path)
        self._log = Log(settings)
        self._facts = Facts()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """End all connections; the last one on a store folds its write-ahead log back into the file.

        A fenced store shares its connections with the store it came from, which ends them.
        """
        with translated(self.path), writer_lock(self._settings):
            if self._watcher is not None:
                self._watcher.close()
                self._watcher = None
            if self._fence is None:
                self._engine.dispose()

    def interrupt(self) -> None:
        """End every query of this store, the one that runs and all later ones; may be called from any thread.

        They raise a StoppedError. A store that is interrupted can only be closed. It has to be open to read
        only: nothing may be half written.

        Raises:
            RefusedError: the store is open for writing.
        """
        if not self._settings.read_only:
            raise RefusedError(f"{self.path} is open for writing, where no query may be interrupted")
        self._is_stopped = True
        for raw in list(self._raws.values()):
            # A connection that is being closed has no query to end.
            with suppress(self._settings.driver.module.ProgrammingError):
                raw.interrupt()

    @contextmanager
    def while_wanted(self, is_wanted: Callable[[], bool]) -> Generator[None]:
        """End queries of the present thread once nobody wants their answer, for a `with` block.

        Such a query raises a StoppedError; other threads, and later blocks, go on reading. The store has to
        be open to read only.

        Args:
            is_wanted: called in this thread, about a thousand times a second while a query runs.
        """
        before, self._asking.is_wanted = self._asking.is_wanted, is_wanted
        try:
            yield
        finally:
            self._asking.is_wanted = before

    def check_readable(self) -> None:
        """Return if the file of this store still has its name and may be read; takes some microseconds.

        An open connection goes on reading a file that was moved or deleted, as if nothing had happened.

        Raises:
            MovedError: it was removed, moved or replaced.
            AccessError: it may no longer be read.
        """
        self._place.check()
        if not os.access(self.path, os.R_OK):
            denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            raise AccessError(f"{self.path} may not be read by you; see its permissions") from denied

    @property
    def path(self) -> Path:
        """The file of the store."""
        return self._settings.path

    def data_version(self) -> int:
        """Return a number that changes when anybody, this store too, has written; cheap enough to poll."""
        with self._looking() as raw:
            return int(raw.execute("PRAGMA data_version").fetchall()[0][0])

    @contextmanager
    def _looking(self) -> Generator[Any]:
        """Give the driver's connection that is held for those who look again and again."""
        with self._reading():
            if self._watcher is None:
                self._watcher = self._engine.raw_connection()
            yield self._watcher.driver_connection

    @contextmanager
    def at_one_moment(self) -> Generator[None]:
        """Read the store as it is at the first query of a `with` block, whoever writes meanwhile.

        Counts and sums that are put side by side would differ by the matches that were stored in between.
        Other threads, and writes of this one, are not part of it; nor is what others wrote seen in it, so
        a block should not wait for anything.
        """
        if self._asking.moment is not None:
            yield
            return
        with self._read() as connection:
            self._asking.moment = connection
            try:
                yield
            finally:
                self._asking.moment = None

    @contextmanager
    def _read(self) -> Generator[Connection]:
        held = self._asking.moment
        if held is not None:
            with self._reading():
                yield held
            return
        with self._reading(), self._engine.connect() as connection:
            self._watch(connection.connection.driver_connection)
            yield connection

    def _watch(self, raw: Any) -> None:  # noqa: ANN401 - one of two libraries
        """Have SQLite ask now and then whether the query is still wanted.

        `interrupt` of a connection ends the statement that runs; one that begins just afterwards, in another
        thread, would run to its end.
        """
        if self._settings.read_only:
            raw.set_progress_handler(lambda: self._is_stopped or not self._asking.is_wanted(), _ASKED_EVERY)

    def _reading(self) -> AbstractContextManager[None]:
        if self._is_stopped:
            raise StoppedError(f"a query of {self.path} was interrupted")
        return reading(self.path, self._settings.driver.module.Error)

    @contextmanager
    def _write(self, settings: Settings | None = None) -> Generator[Connection]:
        settings = settings or self._settings
        self._store_waiting(settings)
        with self._transaction(settings) as connection:
            yield connection

    @contextmanager
    def _write_run(self, tournament: int, settings: Settings | None = None) -> Generator[Connection]:
        """Write for the run of a tournament: its plan, its state.

        Raises:
            RefusedError: this store is that of the run of another tournament.
        """
        if self._fence is not None and self._fence.tournament != tournament:
            raise RefusedError(f"a run of tournament {self._fence.tournament} does not write to {tournament}")
        with self._write(settings) as connection:
            yield connection

    @contextmanager
    def _transaction(self, settings: Settings) -> Generator[Connection]:
        """Write in one transaction; every write of a store comes through here.

        Where this store is that of a run, the transaction begins with a look whether the run still has its
        tournament, and after its end the file is compared with the one that was opened: what was committed to
        a file that is gone must not be told as stored, and what failed may have failed for that.

        Raises:
            LeaseLostError: another process has taken over the tournament.
            MovedError: the file was removed, moved or replaced.
        """
        fence = self._fence
        with translated(self.path):
            try:
                with writing(self._engine, settings, self._log.tend) as connection:
                    if fence is not None:
                        try:
                            pass_fence(connection, fence)
                        except Exception:
                            # Entered only for what fails: as a `with` around each save it costs more than
                            # what it guards.
                            with self._reading():
                                raise
                    yield connection
            finally:
                if fence is not None:
                    self._place.check()

    def _store_waiting(self, settings: Settings, *, claimed: int | None = None) -> None:
        """Store what waits beside the store, in a transaction of its own; see `Spool.store`."""
        if self._spool.waiting():
            with translated(self.path):
                with self._transaction(settings) as connection:
                    stored = self._spool.store(connection, claimed=claimed)
                self._spool.discard(stored)

    def _in_a_hurry(self) -> Settings:
        return replace(self._settings, busy_ms=min(self._settings.busy_ms, _SHORT_MS))
