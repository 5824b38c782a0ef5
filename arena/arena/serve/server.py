"""Builds the ASGI application from the table of all routes, and runs it until a signal ends it.

To add a route:

1. Write the handler in a module of this package: a plain function `(reading, context)` for pages and data, an
   async one `(context)` for a stream. `rows` documents what each kind returns and raises.
2. Add a route to the tuple of your module (`PAGE_ROWS`), or a new tuple to `ROUTES` below. Path, role,
   parameters and answer type are declared in the route and nowhere else: the application checks them before
   it calls the handler, tests check the answers, and the API description is generated from them.
3. A page also has a JSON twin: at `path` + `.json`, or at `twin`.

State that is kept between requests (a hub, a cache) belongs in a class that is created with
`context.serving.part(Kind)`; it is closed with the server. Handlers import `rows`, `request_context`,
`reading` and `problems`, never this module; code that needs the table reads `context.serving.routes`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import socket
import time
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route as Registered
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from arena.errors import ConfigError
from arena.executor.open_files import allow_files
from arena.serve.api.api_rows import API_ROWS
from arena.serve.callers import Callers
from arena.serve.endpoints import endpoints
from arena.serve.guard import Guard
from arena.serve.hosts import is_loopback
from arena.serve.limits import RequestLimits
from arena.serve.live_rows import LIVE_ROWS
from arena.serve.page_routes import ASSET_ROWS, BOT_PAGE_ROWS, PAGE_ROWS
from arena.serve.problems import ProblemError
from arena.serve.request_context import Serving
from arena.serve.sending import HEALTH, SECURITY
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Callable, Generator, Sequence
    from types import FrameType

    from starlette.requests import Request
    from starlette.responses import Response

    from arena.serve.rows import Route
    from arena.serve.server_options import ServeSettings

_NICE: Final = 5
"""Niceness of the server: matches have priority over pages."""
_MOST_CONNECTIONS: Final = 3000
"""Maximum number of connections of all clients; if there are more, requests are answered with 503. With
`SPARE` it must stay below `_FILES`, otherwise the store could not be opened during a flood."""
_MOST_HEAD: Final = 16_384
"""Maximum size in bytes of the head of a request: the default of h11, named here because `_head_size` is
compared with it, too."""
_FILES: Final = 4096
"""Number of open files and connections that the process requests from the system."""
_END_S: Final = 1
"""Seconds to finish running answers when the server ends."""
_BACKLOG: Final = 512
"""Number of connections that may wait until uvicorn runs, which then sets its own number, 2,048."""


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
        # A server that is started again at once would otherwise be refused for a minute, while connections of
        # the former one are in TIME_WAIT.
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
    allow_files(_FILES)
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


class _Server(uvicorn.Server):
    """Closes streams as soon as a signal arrives, and does not re-raise the signal afterwards."""

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


HEAD_S: Final = 20.0
"""Seconds for a client to send the head of its first request, or of its next one."""
STALLED_S: Final = 30.0
"""Seconds after which a client that reads nothing of its buffered data is disconnected."""
WAITING_BYTES: Final = 16_384
"""Maximum number of bytes buffered for a client before the answer blocks.

With 1,000 slow viewers this takes a quarter of the memory of asyncio's default, 64 KiB.
"""
SPARE: Final = 500
"""Number of connections beyond the limit that are kept; the process may open 4,096 files."""
_LOOK_S: Final = 2.0
"""Seconds between two checks of a connection; 1,000 connections cost 0.2 % of a core."""
_LEAVE_S: Final = 0.3
"""Seconds to send the rest of answers when the server ends: a reader that stalls must not hold it up."""
BUSY_RETRY_S: Final = 5
"""Seconds after which a client may retry when there are too many connections."""
_PLAIN: Final = ((b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store"), *SECURITY)
_UNREADABLE: Final = b"The server cannot read this as an HTTP/1.1 request; its head may be too long.\n"
_BUSY: Final = b"The server has as many connections as it can serve; try again in some seconds.\n"


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with timeouts: uvicorn itself waits without limit for a head, and for a slow reader."""

    _waits_since = 0.0
    """Time on the loop's clock since when the head of a request is awaited."""
    _buffered = 0
    """Bytes buffered for the client at the last check."""
    _stalled_since: float | None = None
    _look: asyncio.TimerHandle | None = None

    @override
    def __init__(self, *args: Any, **named: Any) -> None:  # as uvicorn passes them
        super().__init__(*args, **named)
        # Uvicorn's own answer beyond the limit lacks our headers and an explanation.
        self._most, self.limit_concurrency = self.limit_concurrency, None
        self._application, self.app = self.app, self._within_limit

    async def _within_limit(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - two libraries' words
        """Pass a request on unless its head is too long, or there are too many connections or requests.

        Health checks pass even then: a monitor must not restart a server that is only busy.
        """
        if _head_size(scope) > (self.config.h11_max_incomplete_event_size or 0):
            # The parser limits only incomplete heads; a longer head that arrives in one piece passes.
            head = [*_PLAIN, (b"connection", b"close")]
            await send({"type": "http.response.start", "status": 400, "headers": head})
            await send({"type": "http.response.body", "body": _UNREADABLE})
            return
        # `tasks` already contains this request.
        num = max(len(self.connections), len(self.tasks) - 1)
        if self._most is None or num < self._most or scope["path"] == HEALTH:
            await self._application(scope, receive, send)
            return
        headers = [*_PLAIN, (b"connection", b"close"), (b"retry-after", b"%d" % BUSY_RETRY_S)]
        await send({"type": "http.response.start", "status": 503, "headers": headers})
        await send({"type": "http.response.body", "body": _BUSY})

    @override
    def send_400_response(self, msg: str) -> None:
        """Answer a malformed request; uvicorn's message would give no details anyway."""
        head = h11.Response(status_code=400, headers=[*_PLAIN, (b"connection", b"close")])
        for event in (head, h11.Data(data=_UNREADABLE), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - uvicorn's
        super().connection_made(transport)
        self._make_room()
        # If more is buffered, `send` blocks, and `_look_after` measures for how long.
        transport.set_write_buffer_limits(high=WAITING_BYTES)
        self._waits_since = self.loop.time()
        self._look = self.loop.call_later(_LOOK_S, self._look_after)

    def _make_room(self) -> None:
        """Close another connection without a request if there are far too many.

        Otherwise silent connections would use up all files of the process within a second, and no other
        client, not even a health check, would be accepted until they time out.
        """
        if self._most is None or len(self.connections) <= self._most + SPARE:
            return
        others = (each for each in self.connections if each is not self and isinstance(each, PatientProtocol))
        idle = next((each for each in others if each._is_idle), None)  # noqa: SLF001  # pyright: ignore[reportUnknownMemberType] - its own class
        if idle is not None:
            idle.transport.abort()
            # The connection is lost only in a later turn of the loop; until then it would be chosen again.
            self.connections.discard(idle)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    @override
    def on_response_complete(self) -> None:
        self._waits_since = self.loop.time()
        super().on_response_complete()

    @override
    def shutdown(self) -> None:
        super().shutdown()
        # A transport closes only when its buffer is sent: a client that reads nothing would use up the whole
        # grace period.
        self.loop.call_later(_LEAVE_S, self.transport.abort)

    def _look_after(self) -> None:
        now = self.loop.time()
        buffered = self.transport.get_write_buffer_size()
        # Not smaller than at the last check: the client has read no more than was written since.
        if buffered and self._stalled_since is not None and buffered >= self._buffered:
            if now - self._stalled_since > STALLED_S:
                self.transport.abort()
                return
        else:
            self._stalled_since = now if buffered else None
        self._buffered = buffered
        if self._is_idle and not buffered and now - self._waits_since > HEAD_S:
            self.transport.abort()
            return
        self._look = self.loop.call_later(_LOOK_S, self._look_after)

    @property
    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison] - uvicorn sets it later


def _head_size(scope: Any) -> int:  # noqa: ANN401 - two libraries' words
    """Return the number of bytes of a request's line and header fields, without separators."""
    fields = sum(len(name) + len(value) for name, value in scope["headers"])
    return len(scope["raw_path"]) + len(scope["query_string"]) + fields


ROUTES: Final[tuple[Route, ...]] = (*PAGE_ROWS, *BOT_PAGE_ROWS, *LIVE_ROWS, *ASSET_ROWS, *API_ROWS)
"""All routes."""

_NAMES: Final = re.compile(r"\{[a-z_]+(?::path)?\}")


def make_app(
    settings: ServeSettings, routes: Sequence[Route] = ROUTES, clock: Callable[[], float] = time.monotonic
) -> Starlette:
    """Return the application.

    `app.state.serving` is the `Serving`; `app.state.callers` holds the token of the host's link.

    Args:
        settings: the options of the operator.
        routes: the table of routes; tests pass others.
        clock: monotonic seconds, for the limits.
    """
    serving = Serving(settings, routes)
    callers = Callers(serving)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await serving.close()

    app = Starlette(
        routes=_registered(serving),
        middleware=[Middleware(Guard, serving=serving, callers=callers, limits=RequestLimits(clock))],
        lifespan=lifespan,
        exception_handlers={HTTPException: _raised},
    )
    app.router.redirect_slashes = False
    app.state.serving, app.state.callers = serving, callers
    return app


def _raised(request: Request, error: Exception) -> Response:
    """Raise a problem for an unknown address, with the nearest known one; re-raise any other error."""
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.NOT_FOUND:
        path = request.url.path
        known = [route.path for route in request.app.state.serving.routes if "{" not in route.path]
        raise ProblemError(404, f"There is nothing at {path}{nearest(path, known)}")
    raise error


def _registered(serving: Serving) -> list[Registered]:
    """Return the routes for Starlette, sorted so that fixed path parts go before parameters."""
    found = [
        (path, route.method, endpoint)
        for route in serving.routes
        for path, endpoint in endpoints(serving, route)
    ]
    known = [(method, _NAMES.sub("{}", path)) for path, method, _ in found]
    for each in known:
        if known.count(each) > 1:
            raise ValueError(f"two rows for {' '.join(each)}")
    # Starlette takes the first matching route, so the more specific one has to come first.
    found.sort(key=lambda each: [_openness(part) for part in each[0].split("/")])
    return [Registered(path, endpoint, methods=[method]) for path, method, endpoint in found]


def _openness(part: str) -> tuple[bool, int]:
    """Return the sort key of a path part: fixed parts first, then the longer the fixed text the earlier."""
    return "{" in part, -len(_NAMES.sub("", part))
