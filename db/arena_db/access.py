"""Connections of an open store: reading, writing, and results that wait in files beside a locked store."""

from __future__ import annotations

from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import wraps
from threading import local
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Protocol, Self, TypeVar

from sqlalchemy import select

from arena_db.backend.choice import backend_of
from arena_db.batch import StoreFacts
from arena_db.cold.thawing import find_cold, holds, list_cold
from arena_db.cold_connections import OpenedTournaments
from arena_db.counted import parts
from arena_db.errors import LockedError, RefusedError, StoppedError
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
    from arena_db.records import MatchRecord

_Result = TypeVar("_Result")
_Part = TypeVar("_Part", bound="_HasAccess")
_Parameters = ParamSpec("_Parameters")

_PATIENCE_S: Final = 60.0
"""Seconds for which a write is retried while a server is away: the length of a lease."""
_FIRST_PAUSE_S: Final = 0.05
"""Seconds before the second attempt; each later pause is twice as long."""
_LONGEST_PAUSE_S: Final = 1.0
"""Maximum seconds between two attempts, so that a run continues soon after the server is back."""

_SHORT_MS: Final = 1000
"""Milliseconds that a save waits for the lock if results wait in files already."""


class _HasAccess(Protocol):
    """A part of a store, which has the store's connections."""

    _access: Access


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
    call: Callable[Concatenate[_Part, _Parameters], _Result],
) -> Callable[Concatenate[_Part, _Parameters], _Result]:
    """Decorate a method of a part of a store: in the store of a run it is retried while the server is away.

    A run calls such methods between two matches, and a restart of the server must not end it. Saves of
    results are retried anyway; this protects the other calls.

    Args:
        call: reads, or writes something that may be written twice.
    """

    @wraps(call)
    def retried(self: _Part, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return self._access.in_run(lambda: call(self, *args, **kwargs))  # pyright: ignore[reportPrivateUsage] - of this module

    return retried


class Access:
    """The connections of a store, which all its parts share; a context manager that closes them."""

    def __init__(self, settings: StoreSettings) -> None:
        """Wrap a store that `prepare` has prepared; callers use `Store.open`."""
        self.settings = settings
        self.backend = backend_of(settings)
        self.engine = self.backend.engine
        self.spool = self.backend.spool
        self._opened = OpenedTournaments(self.backend)
        self.fence: Fence | None = None
        self._is_stopped = False
        self._asking = _Asking()
        self._watcher: PoolProxiedConnection | None = None
        self.facts = StoreFacts()
        self.unsaved: Sequence[MatchRecord] = ()
        """The records of the save that is in progress or has failed."""
        self.has_saved = False
        """Whether this store saved matches that `sum_up` has not added yet."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections, except those that belong to the store that was claimed from."""
        with translated(self.place):
            if self._watcher is not None:
                self._watcher.close()
                self._watcher = None
            if self.fence is None:
                self._opened.close()
                self.backend.close()

    def interrupt(self) -> None:
        """Interrupt the running query and all later ones; see `Store.interrupt`."""
        if not self.settings.read_only:
            raise RefusedError(f"{self.place} is open for writing, so its queries cannot be interrupted")
        # The flag is set first: a query that begins after the interruption must see it.
        self._is_stopped = True
        self.backend.interrupt()

    @contextmanager
    def while_wanted(self, is_wanted: Callable[[], bool]) -> Generator[None]:
        """Interrupt queries of this thread whose answer is not wanted any more; see `Store.while_wanted`."""
        interest = self._asking.interest
        before, interest.is_wanted = interest.is_wanted, is_wanted
        try:
            yield
        finally:
            interest.is_wanted = before

    @property
    def place(self) -> Place:
        """Location of the store: a file or a server."""
        return self.settings.place

    def data_version(self) -> int:
        """Return a number that changes with every commit by any process, this one included; cheap to poll."""
        with self.looking() as raw:
            return self.backend.data_version(raw)

    @contextmanager
    def looking(self) -> Generator[Any]:
        """Yield the driver's connection that is kept open for polling."""
        with self.guarded():
            if self._watcher is None:
                self._watcher = self.backend.watcher()
            raw: Any = self._watcher.dbapi_connection
            try:
                yield raw
            except self.backend.driver_error:
                if self.spool is None:
                    # The server may have restarted. Returned to the pool, the connection would be asked to
                    # roll back, which fails, so it is closed here.
                    self._watcher = None
                    raw.close()
                raise

    @contextmanager
    def at_one_moment(self) -> Generator[None]:
        """Run all queries of this thread within a `with` block on one snapshot; see `Store.at_one_moment`."""
        # Nested: the snapshot of the outer block stays.
        if self._asking.moment is not None:
            yield
            return
        with self.read() as connection:
            self._asking.moment = connection
            try:
                yield
            finally:
                self._asking.moment = None

    @contextmanager
    def read(self) -> Generator[Connection]:
        """Yield a connection that reads one snapshot: a new one, or that of `at_one_moment`."""
        held = self._asking.moment
        if held is not None:
            with self.guarded():
                yield held
            return
        with self.guarded(), self.backend.reading(self._is_wanted()) as connection:
            yield connection

    @contextmanager
    def read_of(self, tournament: int | str | None) -> Generator[Connection]:
        """Yield a connection that reads the matches of a tournament, whether they are stored or in files.

        Args:
            tournament: its id or name; None for all tournaments whose matches are stored.
        """
        with self.read() as connection:
            cold = None if tournament is None else find_cold(connection, tournament)
            if cold is None:
                yield connection
                return
        with self.read_cold(cold) as connection:
            yield connection

    @contextmanager
    def read_for(self, where: MatchFilter) -> Generator[Connection]:
        """Yield a connection that reads the matches of a filter: cold ones if it names their tournament."""
        name = where.tournament
        with self.read_of(None if name is None or is_wild(name) else name) as connection:
            yield connection

    @contextmanager
    def read_cold(self, cold: ColdTournament) -> Generator[Connection]:
        """Yield a connection that reads the matches of a cold tournament."""
        with self.guarded(), self._opened.reading(cold, self._is_wanted()) as connection:
            yield connection

    def gather(
        self, numbers: Sequence[int], read: Callable[[Connection, Sequence[int]], dict[int, _Result]]
    ) -> dict[int, _Result]:
        """Return what `read` returns for the matches with these ids, whether they are stored or in files."""
        with self.read() as connection:
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
                with self.read_cold(each) as connection:
                    own = select(matches.c.id).where(matches.c.id.in_(sorted(left)))
                    here = sorted(connection.scalars(own))
                    found |= read(connection, here) if here else {}
                    left.difference_update(here)
        return found

    def _is_wanted(self) -> Callable[[], bool] | None:
        """Return a function that says whether this thread's query is wanted; None if not interruptible."""
        if not self.settings.read_only:
            return None
        interest = self._asking.interest
        return lambda: not self._is_stopped and interest.is_wanted()

    def guarded(self) -> AbstractContextManager[None]:
        """Return a context that translates the errors of reading.

        Raises:
            StoppedError: the queries of this store are interrupted.
        """
        if self._is_stopped:
            raise StoppedError(f"a query of {self.place} was interrupted")
        return reading(self.place, self.backend.driver_error)

    @contextmanager
    def write(self, settings: StoreSettings | None = None, *, alone: bool = True) -> Generator[Connection]:
        """Store the results that wait beside the store, then open a transaction; see `transaction`."""
        settings = settings or self.settings
        self.store_waiting(settings)
        with self.transaction(settings, alone=alone) as connection:
            yield connection

    @contextmanager
    def write_run(self, tournament: int, settings: StoreSettings | None = None) -> Generator[Connection]:
        """Write the plan or state of a tournament, for its run.

        Raises:
            RefusedError: this is the store of a run of another tournament.
        """
        if self.fence is not None and self.fence.tournament != tournament:
            raise RefusedError(f"a run of tournament {self.fence.tournament} does not write to {tournament}")
        # Shared on a server: the row of the lease, which the fence locks, protects everything written here.
        with self.write(settings, alone=False) as connection:
            yield connection

    @contextmanager
    def transaction(self, settings: StoreSettings, *, alone: bool = True) -> Generator[Connection]:
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
        fence = self.fence
        with translated(self.place, self.backend.driver_error):
            try:
                with self.backend.writing(settings, alone=alone or fence is None) as connection:
                    if fence is not None:
                        try:
                            pass_fence(connection, fence)
                        except Exception:
                            # Translates the error only after a failure: as a `with` around each save,
                            # `guarded` costs more than the check it wraps.
                            with self.guarded():
                                raise
                    yield connection
            finally:
                if fence is not None:
                    self.backend.check_place()

    def store_waiting(self, settings: StoreSettings, *, claimed: int | None = None) -> None:
        """Store the results that wait beside the store, in a transaction of their own; see `Spool.store`."""
        spool = self.spool
        if spool is not None and spool.waiting():
            with translated(self.place):
                with self.transaction(settings) as connection:
                    stored = spool.store(connection, claimed=claimed)
                # After the commit: if the process is killed in between, the records are found stored and
                # skipped.
                spool.discard(stored)

    def beside(self, write: Callable[[Any], _Result], most_ms: int) -> _Result:
        """Write through a connection of its own; this works with a store that is open read-only, too.

        Args:
            write: makes one quick change with the driver's connection.
            most_ms: maximum time to wait for the lock, in milliseconds.
        """
        # An open connection of this store keeps the temporary one from checkpointing the log when it closes.
        self.data_version()
        with translated(self.place):
            try:
                with self.backend.beside(min(self.settings.busy_ms, most_ms)) as raw:
                    return write(raw)
            except (self.backend.driver_error, UnicodeDecodeError) as error:
                raise explain(error, self.place) from error

    @property
    def dialect(self) -> str:
        """SQLAlchemy's name of the kind of database."""
        return self.engine.dialect.name

    def in_run(self, call: Callable[[], _Result]) -> _Result:
        """Call a function; in the store of a run retry it while the server is away."""
        is_on_server = self.spool is None
        return self.patiently(call) if is_on_server and self.fence is not None else call()

    def patiently(self, write: Callable[[], _Result]) -> _Result:
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

    def in_a_hurry(self) -> StoreSettings:
        """Return the settings of a write that waits at most a second for the lock."""
        return replace(self.settings, busy_ms=min(self.settings.busy_ms, _SHORT_MS))

    def behind(self, fence: Fence) -> Self:
        """Return an object with the same connections that writes only while the claim is the last one."""
        fenced = copy(self)
        # Without the watcher, because closing the fenced store closes its watcher, and the other store stays
        # open.
        fenced.__dict__.update(fence=fence, _watcher=None)
        return fenced

    def held_fence(self) -> Fence:
        """Return the fence of the claimed tournament.

        Raises:
            RefusedError: none is claimed.
        """
        if self.fence is None:
            raise RefusedError(f"{self.place} is open, but none of its tournaments is claimed")
        return self.fence
