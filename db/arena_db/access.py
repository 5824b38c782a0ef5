"""Connections to an open store: who reads, who writes, and what waits beside it for a writer."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import local
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from arena_db.backend.choice import backend_of
from arena_db.batch import Facts
from arena_db.errors import LockedError, RefusedError, StoppedError, UnsupportedError
from arena_db.failures import explain, reading, translated
from arena_db.fence import pass_fence

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection, PoolProxiedConnection

    from arena_db.backend.places import Place
    from arena_db.backend.settings import StoreSettings
    from arena_db.fence import Fence

_Result = TypeVar("_Result")

_PATIENCE_S: Final = 60.0
"""How long results wait for a server that is away: as long as a lease lasts."""
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0

_SHORT_MS: Final = 1000
"""How long a save waits for the lock where results wait for it already."""


class _Interest:
    """Whether a thread still wants an answer; another thread may ask for it."""

    def __init__(self) -> None:
        self.is_wanted: Callable[[], bool] = _always


class _Asking(local):
    """What the present thread wants of its queries: whether still an answer, and of which moment."""

    def __init__(self) -> None:
        self.wish = _Interest()
        self.moment: Connection | None = None
        """Of the transaction that all of its queries belong to, in `at_one_moment`."""


def _always() -> bool:
    return True


class Access:
    """The connections of a store; a context manager that closes them."""

    def __init__(self, settings: StoreSettings) -> None:
        """Take a prepared store; `Store.open` is the way to get one."""
        self._settings = settings
        self._backend = backend_of(settings)
        self._engine = self._backend.engine
        self._spool = self._backend.spool
        self._fence: Fence | None = None
        self._is_stopped = False
        self._asking = _Asking()
        self._watcher: PoolProxiedConnection | None = None
        self._facts = Facts()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """End all connections; the last one on a file folds its write-ahead log back into it.

        A fenced store shares its connections with the store it came from, which ends them.
        """
        with translated(self.place):
            if self._watcher is not None:
                self._watcher.close()
                self._watcher = None
            if self._fence is None:
                self._backend.close()

    def interrupt(self) -> None:
        """End every query of this store, the one that runs and all later ones; may be called from any thread.

        They raise a StoppedError. A store that is interrupted can only be closed. It has to be open to read
        only: nothing may be half written.

        Raises:
            RefusedError: the store is open for writing.
        """
        if not self._settings.read_only:
            raise RefusedError(f"{self.place} is open for writing, so its queries cannot be interrupted")
        self._is_stopped = True
        self._backend.interrupt()

    @contextmanager
    def while_wanted(self, is_wanted: Callable[[], bool]) -> Generator[None]:
        """End queries of the present thread once nobody wants their answer, for a `with` block.

        Such a query raises a StoppedError; other threads, and later blocks, go on reading. The store has to
        be open to read only.

        Args:
            is_wanted: called now and then while a query runs, in this thread or another.
        """
        wish = self._asking.wish
        before, wish.is_wanted = wish.is_wanted, is_wanted
        try:
            yield
        finally:
            wish.is_wanted = before

    def check_readable(self) -> None:
        """Return if the file of this store still has its name and may be read; takes some microseconds.

        An open connection goes on reading a file that was moved or deleted, as if nothing had happened.

        Raises:
            MovedError: it was removed, moved or replaced.
            AccessError: it may no longer be read.
        """
        self._backend.check_readable()

    @property
    def place(self) -> Place:
        """Where the store lies: a file or a server."""
        return self._settings.place

    @property
    def path(self) -> Path:
        """The file of the store.

        Raises:
            UnsupportedError: it lies on a server.
        """
        if isinstance(self.place, Path):
            return self.place
        raise UnsupportedError(f"{self.place} is not a file, and this needs a file; name one with --db FILE")

    def data_version(self) -> int:
        """Return a number that changes when anybody, this store too, has written; cheap enough to poll."""
        with self._looking() as raw:
            return self._backend.data_version(raw)

    @contextmanager
    def _looking(self) -> Generator[Any]:
        """Give the driver's connection that is held for those who look again and again."""
        with self._reading():
            if self._watcher is None:
                self._watcher = self._backend.watcher()
            raw: Any = self._watcher.dbapi_connection
            try:
                yield raw
            except self._backend.driver_error:
                if self._spool is None:
                    # Its server may have been restarted. Given back, it would be asked to end a transaction.
                    self._watcher = None
                    raw.close()
                raise

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
        with self._reading(), self._backend.reading(self._is_wanted()) as connection:
            yield connection

    def _is_wanted(self) -> Callable[[], bool] | None:
        """Return what says whether a query of the present thread is still wanted; None where none may end."""
        if not self._settings.read_only:
            return None
        wish = self._asking.wish
        return lambda: not self._is_stopped and wish.is_wanted()

    def _reading(self) -> AbstractContextManager[None]:
        if self._is_stopped:
            raise StoppedError(f"a query of {self.place} was interrupted")
        return reading(self.place, self._backend.driver_error)

    @contextmanager
    def _write(self, settings: StoreSettings | None = None, *, alone: bool = True) -> Generator[Connection]:
        settings = settings or self._settings
        self._store_waiting(settings)
        with self._transaction(settings, alone=alone) as connection:
            yield connection

    @contextmanager
    def _write_run(self, tournament: int, settings: StoreSettings | None = None) -> Generator[Connection]:
        """Write for the run of a tournament: its plan, its state.

        Raises:
            RefusedError: this store is that of the run of another tournament.
        """
        if self._fence is not None and self._fence.tournament != tournament:
            raise RefusedError(f"a run of tournament {self._fence.tournament} does not write to {tournament}")
        with self._write(settings, alone=False) as connection:
            yield connection

    @contextmanager
    def _transaction(self, settings: StoreSettings, *, alone: bool = True) -> Generator[Connection]:
        """Write in one transaction; every write of a store comes through here.

        Where this store is that of a run, the transaction begins with a look whether the run still has its
        tournament, and after its end the file is compared with the one that was opened: what was committed to
        a file that is gone must not be told as stored, and what failed may have failed for that.

        Args:
            settings: how long to wait, and whether to sync.
            alone: what is written concerns more than the tournament of the run; a store of no run is always
                alone.

        Raises:
            LeaseLostError: another process has taken over the tournament.
            MovedError: the file was removed, moved or replaced.
        """
        fence = self._fence
        with translated(self.place):
            try:
                with self._backend.writing(settings, alone=alone or fence is None) as connection:
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
                    self._backend.check_place()

    def _store_waiting(self, settings: StoreSettings, *, claimed: int | None = None) -> None:
        """Store what waits beside the store, in a transaction of its own; see `Spool.store`."""
        spool = self._spool
        if spool is not None and spool.waiting():
            with translated(self.place):
                with self._transaction(settings) as connection:
                    stored = spool.store(connection, claimed=claimed)
                spool.discard(stored)

    def _beside(self, write: Callable[[Any], _Result], most_ms: int) -> _Result:
        """Write by a connection of its own, also beside a store that is open to read only.

        Args:
            write: makes one quick change by a driver's connection.
            most_ms: how long to wait for the lock, at most.
        """
        # An open connection of this store keeps the other one from folding back the log when it is closed.
        self.data_version()
        with translated(self.place):
            try:
                with self._backend.beside(min(self._settings.busy_ms, most_ms)) as raw:
                    return write(raw)
            except (self._backend.driver_error, UnicodeDecodeError) as error:
                raise explain(error, self.place) from error

    @property
    def _dialect(self) -> str:
        return self._engine.dialect.name

    def _patiently(self, write: Callable[[], _Result]) -> _Result:
        """Try a write again, which may be made twice, until a server takes it.

        Raises:
            LockedError: it was away, or its store locked, for a minute.
        """
        end, pause = monotonic() + _PATIENCE_S, _FIRST_PAUSE_S
        while True:
            try:
                return write()
            except LockedError:
                if monotonic() > end:
                    raise
            sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _in_a_hurry(self) -> StoreSettings:
        return replace(self._settings, busy_ms=min(self._settings.busy_ms, _SHORT_MS))
