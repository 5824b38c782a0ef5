"""Reads the key file of a machine, tests an address with it, and keeps that of the scheduler started here."""

from __future__ import annotations

import datetime as dt
import re
import socket
import ssl
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from arena.errors import ConfigError
from arena.home import home
from arena_db.files import write_durably

HEADER = "# key of an arena cluster:"
"""Start of a key file; the machine's name and the end of validity follow."""
TRY_S = 4.0
"""Seconds to wait for the first answer of the scheduler."""
_MAX_PORT = 65535
_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----\n.*?-----END \1-----\n", re.DOTALL)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
# Used with `fullmatch`: names such as localhost.lan, or 127.lab.example, may be other machines.
_LOOPBACK = re.compile(r"127(\.[0-9]{1,3}){1,3}|localhost|::1|\[::1\]")


class KeyFile(NamedTuple):
    """What a machine needs to join a cluster, as PEM texts."""

    name: str
    authority: str
    """Certificate of the cluster's own authority."""
    certificate: str
    key: str
    path: Path


class SchedulerPlace(NamedTuple):
    """The address of a scheduler and the key for it."""

    address: str
    """In Dask's notation: `tls://HOST:PORT`, or `tcp://127.0.0.1:PORT`."""
    key: KeyFile | None
    """None for plain TCP, which is allowed only on this machine."""


def read_key(path: Path) -> KeyFile:
    """Read a key file that `arena cluster keys` wrote.

    Raises:
        ConfigError: it is missing, is readable by others, is not a key, or has expired.
    """
    try:
        status = path.stat()
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a key"
        raise ConfigError(f"cannot read {path}: {why}; arena cluster keys makes keys") from error
    if status.st_mode & _OTHERS:
        raise ConfigError(
            f"other users may read {path}, and with it run code on every machine of the cluster; "
            f"run chmod 600 {path}, and arena cluster keys --renew if somebody may have read it"
        )
    head = re.match(rf"{HEADER} (\S+), valid until (\S+)\n", text)
    blocks = [(found.group(1), found.group(0)) for found in _PEM.finditer(text)]
    keys = [block for kind, block in blocks if kind.endswith("PRIVATE KEY")]
    certificates = [block for kind, block in blocks if kind == "CERTIFICATE"]
    if head is None or len(keys) != 1 or len(certificates) != 2:  # noqa: PLR2004 - its own, its authority's
        raise ConfigError(f"{path} is not the key of a machine; arena cluster keys NAME makes one")
    until = dt.datetime.fromisoformat(head.group(2))
    if until <= dt.datetime.now(dt.UTC):
        raise ConfigError(
            f"{path} was valid until {until:%Y-%m-%d}; arena cluster keys --renew makes new ones"
        )
    # OpenSSL prescribes the order in the file: the machine's own certificate, then that of its authority.
    return KeyFile(head.group(1), certificates[1], certificates[0], keys[0], path)


def find_place(address: str, keys: Path | None) -> SchedulerPlace:
    """Return the place of a scheduler from the arguments of a command line.

    Without `keys`, a scheduler that was started on this machine has the key with which it was started.

    Raises:
        ConfigError: the address cannot be parsed, or leaves this machine without a key; or as `read_key`.
    """
    scheme, _, rest = address.partition("://")
    host, _, port = rest.rpartition(":")
    if scheme not in {"tls", "tcp"} or not _is_host(host) or not _is_port(port):
        raise ConfigError(f"'{address}' is not the address of a scheduler; write tls://HOST:PORT")
    if scheme == "tcp":
        if not _LOOPBACK.fullmatch(host):
            raise ConfigError(
                f"{address}: without encryption, a scheduler can only be reached on this machine; write "
                f"tls://{rest} and add --keys FILE (arena cluster keys makes it)"
            )
        return SchedulerPlace(address, None)
    known = known_cluster() if keys is None else None
    if known is not None and known.address == address:
        keys = known.keys
    if keys is None:
        raise ConfigError(f"{address} needs --keys FILE; arena cluster keys makes one for each machine")
    return SchedulerPlace(address, read_key(keys.expanduser()))


def _is_host(text: str) -> bool:
    return bool(text) and "/" not in text and not any(map(str.isspace, text))


def _is_port(text: str) -> bool:
    """Return whether a text is the number of a TCP port; 0 lets the system choose one."""
    return text.isascii() and text.isdigit() and int(text) <= _MAX_PORT


def check_bind(bind: str) -> None:
    """Check the option --bind.

    Raises:
        ConfigError: it is not HOST:PORT.
    """
    host, _, port = bind.rpartition(":")
    if not _is_host(host) or not _is_port(port):
        raise ConfigError(f"--bind '{bind}' is not valid; write HOST:PORT, such as 192.168.1.10:8786")


class KnownCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a scheduler and the path of its key file; the key itself is not copied."""

    address: str
    keys: Path | None


def note_cluster(address: str, keys: Path | None) -> None:
    """Store the address of a scheduler started on this machine; errors of the file system are ignored."""
    known = KnownCluster(address=address, keys=None if keys is None else keys.absolute())
    with suppress(OSError):
        home().mkdir(parents=True, exist_ok=True)
        # Written atomically: a process that waits for the file must not read an empty one.
        write_durably(_file(), msgspec.json.encode(known, enc_hook=str))


def known_cluster() -> KnownCluster | None:
    """Return the cluster that was stored last; None if there is none."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(
            _file().read_bytes(), type=KnownCluster, dec_hook=lambda _, text: Path(text)
        )
    return None


def _file() -> Path:
    return home() / "cluster.json"


def client_context(key: KeyFile) -> ssl.SSLContext:
    """Return a TLS 1.3 context in which both ends need a certificate of the cluster's authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # Keys name machines, not hosts: only the authority that signed a certificate counts.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=key.authority)
    context.load_cert_chain(key.path)
    return context


def try_place(place: SchedulerPlace) -> None:
    """Return if a scheduler answers and accepts the key; waits at most `TRY_S` seconds.

    Raises:
        ConfigError: nothing answers, or one end rejects the other; the message says which.
    """
    host, _, port = place.address.partition("://")[2].rpartition(":")
    where = place.address
    try:
        with socket.create_connection((host.strip("[]"), int(port)), TRY_S) as plain:
            plain.settimeout(TRY_S)
            if place.key is None:
                _await_word(plain, where)
                return
            with client_context(place.key).wrap_socket(plain) as secure:
                _await_word(secure, where)
    # In this order, because each of these errors is a kind of the next one.
    except ssl.SSLCertVerificationError as error:
        raise ConfigError(
            f"the scheduler at {where} has a key of another cluster, or an expired one "
            f"({error.verify_message}); use a key that was made together with the scheduler's"
        ) from error
    except ssl.SSLError as error:
        name = str(place.key and place.key.path)
        raise ConfigError(
            f"{where} refuses the key {name} ({error.reason}); use one that was made with the scheduler's "
            "by arena cluster keys, on a port where arena cluster start listens"
        ) from error
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigError(
            f"nothing answers at {where} ({why}); arena cluster start --bind HOST:PORT starts a scheduler"
        ) from error


def _await_word(connection: socket.socket, where: str) -> None:
    """Wait for a scheduler's first bytes: with TLS 1.3, a rejected certificate is noticed only then."""
    with suppress(TimeoutError):
        if not connection.recv(1):
            raise ConfigError(
                f"{where} closes the connection at once; was it started by arena cluster start?"
            )
        return
    raise ConfigError(
        f"no Dask scheduler answers at {where}; arena cluster start starts one, and one with keys is "
        "reached by tls:// and --keys FILE"
    )
