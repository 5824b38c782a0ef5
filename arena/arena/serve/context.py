"""What a handler knows of a request, and of the server that it runs in."""

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

    from arena.serve.settings import ServeSettings

_Found = TypeVar("_Found")
_Part = TypeVar("_Part")
_Struct = TypeVar("_Struct", bound=msgspec.Struct)

NUM_READERS: Final = 4
"""Threads that read the store for pages and data at the same time; more only wait for each other."""
_NUM_QUICK: Final = 4
"""Threads for what takes some milliseconds, so that it never waits for a slow page."""
_NUM_PROBES: Final = 1
"""Threads for the sign of life: the others may all wait, as streams do for the first look at a tournament."""


class Serving:
    """A running server: what all requests share."""

    def __init__(self, settings: ServeSettings, routes: Sequence[Any]) -> None:
        """Keep the settings and the table of routes; nothing is opened yet."""
        self.settings = settings
        self.routes = tuple(routes)
        """The table; for the description of the API."""
        self.readers = Readers(settings)
        self.ending = anyio.Event()
        """Set when the server ends; streams are closed then."""
        self._limiter = anyio.CapacityLimiter(NUM_READERS)
        self._quick = anyio.CapacityLimiter(_NUM_QUICK)
        self._probes = anyio.CapacityLimiter(_NUM_PROBES)
        self._parts: dict[Callable[[Serving], Any], Any] = {}
        self._lock = Lock()

    async def read(self, function: Callable[[Reading], _Found]) -> _Found:
        """Call a function with an open store in one of the threads for that; return what it returns.

        Raises:
            ArenaError: what the function raises, or the store cannot be read.
        """
        return await self._call(function, self._limiter)

    async def read_quickly(self, function: Callable[[Reading], _Found]) -> _Found:
        """Read as `read` does, beside slow pages: for tokens and streams, which need a few rows.

        Raises:
            ArenaError: as `read`.
        """
        return await self._call(function, self._quick)

    async def probe(self, function: Callable[[Reading], _Found]) -> _Found:
        """Read as `read` does, in a thread that nothing slow ever holds: the function only opens the store.

        Raises:
            ArenaError: as `read`.
        """
        return await self._call(function, self._probes)

    async def _call(self, function: Callable[[Reading], _Found], limiter: anyio.CapacityLimiter) -> _Found:
        def call() -> _Found:
            with self.readers.reading() as reading:
                return function(reading)

        return await anyio.to_thread.run_sync(call, limiter=limiter, abandon_on_cancel=True)

    def part(self, make: Callable[[Serving], _Part]) -> _Part:
        """Return the one instance of a class that lives as long as the server.

        It is made by `make(serving)`, `make` being the class, when it is first asked for. Its method `close`
        is called when the server ends, once all streams are closed; it may be async.
        """
        with self._lock:
            found = self._parts.get(make)
            if found is None:
                found = self._parts[make] = make(self)
            return cast("_Part", found)

    async def close(self) -> None:
        """Close all parts and connections."""
        self.ending.set()
        for part in reversed(self._parts.values()):
            closed = part.close() if hasattr(part, "close") else None
            if inspect.isawaitable(closed):
                await closed
        self.readers.close()


class RequestContext(msgspec.Struct, frozen=True, kw_only=True):
    """A request, after its caller, parameters and body were checked."""

    serving: Serving
    """The server."""
    caller: Caller
    """Who asks; has at least the role of the route."""
    method: str
    path: str
    """As it was asked for, decoded."""
    parameters: Mapping[str, str]
    """The parts of the path that stand in braces in the row."""
    headers: Mapping[str, str]
    """Of the request, by names in lower case."""
    query_text: str = ""
    """What stands behind the `?`, as it was sent."""
    parsed_query: msgspec.Struct | None = None
    """Use `query`."""
    parsed_body: msgspec.Struct | None = None
    """Use `body`."""

    @property
    def settings(self) -> ServeSettings:
        """Return what the operator chose."""
        return self.serving.settings

    def query(self, kind: type[_Struct]) -> _Struct:
        """Return the parameters behind the `?`, which are of the type that the row names."""
        assert isinstance(self.parsed_query, kind)  # noqa: S101 - the row says so
        return self.parsed_query

    def body(self, kind: type[_Struct]) -> _Struct:
        """Return the body, which is of the type that the row names."""
        assert isinstance(self.parsed_body, kind)  # noqa: S101 - the row says so
        return self.parsed_body

    def number(self, name: str) -> int:
        """Return a part of the path that is a number.

        Raises:
            ProblemError: 404, it is none or far too large.
        """
        text = self.parameters[name]
        if not (text.isascii() and text.isdigit() and len(text) <= 15):  # noqa: PLR2004 - below 2**53
            raise ProblemError(404, f"{self.path}: {text} is no number of anything here")
        return int(text)

    async def read(self, function: Callable[[Reading], _Found]) -> _Found:
        """Read the store from a stream's handler, as `Serving.read_quickly`."""
        return await self.serving.read_quickly(function)
