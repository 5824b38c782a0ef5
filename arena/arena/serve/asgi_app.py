"""Builds the ASGI application from the table of all routes; nothing else is served.

To add a route:

1. Write the handler in a module of this room: a plain function `(reading, context)` for pages and data, an
   async one `(context)` for a stream. `rows` documents what each kind returns and raises.
2. Add a route to the tuple of your module (`PAGE_ROWS`), or a new tuple to `ROUTES` below. Path, role,
   parameters and answer type are declared in the route and nowhere else: the application checks them before
   it calls the handler, tests check the answers, and the API description is generated from them.
3. A page also has a JSON twin: at `path` + `.json`, or at `twin`.

State that is kept between requests (a hub, a cache) belongs in a class that is created with
`context.serving.part(Kind)`; it is closed with the server. Handlers import `rows`, `context`, `reading` and
`problems`, never this module; code that needs the table reads `context.serving.routes`.
"""

from __future__ import annotations

import re
import time
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route as Registered

from arena.serve.api.api_rows import API_ROWS
from arena.serve.callers import Callers
from arena.serve.endpoints import endpoints
from arena.serve.guard import Guard
from arena.serve.limits import RequestLimits
from arena.serve.live_rows import LIVE_ROWS
from arena.serve.page_routes import ASSET_ROWS, BOT_PAGE_ROWS, PAGE_ROWS
from arena.serve.problems import ProblemError
from arena.serve.request_context import Serving
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from arena.serve.rows import Route
    from arena.serve.server_options import ServeSettings


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
    """Raise an unknown address as a problem with the nearest known one; re-raise any other error."""
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
    found.sort(key=lambda each: [_openness(part) for part in each[0].split("/")])
    return [Registered(path, endpoint, methods=[method]) for path, method, endpoint in found]


def _openness(part: str) -> tuple[bool, int]:
    """Return the sort key of a path part: fixed parts first, then the longer the fixed text the earlier."""
    return "{" in part, -len(_NAMES.sub("", part))
