"""What the operator of a server chose."""

from __future__ import annotations

import msgspec


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `arena serve`; the defaults are those of a server that only its own machine reaches."""

    db: str | None = None
    """Path of the store; None for the usual place."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = 8642
    """Port to listen on; 0 for any that is free."""
    public_url: str = ""
    """`https://…` under which a proxy publishes the server, without a slash at its end; empty for none."""
    anonymous: bool = False
    """Whether pages and streams need no token."""
    read_only: bool = False
    """Whether even the host's commands are refused."""
    delay: int = 0
    """Plies by which positions of running matches are held back, because viewers can be opponents."""
    proxy_hops: int = 0
    """Proxies in front of the server whose `X-Forwarded-For` is believed; 0 for none."""
    title: str = "arena"
    """Heading of the first page."""

    @property
    def is_https(self) -> bool:
        """Return whether browsers reach the server by https, so that cookies may be bound to it."""
        return self.public_url.startswith("https://")
