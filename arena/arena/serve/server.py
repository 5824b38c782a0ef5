"""Runs the application until it is told to end."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Final

import uvicorn
from typing_extensions import override

from arena.errors import ConfigError
from arena.serve.asgi_app import make_app
from arena.serve.connections import HEAD_S, PatientProtocol
from arena.serve.hosts import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

    from starlette.applications import Starlette

    from arena.serve.request_context import Serving
    from arena.serve.server_options import ServeSettings

_NICE: Final = 5
"""Niceness of the server: matches have priority over pages."""
_MOST_CONNECTIONS: Final = 3000
"""Maximum number of connections of all clients; beyond, requests are answered with 503."""
_MOST_HEAD: Final = 16_384
"""Maximum size in bytes of the head of a request."""
_FILES: Final = 4096
"""Number of open files and connections that the process requests from the system."""
_END_S: Final = 1
"""Seconds to finish running answers when the server ends."""
_BACKLOG: Final = 512
"""Number of connections that may wait to be accepted."""


def listen(settings: ServeSettings) -> socket.socket:
    """Return a listening socket for the settings.

    Raises:
        ConfigError: other machines would reach it without TLS, the port is taken, or the address does not
            belong to this machine.
    """
    where = f"{settings.host}:{settings.port}"
    if not is_loopback(settings.host) and not settings.is_https:
        raise ConfigError(
            f"--bind {where} is reached from other machines, so tokens would cross the network in the clear; "
            "put a proxy with TLS in front and give its address, --public-url https://NAME, or bind 127.0.0.1"
        )
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigError(
            f"--bind {where}: {error.strerror}; name an address of this machine, as in 127.0.0.1:8642"
        ) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"--bind {where}: {error.strerror}; give another port, or --bind {settings.host}:0 for a free one"
        ) from error
    return listener


def serve(settings: ServeSettings, listener: socket.socket, is_ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; then streams end at once, other answers have a second.

    Args:
        settings: the settings, with the port of the listener.
        listener: the socket from `listen`.
        is_ready: called with the host's link once requests are answered.
    """
    app = make_app(settings)
    # Malformed requests are not the operator's concern, and would let clients fill the log.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    _make_room()
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    is_ready(f"{settings.public_url or _local_url(settings)}/?token={app.state.callers.host_token}")
    _Server(configured(app), app.state.serving).run(sockets=[listener])


def configured(app: Starlette) -> uvicorn.Config:
    """Return the configuration with which uvicorn runs the application."""
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # The guard determines the client's address, and trusts only as many proxies as the operator says.
        proxy_headers=False,
        timeout_keep_alive=int(HEAD_S),
        timeout_graceful_shutdown=_END_S,
        limit_concurrency=_MOST_CONNECTIONS,
        h11_max_incomplete_event_size=_MOST_HEAD,
    )


def _local_url(settings: ServeSettings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def _make_room() -> None:
    """Raise the limit of open files so that all streams fit; Windows has no such limit."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Server(uvicorn.Server):
    """Closes streams as soon as it is told to end, and does not re-raise the signal afterwards."""

    def __init__(self, config: uvicorn.Config, serving: Serving) -> None:
        super().__init__(config)
        self._serving = serving

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._serving.ending.set()

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
