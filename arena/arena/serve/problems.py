"""Errors as answers: `application/problem+json` (RFC 9457) for programs, a page for browsers."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec

from arena.errors import (
    ArenaError,
    ConfigError,
    IllegalMoveError,
    InvalidMoveError,
    NotFoundError,
    StoreError,
)
from arena.pages.frame import PageHead, page
from arena.pages.html import el
from arena_plugins.errors import PluginError
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.pages.links import Links

STORE_RETRY_S: Final = 5
"""Seconds after which a client may retry if the store is gone or locked."""
_MAX_DETAIL: Final = 1000
"""Maximum number of characters of a problem's detail."""
_WRONG_REQUEST: Final = (ConfigError, IllegalMoveError, InvalidMoveError, PluginError)
"""Arena errors caused by the request, such as a game that is not installed here."""
PROBLEM_JSON: Final = "application/problem+json"


class ProblemError(ArenaError):
    """An error answer; any handler may raise it, in any thread.

    Args:
        status: HTTP status, 400 to 599.
        detail: what happened, to what, and what to do next; shown to people.
        retry_after: seconds after which the same request may succeed; None if it will not.
        headers: more headers of the answer.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = clean_text(detail, _MAX_DETAIL)
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["retry-after"] = str(retry_after)


class ProblemDetails(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a problem (RFC 9457)."""

    type: str = "about:blank"
    title: str
    """Name of the status."""
    status: int
    detail: str
    """What happened, and what to do next."""


def problem_of(error: Exception) -> ProblemError:
    """Return the problem for an error: 404 if something does not exist, 503 if the store is unavailable.

    Any error that is not an `ArenaError` is a fault of the server; its text appears only in the log.
    """
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, NotFoundError):
        return ProblemError(404, str(error))
    if isinstance(error, StoreError):
        return ProblemError(503, str(error), retry_after=STORE_RETRY_S)
    if isinstance(error, _WRONG_REQUEST):
        return ProblemError(400, str(error))
    if isinstance(error, ArenaError):
        return ProblemError(422, str(error))
    return ProblemError(500, "The server failed to answer this request; its log says why.")


def problem_json(problem: ProblemError) -> bytes:
    """Encode a problem as JSON."""
    details = ProblemDetails(title=_title(problem.status), status=problem.status, detail=problem.detail)
    return msgspec.json.encode(details)


def problem_page(problem: ProblemError, links: Links) -> str:
    """Return a problem as a page for people."""
    return page(
        links,
        PageHead(f"{problem.status} {_title(problem.status)}"),
        [el("p", problem.detail, class_="note")],
    )


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Problem"
