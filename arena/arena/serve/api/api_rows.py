"""All rows of the API; those of one address each are here."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from arena.results.opening_statistics import find_openings
from arena.serve.api.answers import NextMoveAnswer, answer_of
from arena.serve.api.badge_rows import BADGE_ROWS
from arena.serve.api.bot_rows import BOT_ROWS
from arena.serve.api.event_rows import EVENT_ROWS
from arena.serve.api.match_rows import MATCH_ROWS
from arena.serve.api.openapi import document
from arena.serve.api.questions import OpeningChoice
from arena.serve.api.tournament_rows import TOURNAMENT_ROWS
from arena.serve.rows import DataRoute, FileRoute, Route
from arena.watching.objects import next_move_objects

if TYPE_CHECKING:
    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext


def _openings(reading: Reading, context: RequestContext) -> list[NextMoveAnswer]:
    asked = context.query(OpeningChoice)
    view = find_openings(
        reading.store,
        asked.condition(),
        asked.moves,
        rated_only=not asked.unrated,
        is_wanted=reading.query.is_wanted,
    )
    reading.query.check()
    return [answer_of(NextMoveAnswer, "next-move", row) for row in next_move_objects(view)]


API_ROWS: Final[tuple[Route, ...]] = (
    *TOURNAMENT_ROWS,
    *MATCH_ROWS,
    *BOT_ROWS,
    DataRoute(
        path="/api/v1/openings",
        query=OpeningChoice,
        handle=_openings,
        kept_s=inf,
        answer=list[NextMoveAnswer],
        summary="What was played next in a position, and how it scored; what `arena openings` prints.",
    ),
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
