"""The objects that a handler has access to: the request, and the server it runs in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import anyio
import anyio.to_thread
import msgspec

from arena.serve.problems import ProblemError
from arena.serve.reading import Readers, Reading
from arena.serve.roles import Caller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.serve.server_options import ServeSettings

_Found = TypeVar("_Found")
_Part = TypeVar("_Part")
_Struct = TypeVar("_Struct", bound=msgspec.Struct)

NUM_READERS: Final = 4
"""Number of threads that read the store for pages and data; more would only wait for each other."""
_NUM_QUICK: Final = 4
"""Number of threads for reads of some milliseconds, so that these never wait for a slow page."""
_NUM_PROBES: Final = 1
"""Number of threads for health checks: all others may be busy, as when streams wait for their first poll."""


class Serving:
    """A running server: the state shared by all requests."""

    def __init__(self, settings: ServeSettings, routes: Sequence[Any]) -> None:
        """Store the settings and the table of routes; nothing is opened yet."""
        self.settings = settings
        self.routes = tuple(routes)
        """The table of routes, for the description of the API."""
        self.readers = Readers(settings)
        self.ending = anyio.Event()
        """Set when the server ends; streams are closed then."""
        self._limiter = anyio.CapacityLimiter(NUM_READERS)
        self._quick = anyio.CapacityLimiter(_NUM_QUICK)
        self._probes = anyio.CapacityLimiter(_NUM_PROBES)
        self._parts: dict[Callable[[Serving], Any], Any] = {}
        self._lock = Lock()

    async def read(self, function: Callable[[Reading], _Found]) -> _Found:
        """Call a function with an open store in a thread of the pool; return its result.

        Raises:
            ArenaError: raised by the function, or the store cannot be read.
        """
        return await self._call(function, self._limiter)

    async def read_quickly(self, function: Callable[[Reading], _Found]) -> _Found:
        """Like `read`, in a separate pool for tokens and streams, which read only a few rows.

        Raises:
            ArenaError: as for `read`.
        """
        return await self._call(function, self._quick)

    async def probe(self, function: Callable[[Reading], _Found]) -> _Found:
        """Like `read`, in a separate thread for health checks, which only open the store.

        Raises:
            ArenaError: as for `read`.
        """
        return await self._call(function, self._probes)

    async def _call(self, function: Callable[[Reading], _Found], limiter: anyio.CapacityLimiter) -> _Found:
        def call() -> _Found:
            with self.readers.reading() as reading:
                return function(reading)

        # A cancelled stream ends at once; its thread continues until its query is done.
        return await anyio.to_thread.run_sync(call, limiter=limiter, abandon_on_cancel=True)

    def part(self, make: Callable[[Serving], _Part]) -> _Part:
        """Return the single instance of a class that lives as long as the server.

        The first call creates it with `make(serving)`; `make` is the class. When the server ends, its method
        `close`, which may be async, is called after all streams are closed.
        """
        with self._lock:
            found = self._parts.get(make)
            if found is None:
                found = self._parts[make] = make(self)
            return cast("_Part", found)

    async def close(self) -> None:
        """Close all parts and connections."""
        self.ending.set()
        # In reverse order, since a part may use those that were made before it.
        for part in reversed(self._parts.values()):
            closed = part.close() if hasattr(part, "close") else None
            if inspect.isawaitable(closed):
                await closed
        self.readers.close()


class RequestContext(msgspec.Struct, frozen=True, kw_only=True):
    """A request whose caller, parameters and body have been checked."""

    serving: Serving
    """The server."""
    caller: Caller
    """The caller, which has at least the role of the route."""
    method: str
    path: str
    """The decoded path."""
    parameters: Mapping[str, str]
    """Values of the path parameters, by name."""
    headers: Mapping[str, str]
    """Headers of the request, by lower-case name."""
    query_text: str = ""
    """The raw query string."""
    parsed_query: msgspec.Struct | None = None
    """The decoded parameters; read them with `query`."""
    parsed_body: msgspec.Struct | None = None
    """The decoded body; read it with `body`."""

    @property
    def settings(self) -> ServeSettings:
        """The options of the operator."""
        return self.serving.settings

    def query(self, kind: type[_Struct]) -> _Struct:
        """Return the query parameters, which have the type named by the route."""
        assert isinstance(self.parsed_query, kind)  # noqa: S101 - the route declares this type
        return self.parsed_query

    def body(self, kind: type[_Struct]) -> _Struct:
        """Return the body, which has the type named by the route."""
        assert isinstance(self.parsed_body, kind)  # noqa: S101 - the route declares this type
        return self.parsed_body

    def number(self, name: str) -> int:
        """Return a path parameter as a number.

        Raises:
            ProblemError: 404, it is not a number, or far too large.
        """
        text = self.parameters[name]
        if not (text.isascii() and text.isdigit() and len(text) <= 15):  # noqa: PLR2004 - below 2**53
            raise ProblemError(404, f"{self.path}: {text} is not a valid number")
        return int(text)

    async def read(self, function: Callable[[Reading], _Found]) -> _Found:
        """Read the store in the handler of a stream; see `Serving.read_quickly`."""
        return await self.serving.read_quickly(function)
