"""The routes of badges and of the health check."""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Final

from arena.results.addresses import find_bot
from arena.results.boards import boards_of
from arena.serve.api.answers import HealthAnswer
from arena.serve.api.badge import badge
from arena.serve.api.bot_rows import bot_text
from arena.serve.api.questions import BadgeChoice
from arena.serve.rows import DataRoute, Raw, Route
from arena.serve.sending import HEALTH
from arena_db.wild import is_like

if TYPE_CHECKING:
    from arena.results.tables import Row
    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext
    from arena_db.store import Store

SVG: Final = "image/svg+xml"


def _badge(reading: Reading, context: RequestContext) -> Raw:
    store, asked = reading.store, context.query(BadgeChoice)
    bot = find_bot(store, bot_text(store, context.parameters["bot"]))
    game, row = _rating(store, bot.identity, asked)
    name = store.labels().get(bot.identity, bot.spec)
    return Raw(content=badge(name, game, row).encode(), media_type=SVG)


def _rating(store: Store, identity: str, asked: BadgeChoice) -> tuple[str, Row | None]:
    """Return the game and rating row of a bot in the pool with most of its matches, among those asked for."""
    boards = boards_of(store)
    sizes: Counter[tuple[str, str]] = Counter()
    for tally in boards.tallies:
        if identity in {tally.first, tally.second}:
            sizes[tally.game, tally.pool] += tally.num_matches
    for (game, pool), _ in sizes.most_common():
        if is_like(game, asked.game or "*") and is_like(pool, asked.pool or "*"):
            rows = (row for table in boards.ratings(game, pool) for row in table.rows)
            return game, next((row for row in rows if row.identity == identity), None)
    return "", None


def _health(reading: Reading, context: RequestContext) -> HealthAnswer:
    """Return that the store can be read; if it cannot, opening it fails before this is called."""
    del reading, context
    return HealthAnswer()


BADGE_ROWS: Final[tuple[Route, ...]] = (
    DataRoute(
        path="/badge/{bot}.svg",
        query=BadgeChoice,
        handle=_badge,
        kept_s=inf,
        media_type=SVG,
        cache="private, max-age=300",
        summary="Elo, error and game of a bot, by digits of its identity, as a picture for a README.",
    ),
    DataRoute(
        path=HEALTH,
        role="none",
        handle=_health,
        answer=HealthAnswer,
        is_probe=True,
        cache="no-store",
        summary="Whether the server runs and its store can be read.",
    ),
)
