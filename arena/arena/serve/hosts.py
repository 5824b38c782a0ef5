"""The host names that the server answers to, and the origins of its own pages."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from arena.serve.server_options import ServeSettings

_HOST: Final = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?::(?P<port>[0-9]{1,5}))?")
_HTTP_PORT: Final = 80
_LOCAL: Final[tuple[str, ...]] = ("localhost", "127.0.0.1", "[::1]")


def host_names(settings: ServeSettings) -> frozenset[str]:
    """Return the accepted host names, in lower case and without a port.

    Other names are refused: a foreign domain can be pointed at this address, so that its pages could read
    ours (DNS rebinding).
    """
    names: set[str] = {*_LOCAL}
    names.add(f"[{settings.host}]" if ":" in settings.host else settings.host.lower())
    if settings.public_url:
        names.add(_name_of(urlsplit(settings.public_url).netloc))
    return frozenset(names)


def is_ours(host: str, names: frozenset[str]) -> bool:
    """Return whether the host of a request is one of the server's names, with any port."""
    return _name_of(host) in names


def origins(settings: ServeSettings) -> frozenset[str]:
    """Return the origins of our own pages, in the form browsers send: scheme, name and port."""
    if settings.public_url:
        parts = urlsplit(settings.public_url)
        return frozenset({f"{parts.scheme}://{parts.netloc.lower()}"})
    names = host_names(settings)
    found = {f"http://{name}:{settings.port}" for name in names}
    # Browsers omit the default port.
    if settings.port == _HTTP_PORT:
        found |= {f"http://{name}" for name in names}
    return frozenset(found)


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _name_of(host: str) -> str:
    found = _HOST.fullmatch(host)
    return found["name"].lower().rstrip(".") if found else ""
