"""Opens connections to a file: chooses the SQLite library, sets its pragmas, begins transactions."""

from __future__ import annotations

import os
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import NullPool, QueuePool, create_engine, event

from arena_db.backend.settings import StoreSettings
from arena_db.backend.sqlite.dialect import COMPILED, URL
from arena_db.errors import UnsupportedError
from arena_db.failures import explain
from arena_db.judging import NUM_MISTAKES, num_mistakes

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from sqlalchemy import Connection, Engine

SAFE_SQLITE: Final = (3, 51, 3)
"""From this version on two connections may write or checkpoint at once; before, a reset of the write-ahead
log could lose pages (https://www.sqlite.org/wal.html#walresetbug)."""

_DRIVERS: Final = ("pysqlite3.dbapi2", "sqlite3")
"""SQLite libraries in order of preference: pysqlite3 is newer where it is installed. The second is loaded
only if the first is too old, since both together take a megabyte more."""

_CACHE_KIB: Final = 65_536
"""Page cache of a writing connection, in KiB. With SQLite's default of 2 MiB the pages that 10,000 matches
change are written over and over: 5,500 matches a second instead of 12,000, on a busy machine."""

_READER_CACHE_KIB: Final = 512
"""Page cache of a read-only connection, in KiB. A viewer has several, and a server one per thread; the system
caches the file, too. Tables, pages about bots and jumps in a list of 200,000 matches are as fast as with 2
MiB."""

_LOG_KEPT: Final = 16 << 20
"""Maximum number of bytes of a write-ahead log that stay on the disk when it is reset."""

_LOG_PAGES: Final = 4000
"""Number of log pages (16 MiB) after which a commit checkpoints: four times SQLite's default halves the
writes to the file, because matches change the same pages again and again."""

_SQLITE_LOG_PAGES: Final = 1000
"""SQLite's default number of log pages after which a commit checkpoints."""

_RETRY_S: Final = 0.01
"""Seconds between two attempts to enable write-ahead logging, while another process does it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """An SQLite library."""

    module: Any
    single_writer: bool
    """Whether two concurrent writers could damage a store."""


def find_driver() -> Driver:
    """Return the first SQLite library that is safe with several writers, otherwise Python's own."""
    modules: list[Any] = []
    for name in _DRIVERS:
        if find_spec(name.partition(".")[0]):
            modules.append(import_module(name))
            if modules[-1].sqlite_version_info >= SAFE_SQLITE:
                return Driver(module=modules[-1], single_writer=False)
    return Driver(module=modules[-1], single_writer=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings(StoreSettings):
    """How a store in a file is opened."""

    place: Path
    """Absolute path."""
    driver: Driver = field(default_factory=find_driver)


def open_raw(settings: FileSettings, *, create: bool = False, foreign_keys: bool = True) -> Any:  # noqa: ANN401 — one of two libraries
    """Return a driver's connection; every pragma is set and read back.

    Raises:
        DatabaseError: it cannot be opened, is not a database, or is in a place without write-ahead logging.
    """
    module = settings.driver.module
    try:
        raw = module.connect(
            _uri(settings, create=create),
            uri=True,
            timeout=settings.busy_ms / 1000,
            # The driver must not begin transactions, and `interrupt` comes from another thread.
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            _set_pragmas(raw, settings, foreign_keys=foreign_keys)
            raw.create_function(NUM_MISTAKES, 2, num_mistakes, deterministic=True)
        except BaseException:
            raw.close()
            raise
    except (module.Error, UnicodeDecodeError) as error:
        raise explain(error, settings.place) from error
    return raw


def make_engine(
    settings: FileSettings, check: Callable[[], None] = lambda: None, raws: dict[int, Any] | None = None
) -> Engine:
    """Return the engine of an existing store; transactions of `writing` take the write lock at once.

    Args:
        settings: settings of the store.
        check: called each time the file was opened; may raise if it is not the expected file.
        raws: filled with the open connections of the driver, by `id`.
    """

    def connect() -> Any:  # noqa: ANN401 - one of two libraries
        raw = open_raw(settings)
        try:
            # After the open, not before: in between, the name could be given to another file.
            check()
        except BaseException:
            raw.close()
            raise
        return raw

    engine = _engine(settings, QueuePool, connect)
    if raws is not None:

        @event.listens_for(engine, "connect")
        def opened(raw: Any, record: object) -> None:  # pyright: ignore[reportUnusedFunction] # noqa: ANN401 - see above
            del record
            raws[id(raw)] = raw

        @event.listens_for(engine, "close")
        def closed(raw: Any, record: object) -> None:  # pyright: ignore[reportUnusedFunction] # noqa: ANN401 - see above
            del record
            raws.pop(id(raw), None)

    return engine


def make_migration_engine(settings: FileSettings) -> Engine:
    """Return an engine for changes of tables; it creates the file if there is none.

    Foreign keys are off: with them on, rebuilding a table deletes the rows that refer to it.
    """
    return _engine(settings, NullPool, lambda: open_raw(settings, create=True, foreign_keys=False))


def _engine(settings: FileSettings, pool: type[QueuePool | NullPool], creator: Callable[[], Any]) -> Engine:
    engine = create_engine(
        URL,
        module=settings.driver.module,
        creator=creator,
        poolclass=pool,
        execution_options={"compiled_cache": COMPILED},
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction] — the decorator keeps it
        # A deferred transaction that begins to write after another's commit fails at once, whatever the
        # timeout.
        write = connection.get_execution_options().get("arena_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


@contextmanager
def writing(
    engine: Engine, settings: FileSettings, after: Callable[[Any], None] | None = None
) -> Generator[Connection]:
    """Yield a connection that holds the write lock; commit at the end, roll back on an error.

    Args:
        engine: engine of the store.
        settings: how long to wait for the lock, and whether to sync.
        after: called with the driver's connection after the commit.
    """
    with writer_lock(settings), engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        # Set for each transaction: the connection comes from the pool with the settings of the last one.
        raw.execute(f"PRAGMA busy_timeout={settings.busy_ms}").fetchall()
        raw.execute(f"PRAGMA synchronous={_synchronous(settings)}").fetchall()
        with connection.execution_options(arena_write=True).begin():
            yield connection
        # A checkpoint is not possible within a transaction.
        if after is not None:
            after(raw)


@contextmanager
def writer_lock(settings: FileSettings, *, always: bool = False) -> Generator[None]:
    """Exclude all other writers if the library permits only one; `always` excludes other `always` callers.

    The lock is a transaction on a second, empty database beside the store: it needs no write-ahead log, works
    on every system and ends with its process.
    """
    if settings.read_only or not (always or settings.driver.single_writer):
        yield
        return
    module = settings.driver.module
    # The file is never removed: a process that waits for the lock has it open, and would then lock a file
    # without a name, beside another one that locks the next file.
    lock = settings.place.with_name(settings.place.name + "-lock")
    try:
        raw = module.connect(lock, timeout=settings.busy_ms / 1000, isolation_level=None)
        with closing(raw):
            raw.execute("BEGIN EXCLUSIVE")
            yield
    except module.Error as error:
        raise explain(error, settings.place) from error


def _uri(settings: FileSettings, *, create: bool) -> str:
    mode = "ro" if settings.read_only else "rwc" if create else "rw"
    uri = f"{settings.place.as_uri()}?mode={mode}"
    if settings.read_only and not os.access(settings.place.parent, os.W_OK) and not has_log(settings.place):
        # No process can be writing there. Without a log the reader would have to create shared memory in this
        # folder.
        uri += "&immutable=1"
    return uri


def _log_pages(settings: FileSettings) -> int:
    """Return the number of log pages after which SQLite checkpoints by itself; 0 if it must not."""
    if settings.driver.single_writer:
        return 0
    # Without syncs a power cut loses the content of the log, so it is kept as short as by default.
    return _SQLITE_LOG_PAGES if settings.fast else _LOG_PAGES


def _synchronous(settings: FileSettings) -> int:
    """Return SQLite's number for `synchronous`: NORMAL if `fast`, otherwise FULL."""
    return 1 if settings.fast else 2


def has_log(path: Path) -> bool:
    """Return whether a write-ahead log is beside a store: it is in use, or a process ended suddenly."""
    return path.with_name(path.name + "-wal").exists()


def _set_pragmas(raw: Any, settings: FileSettings, *, foreign_keys: bool) -> None:  # noqa: ANN401 — see above
    wanted: dict[str, int | str] = {
        "busy_timeout": settings.busy_ms,
        "foreign_keys": int(foreign_keys),
        # A schema from elsewhere calls harmless functions only; damage of a page is noticed when it is read.
        "trusted_schema": 0,
        "cell_size_check": 1,
        # An error of the disk in mapped memory is a signal, which would end the process.
        "mmap_size": 0,
        # Negative: in KiB instead of pages.
        "cache_size": -(_READER_CACHE_KIB if settings.read_only else _CACHE_KIB),
        "journal_size_limit": _LOG_KEPT,
    }
    # Only a writer can enable the log, and only a writer commits. The mode is stored in the file.
    if not settings.read_only:
        wanted |= {"journal_mode": "wal", "synchronous": _synchronous(settings)}
    wanted["wal_autocheckpoint"] = _log_pages(settings)
    for name, value in wanted.items():
        _set_pragma(raw, settings, f"PRAGMA {name}={value}")
        got = raw.execute(f"PRAGMA {name}").fetchone()
        # A library that was compiled without mapped memory returns no row for its size.
        if got is not None and got[0] != value:
            raise UnsupportedError(
                f"SQLite does not accept {name}={value} for {settings.place} (it stays {got[0]}); "
                "keep the store on a local disk, and name it with --db FILE"
            )


def _set_pragma(raw: Any, settings: FileSettings, pragma: str) -> None:  # noqa: ANN401 — see above
    """Set a pragma.

    Retry while the file is busy, as SQLite does not wait when enabling write-ahead logging.
    """
    deadline = time.monotonic() + settings.busy_ms / 1000
    while True:
        try:
            raw.execute(pragma).fetchall()
        except settings.driver.module.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return
