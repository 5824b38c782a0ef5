"""Connections of an open store: reading, writing, and results that wait in files beside a locked store."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from threading import local
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar

from sqlalchemy import select

from arena_db.backend.choice import backend_of
from arena_db.batch import StoreFacts
from arena_db.cold.thawing import find_cold, holds, list_cold
from arena_db.cold_connections import OpenedTournaments
from arena_db.counted import parts
from arena_db.errors import LockedError, RefusedError, StoppedError, UnsupportedError
from arena_db.failures import explain, reading, translated
from arena_db.fence import pass_fence
from arena_db.models import matches
from arena_db.wild import is_wild

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection, PoolProxiedConnection

    from arena_db.backend.places import Place
    from arena_db.backend.settings import StoreSettings
    from arena_db.cold.thawing import ColdTournament
    from arena_db.fence import Fence
    from arena_db.match_filter import MatchFilter

_Result = TypeVar("_Result")
_Self = TypeVar("_Self", bound="Access")
_Parameters = ParamSpec("_Parameters")

_PATIENCE_S: Final = 60.0
"""Seconds for which a write is retried while a server is away: the length of a lease."""
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0

_SHORT_MS: Final = 1000
"""Milliseconds a save waits for the lock if results wait in files already."""


class _Interest:
    """Holds the callable that says whether a thread still wants an answer; read from another thread."""

    def __init__(self) -> None:
        self.is_wanted: Callable[[], bool] = lambda: True


class _Asking(local):
    """Per-thread state: whether the answers of its queries are still wanted, and the snapshot they read."""

    def __init__(self) -> None:
        self.interest = _Interest()
        self.moment: Connection | None = None
        """The connection whose transaction all queries of the thread share, within `at_one_moment`."""


def patient(
    call: Callable[Concatenate[_Self, _Parameters], _Result],
) -> Callable[Concatenate[_Self, _Parameters], _Result]:
    """Decorate a method of a store: in the store of a run it is retried while the server is away.

    A run calls it between two matches and has no use for an error: the server is away when it restarts.
    Without this, a run survives only if it happens to save results at that moment.

    Args:
        call: reads, or writes something that may be written twice.
    """

    @wraps(call)
    def retried(self: _Self, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return self._in_run(lambda: call(self, *args, **kwargs))  # pyright: ignore[reportPrivateUsage] - of this module

    return retried


class Access:
    """The connections of a store; a context manager that closes them."""

    def __init__(self, settings: StoreSettings) -> None:
        """Wrap a store that `prepare` has prepared; callers use `Store.open`."""
        self._settings = settings
        self._backend = backend_of(settings)
        self._engine = self._backend.engine
        self._spool = self._backend.spool
        self._opened = OpenedTournaments(self._backend)
        self._fence: Fence | None = None
        self._is_stopped = False
        self._asking = _Asking()
        self._watcher: PoolProxiedConnection | None = None
        self._facts = StoreFacts()
        self.shared: object = None
        """What callers computed from the store and share; the store itself does not use it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; closing the last one on a file checkpoints its write-ahead log.

        A fenced store shares its connections with the store it came from, which closes them.
        """
        with translated(self.place):
            if self._watcher is not None:
                self._watcher.close()
                self._watcher = None
            if self._fence is None:
                self._opened.close()
                self._backend.close()

    def interrupt(self) -> None:
        """Interrupt the running query and all later queries of this store; callable from any thread.

        They raise a StoppedError, and the store can only be closed then. It must be open read-only, so that
        no write is interrupted halfway.

        Raises:
            RefusedError: the store is open for writing.
        """
        if not self._settings.read_only:
            raise RefusedError(f"{self.place} is open for writing, so its queries cannot be interrupted")
        self._is_stopped = True
        self._backend.interrupt()

    @contextmanager
    def while_wanted(self, is_wanted: Callable[[], bool]) -> Generator[None]:
        """Interrupt queries of this thread within a `with` block as soon as their answer is no longer wanted.

        Such a query raises a StoppedError; other threads and later blocks are not affected. The store must be
        open read-only.

        Args:
            is_wanted: called now and then while a query runs, from this thread or another.
        """
        interest = self._asking.interest
        before, interest.is_wanted = interest.is_wanted, is_wanted
        try:
            yield
        finally:
            interest.is_wanted = before

    def check_readable(self) -> None:
        """Check that the file of this store still has its name and is readable; takes some microseconds.

        An open connection can read a file that was moved or deleted without noticing.

        Raises:
            MovedError: it was removed, moved or replaced.
            AccessError: it is not readable any more.
        """
        self._backend.check_readable()

    @property
    def place(self) -> Place:
        """Location of the store: a file or a server."""
        return self._settings.place

    @property
    def path(self) -> Path:
        """The file of the store.

        Raises:
            UnsupportedError: the store is on a server.
        """
        if isinstance(self.place, Path):
            return self.place
        raise UnsupportedError(f"{self.place} is not a file, and this needs a file; name one with --db FILE")

    def data_version(self) -> int:
        """Return a number that changes with every commit by any process, this one included; cheap to poll."""
        with self._looking() as raw:
            return self._backend.data_version(raw)

    @contextmanager
    def _looking(self) -> Generator[Any]:
        """Yield the driver's connection that is kept open for polling."""
        with self._reading():
            if self._watcher is None:
                self._watcher = self._backend.watcher()
            raw: Any = self._watcher.dbapi_connection
            try:
                yield raw
            except self._backend.driver_error:
                if self._spool is None:
                    # The server may have restarted. Returned to the pool, the connection would be asked to
                    # roll back, which fails, so it is closed here.
                    self._watcher = None
                    raw.close()
                raise

    @contextmanager
    def at_one_moment(self) -> Generator[None]:
        """Run all queries of a `with` block on one snapshot: the store as it is at the first query.

        Counts and sums shown side by side would otherwise differ by the matches stored in between. Other
        threads and writes of this thread are not part of the snapshot. The block cannot see later writes of
        others, so it should not wait for anything.
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

    @contextmanager
    def _read_of(self, tournament: int | str | None) -> Generator[Connection]:
        """Yield a connection that reads the matches of a tournament, whether they are stored or in files.

        Args:
            tournament: its id or name; None for all tournaments whose matches are stored.
        """
        with self._read() as connection:
            cold = None if tournament is None else find_cold(connection, tournament)
            if cold is None:
                yield connection
                return
        with self._read_cold(cold) as connection:
            yield connection

    @contextmanager
    def _read_for(self, where: MatchFilter) -> Generator[Connection]:
        """Yield a connection that reads the matches of a filter: cold ones if it names their tournament."""
        name = where.tournament
        with self._read_of(None if name is None or is_wild(name) else name) as connection:
            yield connection

    @contextmanager
    def _read_cold(self, cold: ColdTournament) -> Generator[Connection]:
        with self._reading(), self._opened.reading(cold, self._is_wanted()) as connection:
            yield connection

    def _gather(
        self, numbers: Sequence[int], read: Callable[[Connection, Sequence[int]], dict[int, _Result]]
    ) -> dict[int, _Result]:
        """Return what `read` returns for the matches with these ids, whether they are stored or in files."""
        with self._read() as connection:
            found = read(connection, numbers)
            cold = list_cold(connection)
            if not cold:
                return found
            left = set(numbers)
            for some in parts(numbers):
                own = select(matches.c.id).where(matches.c.id.in_(list(some)))
                left.difference_update(connection.scalars(own))
        # Those that are loaded come first: most readers list the matches of one tournament.
        for each in sorted(cold, key=lambda each: not self._opened.is_loaded(each)):
            if left and (self._opened.is_loaded(each) or holds(each, sorted(left))):
                with self._read_cold(each) as connection:
                    own = select(matches.c.id).where(matches.c.id.in_(sorted(left)))
                    here = sorted(connection.scalars(own))
                    found |= read(connection, here) if here else {}
                    left.difference_update(here)
        return found

    def _is_wanted(self) -> Callable[[], bool] | None:
        """Return whether this thread's query is still wanted, as a callable; None if not interruptible."""
        if not self._settings.read_only:
            return None
        interest = self._asking.interest
        return lambda: not self._is_stopped and interest.is_wanted()

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
        """Write the plan or state of a tournament, for its run.

        Raises:
            RefusedError: this is the store of a run of another tournament.
        """
        if self._fence is not None and self._fence.tournament != tournament:
            raise RefusedError(f"a run of tournament {self._fence.tournament} does not write to {tournament}")
        # Shared on a server: the row of the lease, which the fence locks, protects everything written here.
        with self._write(settings, alone=False) as connection:
            yield connection

    @contextmanager
    def _transaction(self, settings: StoreSettings, *, alone: bool = True) -> Generator[Connection]:
        """Open a transaction for writing; every write of a store comes through here.

        If this is the store of a run, the transaction first checks that the run still holds its tournament.
        After its end the file is compared with the one that was opened: data committed to a removed file must
        not be reported as stored, and a failure may have that cause.

        Args:
            settings: how long to wait, and whether to sync.
            alone: whether the write concerns more than the tournament of the run; always true for a store
                that no run has claimed.

        Raises:
            LeaseLostError: another process has taken over the tournament.
            MovedError: the file was removed, moved or replaced.
        """
        fence = self._fence
        with translated(self.place, self._backend.driver_error):
            try:
                with self._backend.writing(settings, alone=alone or fence is None) as connection:
                    if fence is not None:
                        try:
                            pass_fence(connection, fence)
                        except Exception:
                            # Translates the error only after a failure: as a `with` around each save,
                            # `_reading` costs more than the check it wraps.
                            with self._reading():
                                raise
                    yield connection
            finally:
                if fence is not None:
                    self._backend.check_place()

    def _store_waiting(self, settings: StoreSettings, *, claimed: int | None = None) -> None:
        """Store the results that wait beside the store, in a transaction of their own; see `Spool.store`."""
        spool = self._spool
        if spool is not None and spool.waiting():
            with translated(self.place):
                with self._transaction(settings) as connection:
                    stored = spool.store(connection, claimed=claimed)
                spool.discard(stored)

    def _beside(self, write: Callable[[Any], _Result], most_ms: int) -> _Result:
        """Write through a connection of its own; this works with a store that is open read-only, too.

        Args:
            write: makes one quick change with the driver's connection.
            most_ms: maximum time to wait for the lock, in milliseconds.
        """
        # An open connection of this store keeps the temporary one from checkpointing the log when it closes.
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

    def _in_run(self, call: Callable[[], _Result]) -> _Result:
        """Call a function; in the store of a run retry it while the server is away."""
        is_on_server = self._spool is None
        return self._patiently(call) if is_on_server and self._fence is not None else call()

    def _patiently(self, write: Callable[[], _Result]) -> _Result:
        """Retry an idempotent write until a server accepts it.

        Raises:
            LockedError: the server was away, or its store locked, for a minute.
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
