"""The backend of a store in a database of a PostgreSQL server."""

from __future__ import annotations

import re
from contextlib import closing, contextmanager, suppress
from math import isnan
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, Final, cast
from zlib import crc32

import psycopg
from psycopg.adapt import Loader
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import FloatBinaryDumper, FloatDumper
from sqlalchemy import QueuePool, create_engine, inspect

from arena_db.backend import revisions
from arena_db.backend.held import one_snapshot
from arena_db.backend.places import NO_COPY, Server
from arena_db.errors import AwayError, DatabaseError, ForeignError, MissingError, UnsupportedError
from arena_db.failures import explain
from arena_db.models import REVISION

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from psycopg.abc import Buffer
    from sqlalchemy import Connection, Engine, PoolProxiedConnection

    from arena_db.backend.settings import StoreSettings

LEAST_VERSION: Final = 150_000
"""Oldest supported version of a server, 15.0, in the numbers of libpq's `server_version`."""
CONNECT_S: Final = 4
"""Seconds to wait for each address of the server, so that a command fails within 6 s."""
_NO_LOGIN: Final = "write HOST:PORT:DB:USER:PASSWORD into ~/.pgpass (mode 0600) and GRANT the user access"
_NO_PROOF: Final = (
    "name the authority that signed the server's certificate with ?sslrootcert=FILE, add --db-insecure on a "
    "network that you trust"
)
_STEPS: Final = (
    (r'database ".*" does not exist', "create it: createdb -E UTF8 -T template0 {name}"),
    (r'password|role ".*" does not exist|pg_hba\.conf', _NO_LOGIN),
    (r"root certificate|certificate verify|does not support SSL", _NO_PROOF),
)
"""What a server or libpq says when it refuses a connection, and the next step; the first match counts."""
LOCK: Final = 0x6172_6E61
"""Key of the advisory lock of all writers (the bytes of `arna`); such locks are per database."""
_POOL: Final = 5
"""Connections of one process that stay open."""
_MOST_MORE: Final = 40
"""Maximum number of further connections of one process: viewers read in many threads."""
_IDLE_MS: Final = 20_000
"""Milliseconds of silence after which the server ends a client's transaction: it holds locks, and the client
was stopped or is unreachable."""
_ASKED_EVERY_S: Final = 0.05
"""Seconds between two checks of whether the running queries are still wanted."""
_UNREACHED_MS: Final = 20_000
"""Milliseconds of network silence after which a connection is abandoned."""

_BEGIN: Final = (
    # `true` limits a setting to the transaction, because the connection goes back to the pool.
    "SELECT set_config('lock_timeout', '{busy}', true), set_config('synchronous_commit', '{sync}', true), "
    "pg_advisory_xact_lock{shared}({lock})"
)
_VERSION: Final = "SELECT pg_current_snapshot()::text"
"""Query that lists the running transactions; its result changes whenever one has ended."""


class _FiniteText(FloatDumper):
    """Refuses a NaN: in PostgreSQL it satisfies every rule of a table; SQLite stores it as NULL."""

    def dump(self, obj: float) -> Buffer | None:
        return super().dump(_finite(obj))


class _FiniteBinary(FloatBinaryDumper):
    """Refuses a NaN in a parameter that is sent in binary form."""

    def dump(self, obj: float) -> Buffer | None:
        return super().dump(_finite(obj))


class _WholeNumber(Loader):
    """Reads a sum of 64-bit integers, of type numeric, as an integer instead of psycopg's Decimal."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data))


def _finite(number: float) -> float:
    if isnan(number):
        raise psycopg.DataError("a number is nan")
    return number


def connect(server: Server) -> psycopg.Connection[Any]:
    """Return a new connection; passwords come only from the files of libpq.

    Raises:
        AwayError: the server cannot be reached, or rejects this user.
        UnsupportedError: the server is too old, or its strings have another encoding.
    """
    told: dict[str, Any] = {"dbname": server.database, "host": server.host, "user": server.user}
    told |= {"port": server.port} | dict(server.options) | server.tls
    try:
        raw = psycopg.connect(
            **{name: value for name, value in told.items() if value},
            connect_timeout=CONNECT_S,
            application_name="arena",
            client_encoding="utf8",
            tcp_user_timeout=_UNREACHED_MS,
            options=f"-c idle_in_transaction_session_timeout={_IDLE_MS}",
        )
    except psycopg.Error as error:
        raise _explain_refusal(error, server) from error
    for dumper in (_FiniteText, _FiniteBinary):
        raw.adapters.register_dumper(float, dumper)
    raw.adapters.register_loader("numeric", _WholeNumber)
    version: int = raw.info.server_version
    if version < LEAST_VERSION:
        # A closed connection has no version.
        raw.close()
        raise UnsupportedError(
            f"{server} is PostgreSQL {version // 10_000}; a store needs version "
            f"{LEAST_VERSION // 10_000} or later"
        )
    return raw


def _explain_refusal(error: psycopg.Error, server: Server) -> DatabaseError:
    """Return the error for a connection that was not made, with the next step."""
    # The error has no SQLSTATE before there is a connection. A server that speaks another language than
    # English is explained in general.
    text = " ".join(str(error).split())
    for part, step in _STEPS:
        if re.search(part, text):
            return AwayError(f"{server} cannot be reached ({text}); {step.format(name=server.name)}")
    return explain(error, server)


def is_there(server: Server) -> bool:
    """Return whether a database contains a store.

    Raises:
        MissingError: the server cannot be reached.
    """
    try:
        opened = connect(server)
    except AwayError as error:
        raise MissingError(f"{error}, or name another store with --db") from error
    with closing(opened) as raw:
        return raw.execute("SELECT to_regclass('alembic_version')").fetchall() != [(None,)]


def prepare(settings: StoreSettings, *, create: bool) -> None:
    """Create or upgrade the tables, so that they have the current revision.

    Raises:
        DatabaseError: the database cannot be used; the subclass says why.
    """
    backend = PostgresBackend(settings)
    try:
        _prepare(backend, settings, may_create=create)
    except AwayError as error:
        raise MissingError(f"{error}, or name another store with --db") from error
    finally:
        backend.close()


def _prepare(backend: PostgresBackend, settings: StoreSettings, *, may_create: bool) -> None:
    with backend.reading(None) as connection:
        revision = _revision(connection, settings.place)
    if revision == REVISION:
        return
    if revision is None and (settings.read_only or not may_create):
        raise MissingError(f"no store in {settings.place}; run a tournament first, or name another with --db")
    if settings.read_only:
        raise revisions.older(settings.place, "after pg_dump")
    with backend.writing(settings, alone=True) as connection:
        revisions.bring_up_to_date(connection, _revision(connection, settings.place))


def _revision(connection: Connection, place: object) -> str | None:
    """Return the revision of the tables, None if there are none.

    Raises:
        ForeignError: there are tables that are not arena's.
        UnsupportedError: the database has another encoding than UTF-8.
        DamagedError: there is no revision.
        NewerError: a newer version made them.
    """
    names = inspect(connection).get_table_names()
    if not names:
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise UnsupportedError(
                f"{place} has the encoding {encoding}; make another: createdb -E UTF8 -T template0"
            )
        return None
    if "alembic_version" not in names or "tournaments" not in names:
        raise ForeignError(
            f"{place} has tables that are not arena's; create a database for the store with createdb"
        )
    revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return revisions.known(revision, place, "restore a copy with pg_restore")


class PostgresBackend:
    """A store on a server; see `Backend`.

    All writers take an advisory lock. Runs share it, and each of them locks the lease of its tournament; any
    other writer takes it exclusively. So a writer with the exclusive lock sees the matches of all ids below
    the highest one, which the stored sums rely on.
    """

    def __init__(self, settings: StoreSettings) -> None:
        """Keep the place; no connection is opened yet."""
        self._place = cast("Server", settings.place)
        self._watch = _Watch()
        self._watchers: list[psycopg.Connection[Any]] = []
        self.engine: Engine = create_engine(
            "postgresql+psycopg://",
            creator=lambda: connect(self._place),
            poolclass=QueuePool,
            pool_size=_POOL,
            max_overflow=_MOST_MORE,
            # A server that restarted has closed the connections of the pool; without a ping the next query
            # fails.
            pool_pre_ping=True,
        )
        self.driver_error: type[Exception] = psycopg.Error
        self.spool = None

    def close(self) -> None:
        """Close all connections."""
        self._watch.close()
        for raw in self._watchers:
            raw.close()
        self.engine.dispose()

    @contextmanager
    def writing(self, settings: StoreSettings, *, alone: bool) -> Generator[Connection]:
        """Open a transaction that holds the advisory lock, exclusively or shared with other runs."""
        begin = _BEGIN.format(
            # 0 would mean to wait without end.
            busy=max(1, settings.busy_ms),
            sync="off" if settings.fast else "on",
            shared="" if alone else "_shared",
            lock=LOCK,
        )
        with self.engine.connect() as connection, _dropped_if_lost(connection), connection.begin():
            connection.exec_driver_sql(begin)
            yield connection

    def removing(self, settings: StoreSettings) -> AbstractContextManager[Connection]:
        """Write with the exclusive lock."""
        return self.writing(settings, alone=True)

    @contextmanager
    def reading(
        self, is_wanted: Callable[[], bool] | None, held: Connection | None = None
    ) -> Generator[Connection]:
        """Read one snapshot; a thread asks now and then whether the query is still wanted."""
        opened = self.engine.connect() if held is None else one_snapshot(held)
        with opened as connection, _dropped_if_lost(connection):
            # In PostgreSQL this level is snapshot isolation.
            connection.execution_options(isolation_level="REPEATABLE READ")
            if is_wanted is None:
                yield connection
                return
            with self._watch.over(connection.connection.driver_connection, is_wanted):
                yield connection

    def watcher(self) -> PoolProxiedConnection:
        """Open a connection that is in no transaction between two queries."""
        found = self.engine.raw_connection()
        raw: Any = found.driver_connection
        # Taken out of the pool, which would roll back whenever the connection is returned.
        found.detach()
        raw.autocommit = True
        # A fenced store leaves it to the store that it came from to close all connections.
        self._watchers = [*(other for other in self._watchers if not other.closed), raw]
        return found

    @contextmanager
    def looking(self, raw: Any) -> Generator[None]:  # noqa: ANN401 - a connection of psycopg
        """Run the queries of a `with` block on one snapshot."""
        raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield
        finally:
            # A lost connection has no transaction to end.
            if raw.info.transaction_status in {TransactionStatus.INTRANS, TransactionStatus.INERROR}:
                raw.execute("ROLLBACK")

    @contextmanager
    def beside(self, busy_ms: int) -> Generator[Any]:
        """Write one row without the advisory lock: no other row depends on it."""
        with closing(connect(self._place)) as raw, raw.transaction():
            raw.execute("SELECT set_config('lock_timeout', %s, true)", (str(max(1, busy_ms)),))
            yield raw

    def data_version(self, raw: Any) -> int:  # noqa: ANN401 - see above
        """Return a number derived from the running transactions of all databases of the server."""
        # Callers only compare it with the number before.
        return crc32(raw.execute(_VERSION).fetchone()[0].encode())

    def interrupt(self) -> None:
        """Do nothing: the thread that watches queries notices an interruption."""

    def check_readable(self) -> None:
        """Do nothing: an unreachable server reports itself."""

    def check_place(self) -> None:
        """Do nothing: a connection never switches to another database."""

    def hold_place(self) -> None:
        """Do nothing: a store on a server has no files here."""

    def take_warnings(self) -> list[str]:
        """Return no warnings: the server maintains its own log."""
        return []

    def backup(self, target: Path) -> None:
        """Refuse the backup.

        Raises:
            UnsupportedError: always; it names the alternatives.
        """
        del target
        raise UnsupportedError(NO_COPY)


@contextmanager
def _dropped_if_lost(connection: Connection) -> Generator[None]:
    """Invalidate a connection that is lost in a `with` block; its pool would ask it to roll back."""
    raw: Any = connection.connection.driver_connection
    try:
        yield
    except BaseException:
        if raw.broken and not connection.invalidated:
            connection.invalidate()
        raise


class _Watch:
    """A thread that cancels queries that are no longer wanted; started by the first cancellable query."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._queries: dict[int, tuple[Any, Callable[[], bool]]] = {}
        self._thread: Thread | None = None
        self._is_closed = False

    def close(self) -> None:
        """Stop the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        # Outside of the lock, which the thread needs to end.
        if self._thread is not None:
            self._thread.join()

    @contextmanager
    def over(self, raw: Any, is_wanted: Callable[[], bool]) -> Generator[None]:  # noqa: ANN401 - of psycopg
        """Watch the queries of a `with` block."""
        with self._changed:
            self._queries[id(raw)] = raw, is_wanted
            if self._thread is None:
                self._thread = Thread(target=self._ask, name="arena-watch", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        try:
            yield
        finally:
            # Under the lock, so that a later query on the connection is not cancelled by mistake.
            with self._changed:
                del self._queries[id(raw)]

    def _ask(self) -> None:
        with self._changed:
            while not self._is_closed:
                if not self._queries:
                    self._changed.wait()
                    continue
                self._changed.wait(_ASKED_EVERY_S)
                # Still under the lock, so that no query ends, and another begins on its connection, before it
                # is cancelled.
                for raw, is_wanted in list(self._queries.values()):
                    if not is_wanted():
                        # If cancelling fails, the query ends later, or with its connection; others stay
                        # watched.
                        with suppress(psycopg.Error):
                            raw.cancel()
