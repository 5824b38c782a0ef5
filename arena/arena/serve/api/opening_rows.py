"""The route of openings: the next moves in a position, and their scores."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from arena.results.opening_statistics import find_openings
from arena.serve.api.answers import NextMoveAnswer, answer_of
from arena.serve.api.questions import OpeningChoice
from arena.serve.rows import DataRoute, Route
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


OPENING_ROWS: Final[tuple[Route, ...]] = (
    DataRoute(
        path="/api/v1/openings",
        query=OpeningChoice,
        handle=_openings,
        kept_s=inf,
        answer=list[NextMoveAnswer],
        summary="What was played next in a position, and how it scored; what `arena openings` prints.",
    ),
)
