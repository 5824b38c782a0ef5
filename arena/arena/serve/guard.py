"""Checks on every request: host, limits, token, origin; and security headers on every answer.

The guard is pure ASGI, so that streams pass it chunk by chunk.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from arena.pages.html import Html, el, join
from arena.pages.links import Links
from arena.serve.hosts import host_names, is_ours, origins
from arena.serve.problems import PROBLEM_JSON, ProblemError, problem_json, problem_of, problem_page
from arena.serve.roles import Caller
from arena.serve.sending import HEALTH, SECURITY, Whole
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from arena.serve.callers import Callers
    from arena.serve.limits import RequestLimits
    from arena.serve.request_context import Serving

_READS: Final = frozenset({"GET", "HEAD"})
_LINKS: Final = Links(root="/", suffix="", index="")

_LOGGED: Final = 200
"""Maximum number of characters of a path in the log."""

_log = logging.getLogger(__name__)
_access = logging.getLogger(f"{__name__}.access")


class Guarded:
    """The checked parts of a request; stored in `scope["arena"]`."""

    def __init__(
        self, callers: Callers, limits: RequestLimits, address: str, headers: Mapping[str, str]
    ) -> None:
        """Store the parts known before the caller is identified."""
        self._callers = callers
        self._limits = limits
        self.address = address
        """Address of the client, used for its limits."""
        self.headers = headers
        """Headers of the request, by lower-case name."""
        self.caller = Caller()
        """The caller; the anonymous one before `identify`."""

    async def identify(self) -> Caller:
        """Identify the caller; public routes work without this, even if the store is gone.

        Raises:
            ProblemError: 401, the token is invalid.
            StoreError: the token cannot be checked.
        """
        self.caller = await self._callers.caller(self.headers)
        return self.caller

    def stream(self) -> AbstractContextManager[None]:
        """Count an open stream for a `with` block."""
        return self._limits.stream(self.address)


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, serving: Serving, callers: Callers, limits: RequestLimits) -> None:
        """Guard an application."""
        self._app = app
        self._settings = serving.settings
        self._callers = callers
        self._limits = limits
        self._names = host_names(serving.settings)
        self._origins = origins(serving.settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a problem."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1002})
            return
        status, began = 0, time.perf_counter()

        async def safe(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *SECURITY]
            await send(message)

        headers = _joined(scope)
        guarded = Guarded(self._callers, self._limits, self._address(scope, headers), headers)
        try:
            redirect = await self._check(scope, guarded)
            if redirect is not None:
                await redirect.send_to(scope, headers, safe)
                return
            scope["arena"] = guarded
            scope["path"] = scope["path"].rstrip("/") or "/"
            await self._app(scope, receive, safe)
        except Exception as error:
            problem = _problem(error)
            if problem.status == 500:  # noqa: PLR2004 - HTTP
                _log.exception("a request failed")
            # The answer has begun, so only the end of the connection can tell the client.
            if status:
                raise
            await _answer(problem, headers, scope["path"]).send_to(scope, headers, safe)
        finally:
            taken_ms = 1000 * (time.perf_counter() - began)
            # Without the query string, which may contain a token.
            path = clean_text(scope["path"], _LOGGED)
            _access.info("%s %s %s %d %.0f ms", guarded.address, scope["method"], path, status, taken_ms)

    async def _check(self, scope: Scope, guarded: Guarded) -> Whole | None:
        """Return a redirect if the address contains a token, None if the request may pass.

        Raises:
            ProblemError: the host name is not ours, there are too many requests, the token is invalid, or a
                page of another site asks for a write.
        """
        headers = guarded.headers
        if not is_ours(headers.get("host", ""), self._names):
            raise ProblemError(
                421, "This server is not called by that name; open the address that it printed."
            )
        # The health check has a budget of its own, so that other requests of a proxy do not use it up.
        is_health = scope["path"] == HEALTH
        self._limits.count(f"{guarded.address} {HEALTH}" if is_health else guarded.address)
        if scope["method"] in _READS:
            query = scope["query_string"].decode("ascii", "replace")
            traded = await self._callers.traded(quote(scope["path"]), query)
            if traded is not None:
                return _redirect(traded, headers)
        # Only requests that change something need a caller and an origin here; others are checked by their
        # route.
        if scope["method"] not in _READS:
            await guarded.identify()
            self._check_origin(guarded)
        return None

    def _check_origin(self, guarded: Guarded) -> None:
        """Check that a write was requested by one of our pages, or by a program.

        Raises:
            ProblemError: 403, the request comes from a page of another site, or from an unknown page.
        """
        origin = guarded.headers.get("origin")
        is_own = origin is not None and origin.lower() in self._origins
        if origin is not None and not is_own:
            raise ProblemError(403, "Another site's page asked for this; only pages of this server may.")
        if guarded.caller.is_by_cookie and not (is_own and guarded.headers.get("x-arena") == "1"):
            raise ProblemError(403, "A browser may ask for this only from a page of this server.")

    def _address(self, scope: Scope, headers: Mapping[str, str]) -> str:
        """Return the client's address: that of the connection, or the one that trusted proxies report."""
        client = scope.get("client")
        address = client[0] if client else ""
        hops = self._settings.proxy_hops
        if hops:
            forwarded = [
                part.strip() for part in headers.get("x-forwarded-for", "").split(",") if part.strip()
            ]
            if forwarded:
                # Each proxy appends the address of its client, so values that the client itself sent are
                # further left.
                address = forwarded[-min(hops, len(forwarded))]
        return clean_text(address, 64)


def _redirect(headers: Mapping[str, str], asked: Mapping[str, str]) -> Whole:
    """Return a redirect to the address without its token.

    If a link on another site led here, the browser treats a redirect as part of that navigation and withholds
    the new cookie, which is `SameSite=Strict`. A page of this server that leads to the address avoids this.
    """
    if asked.get("sec-fetch-site") != "cross-site":
        return Whole(b"", "text/plain", status=303, headers=headers, cache="no-store")
    headers = dict(headers)
    way = headers.pop("location")
    page = join(
        Html("<!doctype html>"),
        el("meta", charset="utf-8"),
        el("meta", http_equiv="refresh", content=f"0; url={way}"),
        el("title", "arena"),
        el("p", el("a", "Go on", href=way)),
    )
    return Whole(page.encode(), "text/html; charset=utf-8", headers=headers, cache="no-store")


def _joined(scope: Scope) -> dict[str, str]:
    """Return the headers of a request; a repeated header has joined values, which no check accepts."""
    found: dict[str, str] = {}
    for name, value in Headers(scope=scope).items():
        key = name.lower()
        mark = "; " if key == "cookie" else ", "
        found[key] = f"{found[key]}{mark}{value}" if key in found else value
    return found


def _problem(error: Exception) -> ProblemError:
    if isinstance(error, HTTPException):
        return ProblemError(error.status_code, error.detail, headers=dict(error.headers or {}))
    return problem_of(error)


def _answer(problem: ProblemError, headers: Mapping[str, str], path: str) -> Whole:
    """Return a problem as a page for browsers, and as JSON for other clients."""
    if (
        "text/html" in headers.get("accept", "")
        and not path.startswith("/api/")
        and not path.endswith(".json")
    ):
        content, media = problem_page(problem, _LINKS).encode(), "text/html; charset=utf-8"
    else:
        content, media = problem_json(problem), PROBLEM_JSON
    return Whole(content, media, status=problem.status, headers=problem.headers, cache="no-store")
