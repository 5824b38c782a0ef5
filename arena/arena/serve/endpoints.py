"""The kinds of routes as ASGI applications: check role, parameters and body, call the handler, send."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from threading import Timer
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import parse_qsl, quote

import anyio
import anyio.lowlevel
import msgspec

from arena.errors import ArenaError
from arena.pages.html import Html
from arena.pages.twins import twin_json
from arena.serve.answer_cache import AnswerCache
from arena.serve.problems import ProblemError
from arena.serve.request_context import RequestContext
from arena.serve.rows import JSON, DataRoute, FileRoute, KeptRoute, PageRoute, Raw, StreamRoute
from arena.serve.sending import Whole, raw_headers
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from arena.serve.guard import Guarded
    from arena.serve.reading import Reading
    from arena.serve.request_context import Serving
    from arena.serve.rows import Route

HTML: Final = "text/html; charset=utf-8"
AGAIN_S: Final = 30
"""Seconds between two checks of the token of an open stream; with a revoked one a client reads this much
longer."""
BODY_S: Final = 20
"""Seconds for a client to send the body of its request; a slow sender would hold its connection for ever."""
_MOST_PARAMETERS: Final = 50
"""Maximum number of query parameters of a request."""


def endpoints(serving: Serving, route: Route) -> list[tuple[str, ASGIApp]]:
    """Return the paths of a route and their applications; a page also has one for its data as JSON."""
    if isinstance(route, PageRoute):
        return [
            (route.path, _WholeEndpoint(serving, route, _page_of(route))),
            (route.twin_path, _WholeEndpoint(serving, route, _twin_of(route))),
        ]
    if isinstance(route, DataRoute):
        return [(route.path, _WholeEndpoint(serving, route, _data_of(route)))]
    if isinstance(route, FileRoute):
        return [(route.path, _FileEndpoint(serving, route))]
    assert isinstance(route, StreamRoute)  # noqa: S101 - there are four kinds
    return [(route.path, _StreamEndpoint(serving, route))]


def _page_of(route: PageRoute) -> Callable[[Reading, RequestContext], Whole]:
    def make(reading: Reading, context: RequestContext) -> Whole:
        view = route.handle(reading, context)
        twin = _filled(route.twin_path, context)
        whole = Whole(route.show(view, reading.links, twin).encode(), HTML)
        whole.is_moving = hasattr(view, "made_of")
        return whole

    return make


def _twin_of(route: PageRoute) -> Callable[[Reading, RequestContext], Whole]:
    def make(reading: Reading, context: RequestContext) -> Whole:
        view = (route.twin_handle or route.handle)(reading, context)
        whole = Whole(twin_json(view if route.twin_of is None else route.twin_of(view)), JSON)
        whole.is_moving = hasattr(view, "made_of")
        return whole

    return make


def _data_of(route: DataRoute) -> Callable[[Reading, RequestContext], Whole]:
    def make(reading: Reading, context: RequestContext) -> Whole:
        found = route.handle(reading, context)
        if isinstance(found, Raw):
            return _raw(found, route.cache)
        if isinstance(found, Html):
            return Whole(found.encode(), HTML, cache=route.cache)
        return Whole(twin_json(found), JSON, cache=route.cache)

    return make


def _raw(found: Raw, cache: str) -> Whole:
    return Whole(found.content, found.media_type, status=found.status, headers=found.headers, cache=cache)


def _filled(path: str, context: RequestContext) -> str:
    """Return the address of a twin: its path with the values of the request, and the query string."""
    for name, value in context.parameters.items():
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    return path + (f"?{context.query_text}" if context.query_text else "")


class _Endpoint:
    def __init__(self, serving: Serving, route: Route) -> None:
        self._serving = serving
        self._route = route

    async def _context(self, scope: Scope, receive: Receive) -> tuple[RequestContext, Guarded]:
        """Check a request and return it.

        Raises:
            ProblemError: the caller lacks the role, or a parameter or the body is invalid.
        """
        route, guarded = self._route, scope["arena"]
        await _check_role(self._serving, route, guarded)
        text = scope["query_string"].decode("ascii", "replace")
        context = RequestContext(
            serving=self._serving,
            caller=guarded.caller,
            method=scope["method"],
            path=scope["path"],
            parameters={name: str(value) for name, value in scope["path_params"].items()},
            headers=guarded.headers,
            query_text=text,
            parsed_query=_parsed(route.query, text),
            parsed_body=await _read_body(route, guarded.headers, receive),
        )
        return context, guarded


class _WholeEndpoint(_Endpoint):
    """Answers with a page, JSON or a file."""

    def __init__(
        self, serving: Serving, route: Route, make: Callable[[Reading, RequestContext], Whole]
    ) -> None:
        super().__init__(serving, route)
        self._make = make

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        context, guarded = await self._context(scope, receive)

        def make(reading: Reading) -> Whole:
            return within_time_limit(reading, lambda: self._make(reading, context).prepare())

        kept_s = self._route.kept_s if isinstance(self._route, KeptRoute) else 0.0
        if kept_s:
            key = context.path, context.query_text
            whole = await self._serving.part(AnswerCache).answer(key, kept_s, make)
        elif isinstance(self._route, DataRoute) and self._route.is_probe:
            whole = await self._serving.probe(make)
        else:
            whole = await self._serving.read(make)
        await whole.send_to(scope, guarded.headers, send)


class _FileEndpoint(_Endpoint):
    """Answers with data that needs no store."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        context, guarded = await self._context(scope, receive)
        assert isinstance(self._route, FileRoute)  # noqa: S101 - see `endpoints`
        found = self._route.handle(context)
        whole = _raw(found, self._route.cache) if isinstance(found, Raw) else found
        await whole.send_to(scope, guarded.headers, send)


class _StreamEndpoint(_Endpoint):
    """Answers with a stream of chunks until the client disconnects or the server ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        context, guarded = await self._context(scope, receive)
        assert isinstance(self._route, StreamRoute)  # noqa: S101 - see `endpoints`
        with guarded.stream():
            answer = await self._route.handle(context)
            headers = {"cache-control": "no-store", **answer.headers, "content-type": answer.media_type}
            start = {"type": "http.response.start", "status": answer.status, "headers": raw_headers(headers)}
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_cancel_when_gone, receive, tasks.cancel_scope)
                tasks.start_soon(_cancel_when_over, self._serving, self._route, guarded, tasks.cancel_scope)
                try:
                    await send(start)
                    if scope["method"] != "HEAD":
                        async for chunk in answer.content:
                            # Blocks while the client reads nothing; `server.PatientProtocol` disconnects such
                            # clients.
                            await send({"type": "http.response.body", "body": chunk, "more_body": True})
                            # After a disconnect `send` returns at once, so this is where the task can be
                            # cancelled.
                            await anyio.lowlevel.checkpoint()
                finally:
                    # The generator must leave its channel even if this task was cancelled.
                    with anyio.CancelScope(shield=True):
                        await _closed(answer.content)
                tasks.cancel_scope.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _closed(content: object) -> None:
    if isinstance(content, AsyncGenerator):
        await content.aclose()


async def _cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _cancel_when_over(
    serving: Serving, route: Route, guarded: Guarded, scope: anyio.CancelScope
) -> None:
    """End a stream when the server ends, or when its token is revoked or expires."""
    is_allowed = True
    while is_allowed and not serving.ending.is_set():
        # The end of the server ends the wait at once; a revoked token is noticed within that time.
        with anyio.move_on_after(AGAIN_S):
            await serving.ending.wait()
            break
        try:
            await _check_role(serving, route, guarded)
        except ProblemError:
            is_allowed = False
        except ArenaError:
            # The store is gone for now; the stream itself reports it.
            continue
    scope.cancel()


async def _check_role(serving: Serving, route: Route, guarded: Guarded) -> None:
    """Check that the caller may use a route.

    Raises:
        ProblemError: 401 without a valid token, 403 with a token of a lesser role.
    """
    if route.role == "none":
        return
    caller = await guarded.identify()
    if route.method != "GET" and serving.settings.read_only:
        raise ProblemError(403, "This server is read-only (arena serve --read-only); it accepts no commands.")
    if caller.may(route.role) or (route.role == "viewer" and serving.settings.anonymous):
        return
    if caller.role == "none":
        raise ProblemError(
            401,
            "This server shows its pages to people with a link: ask its host for one, "
            "or send a token (Authorization: Bearer ...).",
            headers={"www-authenticate": 'Bearer realm="arena"'},
        )
    raise ProblemError(403, f"This needs the role {route.role}; the token is one of {caller.role}.")


def _parsed(kind: type[msgspec.Struct] | None, text: str) -> msgspec.Struct | None:
    try:
        found = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        raise ProblemError(400, f"There are too many parameters: at most {_MOST_PARAMETERS}.") from error
    fields = {} if kind is None else {each.encode_name: each for each in msgspec.structs.fields(kind)}
    given: dict[str, str | list[str]] = {}
    for name, value in found:
        if name not in fields:
            words = f"there are {', '.join(fields)}" if fields else "there are none here"
            raise ProblemError(400, f'There is no parameter "{name}"{nearest(name, fields)} ({words})')
        # A parameter that may be repeated has a tuple as its default.
        if isinstance(fields[name].default, tuple):
            given[name] = [*given.get(name, ()), value]
        elif name in given:
            raise ProblemError(400, f"The parameter {name} is given twice.")
        else:
            given[name] = value
    try:
        return None if kind is None else msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ProblemError(400, f"A parameter cannot be read: {error}.") from error


async def _read_body(route: Route, headers: Mapping[str, str], receive: Receive) -> msgspec.Struct | None:
    """Return the decoded body; bytes are counted as they arrive, since Content-Length may be wrong."""
    if not isinstance(route, DataRoute) or route.body is None:
        return None
    if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise ProblemError(415, f"The body must be JSON: Content-Type: {JSON}.")
    parts = bytearray()
    try:
        with anyio.fail_after(BODY_S):
            async for part in _parts(receive):
                parts += part
                # Checked after each part, so that an endless body is not read to its end.
                if len(parts) > route.max_body:
                    raise ProblemError(413, f"The body is too large: at most {route.max_body:,} bytes.")
    except TimeoutError as error:
        raise ProblemError(408, f"The body did not arrive within {BODY_S} seconds.") from error
    try:
        return msgspec.json.decode(bytes(parts), type=route.body)
    except msgspec.MsgspecError as error:
        raise ProblemError(400, f"The body cannot be read: {error}.") from error


async def _parts(receive: Receive) -> AsyncGenerator[bytes]:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ProblemError(400, "The request ended before its body did.")
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


_Found = TypeVar("_Found")

LONGEST_S: Final = 10.0
"""Seconds after which queries of the store are interrupted."""


def within_time_limit(reading: Reading, make: Callable[[], _Found]) -> _Found:
    """Call a function and return its result; its queries of the store are interrupted after `LONGEST_S`.

    Args:
        reading: the store as the function reads it.
        make: the function; called in this thread.

    Raises:
        ProblemError: 503, it took too long.
    """
    timer = Timer(LONGEST_S, reading.query.cancel)
    timer.daemon = True
    timer.start()
    try:
        with reading.store.while_wanted(reading.query.is_wanted):
            return make()
    except Exception as error:
        if reading.query.is_cancelled:
            raise ProblemError(
                503,
                f"This query took longer than {LONGEST_S:.0f} s and was ended; ask for fewer matches "
                "(tournament, date, limit), or run the command on the server's machine.",
                retry_after=30,
            ) from error
        raise
    finally:
        timer.cancel()
