"""All rows of the API."""

from __future__ import annotations

from typing import Final

from arena.serve.api.badge_rows import BADGE_ROWS
from arena.serve.api.bot_rows import BOT_ROWS
from arena.serve.api.event_rows import EVENT_ROWS
from arena.serve.api.match_rows import MATCH_ROWS
from arena.serve.api.openapi import document
from arena.serve.api.opening_rows import OPENING_ROWS
from arena.serve.api.tournament_rows import TOURNAMENT_ROWS
from arena.serve.rows import FileRoute, Route

API_ROWS: Final[tuple[Route, ...]] = (
    *TOURNAMENT_ROWS,
    *MATCH_ROWS,
    *BOT_ROWS,
    *OPENING_ROWS,
    *EVENT_ROWS,
    *BADGE_ROWS,
    FileRoute(
        path="/api/v1/openapi.json",
        role="none",
        handle=document,
        cache="public, max-age=60",
        summary="This description.",
    ),
)
