"""The table of all routes; nothing else is served.

To add a route:

1. Write the handler in a module of this room: a plain function `(reading, context)` for pages and data, an
async one `(context)` for a stream. `rows` documents what each kind returns and raises.
2. Add a route to the tuple of your module (`PAGE_ROWS`), or a new tuple to `ROUTES` below. Path, role,
parameters and answer type are declared in the route and nowhere else: the application checks them before it
calls the handler, tests check the answers, and the API description is generated from them.
3. A page also has a JSON twin: at `path` + `.json`, or at `twin`.

State that is kept between requests (a hub, a cache) belongs in a class that is created with
`context.serving.part(Kind)`; it is closed with the server. Handlers import `rows`, `context`, `reading` and
`problems`, never `routes` or `app`; code that needs the table reads `context.serving.routes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.serve.api.api_rows import API_ROWS
from arena.serve.assets import ASSET_ROWS
from arena.serve.bot_page_rows import BOT_PAGE_ROWS
from arena.serve.live_rows import LIVE_ROWS
from arena.serve.page_routes import PAGE_ROWS

if TYPE_CHECKING:
    from arena.serve.rows import Route

ROUTES: Final[tuple[Route, ...]] = (*PAGE_ROWS, *BOT_PAGE_ROWS, *LIVE_ROWS, *ASSET_ROWS, *API_ROWS)
"""All routes."""
