"""The options of a server."""

from __future__ import annotations

import msgspec


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `arena serve`; by default the server is reachable only from its own machine."""

    db: str | None = None
    """Path of the store; None for the default place."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = 8642
    """Port to listen on; 0 for any free port."""
    public_url: str = ""
    """`https://…` under which a proxy publishes the server, without a trailing slash; empty for none."""
    anonymous: bool = False
    """Whether pages and streams need no token."""
    read_only: bool = False
    """Whether even the host's commands are refused."""
    delay: int = 0
    """Number of plies by which positions of running matches are delayed, since viewers can be opponents."""
    proxy_hops: int = 0
    """Number of trusted proxies that set `X-Forwarded-For`; 0 for none."""
    title: str = "arena"
    """Heading of the first page."""

    @property
    def is_https(self) -> bool:
        """Whether browsers reach the server over https, so that cookies can be restricted to it."""
        return self.public_url.startswith("https://")
