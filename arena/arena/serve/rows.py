"""The kinds of routes.

| kind | handler | answers |
| --- | --- | --- |
| `PageRoute` | `(reading, context) -> view-model`, and `show(view, links, twin) -> Html` | a page and, at the path of its twin, the view-model as JSON |
| `DataRoute` | `(reading, context) -> struct`, `Raw` or `Html` | JSON, or bytes as they are |
| `FileRoute` | `(context) -> Raw` | bytes that need no store; called in the event loop, so it must be quick |
| `StreamRoute` | `async (context) -> StreamAnswer` | chunks for as long as its iterator yields them |

Handlers of pages and data are plain functions. They run in a small pool of threads, each with an open
read-only store (`Reading.store`); the application encodes, tags and compresses what they return. Errors are
raised: `ProblemError`, or any `ArenaError`, which `problems.problem_of` turns into a status.
"""  # noqa: E501 - a table

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from arena.pages.html import Html
from arena.pages.links import Links
from arena.serve.reading import Reading
from arena.serve.request_context import RequestContext
from arena.serve.roles import Role
from arena.serve.sending import Whole

JSON: Final = "application/json"
Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A route: the fields that all kinds share."""

    path: str
    """Path such as `/t/{tournament}/table`; a name in braces matches text without a slash.

    `context.number` reads a matched text as a number. If two routes match, the one with more fixed parts is
    used, so their order in the table does not matter. A trailing slash of an address is ignored.
    """
    method: Method = "GET"
    """GET routes also answer HEAD."""
    role: Role = "viewer"
    """The minimum role; with `--anonymous` the role viewer is not required."""
    query: type[msgspec.Struct] | None = None
    """Type of the query parameters: fields with defaults, of types that text converts to; None for none.

    Unknown parameters are refused.
    """
    summary: str = ""
    """One sentence about the answer, for the description of the API."""


class KeptRoute(Route, frozen=True, kw_only=True):
    """A route whose answers may be cached."""

    kept_s: float = 0.0
    """Seconds for which an answer is cached while the store does not change; `inf` for no limit, 0 for never.

    A cached answer may depend only on path, parameters and store; never on the caller, and on the time or on
    running processes only if a delay of some seconds is acceptable.
    """


class PageRoute(KeptRoute, frozen=True, kw_only=True):
    """A page with its JSON twin."""

    handle: Callable[[Reading, RequestContext], Any]
    """Returns the view-model."""
    show: Callable[[Any, Links, str], Html]
    """Renders the view-model as a page; the third argument is the address of its twin."""
    answer: type
    """Type of the view-model."""
    twin: str = ""
    """Path of the JSON twin, with the same parameters; empty for `path` + `.json`."""
    twin_of: Callable[[Any], Any] | None = None
    """Returns the part of the view-model in the twin; None for all of it."""
    twin_handle: Callable[[Reading, RequestContext], Any] | None = None
    """Returns the view-model of the twin if it differs from that of the page; None to use `handle`."""

    @property
    def twin_path(self) -> str:
        """Path of the JSON twin."""
        return self.twin or f"{self.path}.json"


class DataRoute(KeptRoute, frozen=True, kw_only=True):
    """An answer of the API, or a file."""

    handle: Callable[[Reading, RequestContext], Any]
    """Returns an instance of `answer`, which becomes JSON, or a `Raw`."""
    answer: type | None = None
    """Type of the JSON; None for other media."""
    other_answer: type | None = None
    """Second type of the JSON, if the answer has two forms."""
    media_type: str = JSON
    """Media type of the answer, for the description of the API."""
    body: type[msgspec.Struct] | None = None
    """Type of the request's JSON body; None for a request without a body."""
    max_body: int = 65_536
    """Maximum size of the request's body in bytes."""
    is_probe: bool = False
    """Whether the handler only opens the store, so that it never waits for other answers."""
    cache: str = "private, no-cache"
    """`Cache-Control` of the answer; a client may keep it and revalidate it with its `ETag`."""


class FileRoute(Route, frozen=True, kw_only=True):
    """An answer that needs no store, and works even if the store is unavailable."""

    handle: Callable[[RequestContext], Raw | Whole]
    """Returns the answer without blocking; a `Whole` if it is always the same."""
    cache: str = "private, no-cache"
    """`Cache-Control` of a `Raw`."""


class StreamRoute(Route, frozen=True, kw_only=True):
    """An answer that is streamed."""

    handle: Callable[[RequestContext], Awaitable[StreamAnswer]]
    """Returns the answer; runs in the event loop, and reads the store only through `context.read`."""
    media_type: str = "text/event-stream"
    """Media type of the answer, for the description of the API."""
    answer: type | None = None
    """Type of the JSON for clients that do not ask for a stream; None if there is none."""


class StreamAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The headers of a stream and its chunks.

    When the client disconnects, reads nothing for 30 s, or the server ends, the iterator, an async generator,
    is closed (`aclose`, in the same task); it must release its resources in a `finally`. Chunks are never
    compressed.
    """

    content: AsyncIterator[bytes]
    media_type: str = "text/event-stream"
    status: int = 200
    headers: Mapping[str, str] = {}
    """More headers; the application sets the security headers and `Cache-Control: no-store`."""


class Raw(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is not JSON, or has a status other than 200."""

    content: bytes
    media_type: str
    """Media type, such as `image/svg+xml` or `text/html; charset=utf-8`."""
    status: int = 200
    headers: Mapping[str, str] = {}
