"""The place of a store: a file, or a database of a PostgreSQL server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from arena_db.errors import UnsupportedError

if TYPE_CHECKING:
    from urllib.parse import SplitResult

_SCHEMES: Final = ("postgresql", "postgres")
_OPTIONS: Final = ("host", "user", "service", "sslrootcert", "sslcert", "sslkey", "passfile")
"""Query parameters that a URL may have besides `insecure`."""
_SECRETS: Final = ("password", "sslpassword")
_INSECURE: Final = "insecure"
NO_COPY: Final = (
    'this is a PostgreSQL database: pg_dump -Fc "service=arena" -f FILE copies it; arena db merge copies it '
    "to an SQLite store"
)
"""The message with which a backup is refused; it names the alternatives."""
SECURE: Final = "verify-full"
"""The TLS mode that verifies the certificate and the host name, so that the connection cannot be
intercepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A database of a server; its text is the URL without options that matter only on this machine."""

    database: str = ""
    """Name of the database; if empty, that of the service, or else the name of the user."""
    host: str = ""
    """A host name, an address or the folder of a socket; if empty, that of the service or environment."""
    port: int | None = None
    user: str = ""
    options: tuple[tuple[str, str], ...] = ()
    """Other options of libpq."""
    is_insecure: bool = False
    """Whether a connection without verified TLS was requested."""

    def __str__(self) -> str:
        from urllib.parse import quote

        known = dict(self.options)
        name = self.name
        if "service" in known and not self.database:
            return f"postgresql:///?service={quote(known['service'])}"
        host = "" if self.host.startswith("/") else self.host
        host = f"[{host}]" if ":" in host else host
        port = f":{self.port}" if self.port is not None and host else ""
        return f"postgresql://{f'{self.user}@' if self.user else ''}{host}{port}/{name}"

    @property
    def name(self) -> str:
        """Name of the store on a screen."""
        return self.database or dict(self.options).get("service", "") or self.user

    @property
    def url(self) -> str:
        """The URL by which another process finds the same database."""
        from urllib.parse import quote

        told = list(self.options)
        if self.host.startswith("/"):
            told.append(("host", self.host))
        if self.is_insecure:
            told.append((_INSECURE, "1"))
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in told)
        host = "" if self.host.startswith("/") else self.host
        host = f"[{host}]" if ":" in host else host
        port = f":{self.port}" if self.port is not None else ""
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        return f"postgresql://{user}{host}{port}/{quote(self.database, safe='')}{query and f'?{query}'}"

    @property
    def tls(self) -> dict[str, str]:
        """TLS options for libpq: none on this machine, elsewhere the strictest mode."""
        return {} if self.is_insecure or _is_local(self._real_host()) else {"sslmode": SECURE}

    def _real_host(self) -> str:
        service = dict(self.options).get("service") or os.environ.get("PGSERVICE", "")
        return self.host or _host_of(service) or os.environ.get("PGHOST", "")


Place: TypeAlias = Path | Server


def find_place(location: str | Place) -> Place:
    """Return the place of a store that a path, `sqlite:///path` or `postgresql://USER@HOST/DB` names.

    Raises:
        UnsupportedError: it is the URL of another kind of server, a folder, a device or a pipe, or it
            contains a password.
    """
    if isinstance(location, Server):
        return location
    text = str(location)
    scheme, separator, rest = text.partition("://")
    if separator and isinstance(location, str):
        if scheme in _SCHEMES:
            return _server(text)
        if scheme != "sqlite" or not rest.startswith("/"):
            raise UnsupportedError(
                f"{scheme}://… cannot hold a store; give a file, or postgresql://USER@HOST/DB"
            )
        text = rest[1:]
    path = Path(text).absolute()
    if path.is_dir():
        raise UnsupportedError(f"{path} is a folder; give a file in it")
    if path.exists() and not path.is_file():
        # SQLite would block for ever on a pipe.
        raise UnsupportedError(f"{path} is not a regular file; give a file on a local disk")
    return path


def _server(text: str) -> Server:
    """Parse the URL of a server; no message repeats it, because it may contain a password."""
    # Imported here and below, because stores in files need none of it.
    from urllib.parse import parse_qsl, unquote, urlsplit

    try:
        parts = urlsplit(text)
        # The port is parsed only here, and is an error if it is not a number.
        port, pairs = parts.port, parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)
    except ValueError:
        if not (query := text.partition("?")[2]) or _SECRETS[0] in query:
            raise _odd("it cannot be parsed") from None
        raise _odd("the part after ? is not a list of NAME=VALUE") from None
    _refuse_secrets(parts, pairs)
    options = dict(pairs)
    unknown = sorted(options.keys() - {*_OPTIONS, _INSECURE, "sslmode"})
    if unknown:
        raise _odd(f"{unknown[0]} is not one of its options ({', '.join(_OPTIONS)})")
    is_insecure = options.pop(_INSECURE, "") not in {"", "0"}
    if options.pop("sslmode", SECURE) != SECURE:
        raise UnsupportedError(
            f"a store on a server is reached only with sslmode={SECURE}, except on this machine; omit "
            "sslmode, or add --db-insecure on a network that you trust"
        )
    return Server(
        database=unquote(parts.path.removeprefix("/")),
        host=options.pop("host", "") or unquote(parts.hostname or ""),
        port=port,
        user=options.pop("user", "") or unquote(parts.username or ""),
        options=tuple(sorted(options.items())),
        is_insecure=is_insecure,
    )


def _odd(why: str) -> UnsupportedError:
    return UnsupportedError(f"the URL of the server is not valid: {why}; write postgresql://USER@HOST/DB")


def _refuse_secrets(parts: SplitResult, pairs: list[tuple[str, str]]) -> None:
    if parts.password is None and not any(name in _SECRETS for name, _ in pairs):
        return
    raise UnsupportedError(
        "the URL of the server holds a password, which other processes can read; leave it out, and "
        "write HOST:PORT:DB:USER:PASSWORD into ~/.pgpass (mode 0600), or give a service: "
        "postgresql:///?service=NAME with the rest in ~/.pg_service.conf"
    )


def _is_local(host: str) -> bool:
    """Return whether a host is a socket of this machine, or its loopback address."""
    import ipaddress

    if not host or host[0] in "/@" or host == "localhost":
        return True
    try:
        return all(ipaddress.ip_address(each).is_loopback for each in host.split(","))
    except ValueError:
        return False


def _host_of(service: str) -> str:
    """Return the host that a service file defines for a service; libpq reads the rest of it."""
    from configparser import ConfigParser
    from configparser import Error as ConfigParserError

    if not service:
        return ""
    known = ConfigParser(interpolation=None, strict=False)
    file = os.environ.get("PGSERVICEFILE") or Path("~/.pg_service.conf").expanduser()
    try:
        known.read(file)
    except (OSError, ConfigParserError, UnicodeDecodeError):
        return ""
    return known.get(service, "hostaddr", fallback="") or known.get(service, "host", fallback="")
