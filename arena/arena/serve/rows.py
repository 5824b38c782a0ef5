"""The kinds of rows of the table of routes.

| kind | handler | answers |
| --- | --- | --- |
| `PageRoute` | `(reading, context) -> view-model`, and `show(view, links, twin) -> Html` | a page and, at the path of its twin, the view-model as JSON |
| `DataRoute` | `(reading, context) -> struct`, `Raw` or `Html` | JSON, or bytes as they are |
| `FileRoute` | `(context) -> Raw` | bytes that need no store; called in the event loop, so it must be quick |
| `StreamRoute` | `async (context) -> StreamAnswer` | chunks for as long as its iterator yields them |

Handlers of pages and data are plain functions. They run in a small pool of threads, each with a read-only
store that is open (`Reading.store`); what they return is encoded, tagged and compressed by the application.
An error is raised: `ProblemError`, or any `ArenaError`, which `problems.problem_of` turns into a status.
"""  # noqa: E501 - a table

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from arena.pages.html import Html
from arena.pages.links import Links
from arena.serve.context import RequestContext
from arena.serve.reading import Reading
from arena.serve.roles import Role
from arena.serve.sending import Whole

JSON: Final = "application/json"
Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A row: what all kinds have in common."""

    path: str
    """`/t/{tournament}/table`: a name in braces stands for text without a slash (`context.number` reads it
    as a number).

    Of two rows that fit, the one with more fixed parts answers, so their order in the table is free. A slash
    at the end of an address is ignored."""
    method: Method = "GET"
    """GET answers HEAD, too."""
    role: Role = "viewer"
    """The least role that may ask; with `--anonymous` nobody needs the role of a viewer."""
    query: type[msgspec.Struct] | None = None
    """Parameters behind the `?`: fields with defaults, of types that text converts to; None for none.

    A parameter that is no field is refused."""
    summary: str = ""
    """What is answered, in one sentence; for the description of the API."""


class KeptRoute(Route, frozen=True, kw_only=True):
    """A row whose answer may be kept."""

    kept_s: float = 0.0
    """Seconds for which an answer is kept while the store stays as it is, `inf` for any; 0 for not at all.

    A kept answer follows from path, parameters and store: not from who asks, the time, or a process that
    runs, unless some seconds do not matter."""


class PageRoute(KeptRoute, frozen=True, kw_only=True):
    """A page with its twin in JSON."""

    handle: Callable[[Reading, RequestContext], Any]
    """Return the view-model."""
    show: Callable[[Any, Links, str], Html]
    """Return the page of a view-model; the text is the address of its twin."""
    answer: type
    """Of the view-model."""
    twin: str = ""
    """Path of the JSON, with the same names in braces; empty for `path` with `.json` behind it."""
    twin_of: Callable[[Any], Any] | None = None
    """Return the part of the view-model that the twin holds; None: all of it."""
    twin_handle: Callable[[Reading, RequestContext], Any] | None = None
    """Return the view-model of the twin, where the page is made of something else; None: `handle` does."""

    @property
    def twin_path(self) -> str:
        """Return the path of the JSON."""
        return self.twin or f"{self.path}.json"


class DataRoute(KeptRoute, frozen=True, kw_only=True):
    """An answer of the API, or a file."""

    handle: Callable[[Reading, RequestContext], Any]
    """Return an instance of `answer`, which becomes JSON, or a `Raw`."""
    answer: type | None = None
    """Of the JSON; None for other media."""
    other_answer: type | None = None
    """Of the JSON in its other form, where it has two."""
    media_type: str = JSON
    """Of the answer, for the description of the API."""
    body: type[msgspec.Struct] | None = None
    """What the request's JSON is decoded to; None for a request without a body."""
    max_body: int = 65_536
    """Bytes of the request's body."""
    is_probe: bool = False
    """Whether it only opens the store, so that it is answered at once whatever other answers compute."""
    cache: str = "private, no-cache"
    """`Cache-Control` of the answer; a client may keep it and ask by its `ETag` whether it is still true."""


class FileRoute(Route, frozen=True, kw_only=True):
    """An answer for which no store is opened: it is there when the store is not."""

    handle: Callable[[RequestContext], Raw | Whole]
    """Return the answer, at once; a `Whole` where it is the same each time."""
    cache: str = "private, no-cache"
    """`Cache-Control` of a `Raw`."""


class StreamRoute(Route, frozen=True, kw_only=True):
    """An answer whose parts are sent as they come."""

    handle: Callable[[RequestContext], Awaitable[StreamAnswer]]
    """Return the answer; runs in the event loop, and reads the store by `context.read` alone."""
    media_type: str = "text/event-stream"
    """For the description of the API."""
    answer: type | None = None
    """Of the JSON for a program that asks for no stream; None where there is none."""


class StreamAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Chunks as they come, and what is said before the first one.

    The iterator, an async generator, is closed (`aclose`, in the same task) when the client has gone, reads
    nothing for 30 s, or the server ends; it releases what it holds in a `finally`.
    A chunk is sent as it is, never compressed.
    """

    content: AsyncIterator[bytes]
    media_type: str = "text/event-stream"
    status: int = 200
    headers: Mapping[str, str] = {}
    """More headers; those of security and `Cache-Control: no-store` are set by the application."""


class Raw(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is no JSON, or not of status 200."""

    content: bytes
    media_type: str
    """`image/svg+xml`, `text/html; charset=utf-8`."""
    status: int = 200
    headers: Mapping[str, str] = {}
