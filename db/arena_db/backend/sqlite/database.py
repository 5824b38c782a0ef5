"""The backend of a store in a file of SQLite, its write-ahead log, and whether its files are still there."""

from __future__ import annotations

import errno
import logging
import os
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from arena_db.backend.held import one_snapshot
from arena_db.backend.sqlite.backup import copy_to
from arena_db.backend.sqlite.engine import make_engine, make_migration_engine, open_raw, writer_lock, writing
from arena_db.backend.sqlite.spool import Spool
from arena_db.errors import AccessError, MovedError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection, PoolProxiedConnection

    from arena_db.backend.settings import StoreSettings
    from arena_db.backend.sqlite.engine import FileSettings

_NEVER: Final = 1 << 63
"""Size in bytes that no log reaches."""
_ASKED_EVERY: Final = 100_000
"""Number of instructions of SQLite's virtual machine, about a millisecond, between two calls of
`is_wanted`."""


class SqliteBackend:
    """A store in a file; see `Backend`."""

    def __init__(self, settings: FileSettings) -> None:
        """Prepare connections to a store that `prepare` has prepared."""
        self._settings = settings
        self._place = _StorePlace(settings.place)
        self._raws: dict[int, Any] = {}
        self._log = _Log(settings)
        self.engine = make_engine(settings, self._place.check, self._raws)
        self.driver_error: type[Exception] = settings.driver.module.Error
        self.spool = Spool(settings.place)

    def close(self) -> None:
        """Close all connections; closing the last one on a store checkpoints its write-ahead log."""
        # The last connection writes the log into the file, which is a write like any other.
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

        `interrupt` alone would not be enough: it ends the running statement, but one that begins just
        afterwards in another thread would run to its end.
        """
        with self.engine.connect() if held is None else one_snapshot(held) as connection:
            if self._settings.read_only:
                raw: Any = connection.connection.driver_connection
                # Without a condition, the handler of the connection's last query is removed.
                handler = None if is_wanted is None else lambda: not is_wanted()
                raw.set_progress_handler(handler, _ASKED_EVERY)
            yield connection

    def watcher(self) -> PoolProxiedConnection:
        """Open a connection for polling: SQLite counts the commits of others per connection."""
        return self.engine.raw_connection()

    @contextmanager
    def looking(self, raw: Any) -> Generator[None]:  # noqa: ANN401 - one of two libraries
        """Run the queries of a `with` block in one transaction."""
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
        # Without a sync, because no result is written here: a command whose sender waits for its answer, or
        # the day on which a token was used.
        with writer_lock(settings), closing(open_raw(settings)) as raw:
            # A checkpoint copies the whole log and syncs the file, and a person waits for this write.
            raw.execute("PRAGMA wal_autocheckpoint=0").fetchall()
            raw.execute("BEGIN IMMEDIATE")
            # After an error the connection is closed without a commit, which rolls back.
            yield raw
            raw.execute("COMMIT")

    def data_version(self, raw: Any) -> int:  # noqa: ANN401 - see above
        """Return SQLite's count of the commits of others, kept per connection."""
        return int(raw.execute("PRAGMA data_version").fetchall()[0][0])

    def interrupt(self) -> None:
        """Interrupt the running queries."""
        # A copy, because other threads open and close connections meanwhile.
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


LIMIT: Final = 32 << 20
"""Bytes of a log from which a writer waits for the readers. SQLite resets a log only while no connection
reads it, and with many readers one always does."""
WARNED_AT: Final = 48 << 20
"""Bytes of a log from which a failed wait causes a warning."""
BOUND: Final = 64 << 20
"""Bytes of a log below which waits depend on its growth; above it, a reader has blocked the reset for
long."""
STEP: Final = 4 << 20
"""Growth of a log in bytes between two failed waits, for logs below `BOUND`."""
WAIT_MS: Final = 250
"""Milliseconds of one wait for the readers."""
WAITS: Final = 8
"""Maximum number of consecutive waits. Several short waits succeed where a long one does not: SQLite waits
for a lock that readers may pass to one another, although only the first of them is in the way
(`walCheckpoint` in its wal.c)."""
PAUSE: Final = 10
"""Ratio of the pause after failed waits to their total length, for logs above `BOUND`: a reader that hangs
must not stop the writers."""

_LOCKS: Final = Path("/proc/locks")
_READ_LOCKS: Final = range(123, 128)
"""Bytes of the shared memory that readers lock (https://www.sqlite.org/walformat.html#locks)."""


class _Log:
    """The write-ahead log of one store, as seen by one writing process."""

    def __init__(self, settings: FileSettings) -> None:
        """Keep the settings of the store; no file is opened."""
        self._settings = settings
        self._path = settings.place.with_name(settings.place.name + "-wal")
        self._next_size = LIMIT
        self._next_time = 0.0
        self._has_warned = False
        self._warnings: list[str] = []

    def take_warnings(self) -> list[str]:
        """Return warnings for people, each text once."""
        taken, self._warnings = self._warnings, []
        return taken

    def tend(self, raw: Any) -> None:  # noqa: ANN401 — a connection of one of two libraries
        """Checkpoint the log if it is long, on the connection that has just written; never raise.

        Committed data is durable, whether or not the checkpoint succeeds.
        """
        with suppress(self._settings.driver.module.Error):
            self._tend(raw)

    def _tend(self, raw: Any) -> None:  # noqa: ANN401 — see above
        size = self._size()
        if size < LIMIT:
            # The log was reset since the last check, so its next growth is judged, and reported, separately.
            self._next_size, self._has_warned = LIMIT, False
        if size >= self._next_size or (size >= BOUND and monotonic() >= self._next_time):
            # Not set back: `writing` sets it for each transaction.
            raw.execute(f"PRAGMA busy_timeout={WAIT_MS}").fetchall()
            # Stops at the first attempt that succeeds.
            if not any(_fold_back(raw) for _ in range(WAITS)):
                self._wait_again(size)
        elif self._settings.driver.single_writer:
            # Such a library does not checkpoint by itself; PASSIVE waits for nobody.
            raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _wait_again(self, size: int) -> None:
        # Above the bound only time decides when to wait again.
        self._next_size = size + STEP if size < BOUND else _NEVER
        # 20 s: writers that meet a reader that hangs lose at most 2 s of every 22.
        self._next_time = monotonic() + PAUSE * WAITS * WAIT_MS / 1000
        if size >= WARNED_AT and not self._has_warned:
            self._has_warned = True
            text = self._warning(size)
            self._warnings.append(text)
            logging.getLogger(__name__).info(text)

    def _warning(self, size: int) -> str:
        readers = [str(pid) for pid in readers_of(self._settings.place)]
        who = f"process {' or '.join(readers)}" if readers else "another program"
        return (
            f"{self._path} has grown to {size >> 20} MiB, because {who} has been reading the store without "
            "a break; nothing is lost, but the log grows until that reader closes the store or is stopped"
        )

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            # Closing the last connection has removed the log.
            return 0


def _fold_back(raw: Any) -> bool:  # noqa: ANN401 — see above
    """Copy the whole log into the file and reset it; return whether the readers permitted it."""
    # TRUNCATE waits for readers up to the timeout; the first column is 1 if it gave up.
    (is_vain, *_) = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not is_vain


def readers_of(path: Path) -> list[int]:
    """Return the ids of processes that are reading a store now, as far as the system tells."""
    try:
        shared = path.with_name(path.name + "-shm").stat()
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return []
    place = f"{os.major(shared.st_dev):02x}:{os.minor(shared.st_dev):02x}:{shared.st_ino}"
    return sorted(set(_readers(lines, place)))


def _readers(lines: list[str], place: str) -> Iterator[int]:
    for line in lines:
        # Fields: number, POSIX, ADVISORY, READ, process, device and inode, first byte, last byte.
        # `->` marks a lock that a process still waits for.
        fields = line.replace("->", "").split()
        # A lock of an open file description belongs to no process; its id is -1.
        if fields[3] == "READ" and fields[5] == place and int(fields[4]) > 0:
            last = _READ_LOCKS.stop if fields[7] == "EOF" else int(fields[7])
            if int(fields[6]) < _READ_LOCKS.stop and last >= _READ_LOCKS.start:
                yield int(fields[4])


_LOGS: Final = ("-wal", "-shm")
"""Files beside the store: the log receives the commits, its index tells other processes about them."""
_OPEN_FILES: Final = Path("/proc/self/fd")


_Identity: TypeAlias = tuple[int, int]
"""Device and inode, which identify a file among all files that exist at the same time."""


class _StorePlace:
    """The identities of the files of a store when it was opened.

    Only names are examined, and no file is opened: closing a second descriptor of a file would release the
    locks that SQLite holds on it (https://www.sqlite.org/howtocorrupt.html, 2.2).
    """

    def __init__(self, path: Path) -> None:
        """Record which file has this name now."""
        self._path = path
        self._known: dict[str, _Identity | None] = {str(path): _identity(str(path))}

    def hold(self) -> None:
        """Record the log as well: it stays the same while a connection of this process is open.

        Raises:
            MovedError: the file is not the one that was opened.
        """
        self.check()
        for suffix in _LOGS:
            name = f"{self._path}{suffix}"
            self._known[name] = _identity(name)

    def check(self) -> None:
        """Check that every name still belongs to the same file; takes some microseconds.

        Raises:
            MovedError: a file was removed, moved or replaced; the text says which, and its new name if known.
        """
        for name, known in self._known.items():
            found = _identity(name)
            # A log that did not exist when it was recorded may appear later.
            if found != known and known is not None:
                error = MovedError(f"{name} was {_fate(known, is_there=found is not None)}")
                error.is_replaced = found is not None
                raise error


def _identity(name: str) -> _Identity | None:
    try:
        found = os.stat(name)  # noqa: PTH116 - a Path takes three times as long, and this is done at each save
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _fate(known: _Identity, *, is_there: bool) -> str:
    """Return a phrase for what happened to a file that this process has open."""
    where = next(_names_of(known), "")
    if is_there:
        return f"replaced by another file{where and f' and is {where} now'}"
    return f"moved to {where}" if where else "removed"


def _names_of(known: _Identity) -> Iterator[str]:
    """Yield the present names of an open file, as far as the system tells (Linux)."""
    with suppress(OSError):
        for descriptor in _OPEN_FILES.iterdir():
            with suppress(OSError):
                found = descriptor.stat()
                # Without a link the file has no name any more.
                if (found.st_dev, found.st_ino) == known and found.st_nlink:
                    yield str(descriptor.readlink())
