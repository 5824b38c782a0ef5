"""What every request passes: host, limits, token, origin; and what every answer gets: headers of security.

Pure ASGI, so that streams pass it chunk by chunk.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from arena.pages.links import Links
from arena.serve.hosts import host_names, is_ours, origins
from arena.serve.problems import PROBLEM_JSON, ProblemError, problem_json, problem_of, problem_page
from arena.serve.roles import Caller
from arena.serve.sending import Whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from arena.serve.callers import Callers
    from arena.serve.context import Serving
    from arena.serve.limits import Limits

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_SECURITY: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
_READS: Final = frozenset({"GET", "HEAD"})
_LINKS: Final = Links(root="/", suffix="", index="")

_log = logging.getLogger(__name__)


class Guarded:
    """What the guard found out of a request; `scope["arena"]`."""

    def __init__(self, limits: Limits, address: str, headers: Mapping[str, str]) -> None:
        """Keep what is known before the caller is."""
        self._limits = limits
        self.address = address
        """Of the client, by which it is limited."""
        self.headers = headers
        """Of the request, by names in lower case."""
        self.caller = Caller()
        """Who asks."""

    def stream(self) -> AbstractContextManager[None]:
        """Count a stream for a `with` block."""
        return self._limits.stream(self.address)


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, serving: Serving, callers: Callers, limits: Limits) -> None:
        """Guard an application."""
        self._app = app
        self._settings = serving.settings
        self._callers = callers
        self._limits = limits
        self._names = host_names(serving.settings)
        self._origins = origins(serving.settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it with a problem."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1002})
            return
        is_begun = False

        async def safe(message: Message) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                message["headers"] = [*message.get("headers", ()), *_SECURITY]
            await send(message)

        headers = {name.lower(): value for name, value in Headers(scope=scope).items()}
        guarded = Guarded(self._limits, self._address(scope, headers), headers)
        try:
            redirect = await self._check(scope, guarded)
            if redirect is not None:
                await Whole(b"", "text/plain", status=303, headers=redirect).send_to(scope, headers, safe)
                return
            scope["arena"] = guarded
            scope["path"] = scope["path"].rstrip("/") or "/"
            await self._app(scope, receive, safe)
        except Exception as error:
            problem = _problem(error)
            if problem.status == 500:  # noqa: PLR2004 - HTTP
                _log.exception("a request failed")
            if is_begun:
                raise
            await _answer(problem, headers, scope["path"]).send_to(scope, headers, safe)

    async def _check(self, scope: Scope, guarded: Guarded) -> Mapping[str, str] | None:
        """Find out who asks; return the headers of a redirect where the address holds a token.

        Raises:
            ProblemError: the host is none of ours, there are too many requests, the token does not count, or
                another site's page asks for a write.
        """
        headers = guarded.headers
        if not is_ours(headers.get("host", ""), self._names):
            raise ProblemError(
                421, "This server is not called by that name; open the address that it printed."
            )
        self._limits.count(guarded.address)
        if scope["method"] in _READS:
            redirect = await self._callers.traded(
                scope["path"], scope["query_string"].decode("ascii", "replace")
            )
            if redirect is not None:
                return redirect
        guarded.caller = await self._callers.caller(headers)
        if scope["method"] not in _READS:
            self._check_origin(guarded)
        return None

    def _check_origin(self, guarded: Guarded) -> None:
        """Return if a write was asked for by one of our pages, or by a program.

        Raises:
            ProblemError: 403, another site's page asks, or a browser that does not say which.
        """
        origin = guarded.headers.get("origin")
        is_own = origin is not None and origin.lower() in self._origins
        if origin is not None and not is_own:
            raise ProblemError(403, "Another site's page asked for this; only pages of this server may.")
        if guarded.caller.is_by_cookie and not (is_own and guarded.headers.get("x-arena") == "1"):
            raise ProblemError(403, "A browser may ask for this only from a page of this server.")

    def _address(self, scope: Scope, headers: Mapping[str, str]) -> str:
        """Return the address of the client: that of the connection, or what trusted proxies say it is."""
        client = scope.get("client")
        address = client[0] if client else ""
        hops = self._settings.proxy_hops
        if hops:
            forwarded = [
                part.strip() for part in headers.get("x-forwarded-for", "").split(",") if part.strip()
            ]
            if forwarded:
                address = forwarded[-min(hops, len(forwarded))][:64]
        return address


def _problem(error: Exception) -> ProblemError:
    if isinstance(error, HTTPException):
        return ProblemError(error.status_code, error.detail, headers=dict(error.headers or {}))
    return problem_of(error)


def _answer(problem: ProblemError, headers: Mapping[str, str], path: str) -> Whole:
    """Return a problem as a page to a browser, and as JSON to anything else."""
    if (
        "text/html" in headers.get("accept", "")
        and not path.startswith("/api/")
        and not path.endswith(".json")
    ):
        content, media = problem_page(problem, _LINKS).encode(), "text/html; charset=utf-8"
    else:
        content, media = problem_json(problem), PROBLEM_JSON
    return Whole(content, media, status=problem.status, headers=problem.headers, cache="no-store")
