"""The routes of bots: the list, one in full, two head to head, and ratings over all tournaments."""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from arena.results.absence import check_names
from arena.results.addresses import bot_address
from arena.results.bot_page import bot_page
from arena.results.forfeits import count_forfeits, count_matches
from arena.results.leaderboards import rate
from arena.results.versus import versus
from arena.serve.api.answers import (
    BotPageAnswer,
    CompetitorAnswer,
    RatingAnswer,
    VersusAnswer,
    answer_of,
)
from arena.serve.api.questions import BasicFilters, LeaderboardFilters
from arena.serve.rows import DataRoute, Route
from arena.watching.objects import bot_object
from arena.watching.table_objects import rating_objects
from arena_db.called import MARK
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext
    from arena_db.store import Store

_DIGITS: Final = re.compile(r"[0-9a-f]{6,64}")
"""Digits of an identity, a SHA-256. A shorter text is a name: words such as `cafe` are hex digits, too."""


def bot_text(store: Store, text: str) -> str:
    """Return the text by which commands find a bot: hex digits are an identity unless a bot has that name."""
    if _DIGITS.fullmatch(text) and not store.names.has_entrant(text):
        return f"{MARK}{text}"
    return text


def _list(reading: Reading, context: RequestContext) -> list[CompetitorAnswer]:
    del context
    store = reading.store
    bots, labels = store.names.bots(), store.names.labels()
    tallies = store.sums.tallies(MatchFilter(rated_only=False))
    games = count_matches(tallies)
    forfeits = count_forfeits(tallies, lambda tally: (tally.first, tally.second))
    return [
        answer_of(
            CompetitorAnswer,
            "competitor",
            {
                **bot_object(bot),
                "label": labels.get(identity, bot.spec),
                "address": bot_address(store, bot, bots.values()),
                "games": games[identity],
                "forfeits": dict(forfeits[identity]),
            },
        )
        for identity, bot in sorted(bots.items(), key=lambda each: (each[1].spec, each[0]))
    ]


def _bot(reading: Reading, context: RequestContext) -> BotPageAnswer:
    text = bot_text(reading.store, context.parameters["bot"])
    page = bot_page(reading.store, text, reading.query.is_wanted)
    reading.query.check()
    return answer_of(BotPageAnswer, "bot-page", msgspec.to_builtins(page))


def _versus(reading: Reading, context: RequestContext) -> VersusAnswer:
    store = reading.store
    bot, opponent = (bot_text(store, context.parameters[name]) for name in ("bot", "opponent"))
    condition = context.query(BasicFilters).condition()
    found = versus(store, bot, opponent, condition, reading.query.is_wanted)
    reading.query.check()
    return answer_of(VersusAnswer, "versus", msgspec.to_builtins(found))


def _leaderboard(reading: Reading, context: RequestContext) -> list[RatingAnswer]:
    condition = context.query(LeaderboardFilters).condition()
    found = rate(reading.store, condition)
    # An empty table is returned only if the names exist; for a misspelt one, the error names the nearest.
    if found is None:
        check_names(reading.store, condition)
        return []
    rows = rating_objects(found.tables)
    return [answer_of(RatingAnswer, "rating", {**row, "num_other_pools": len(found.others)}) for row in rows]


BOT_ROWS: Final[tuple[Route, ...]] = (
    DataRoute(
        path="/api/v1/bots",
        handle=_list,
        kept_s=inf,
        answer=list[CompetitorAnswer],
        summary="All bots that were ever entered, with matches and forfeits.",
    ),
    DataRoute(
        path="/api/v1/bots/{bot}",
        handle=_bot,
        kept_s=inf,
        answer=BotPageAnswer,
        summary="All of a bot, by name, spec or digits of its identity; what `arena bots show` prints.",
    ),
    DataRoute(
        path="/api/v1/bots/{bot}/versus/{opponent}",
        query=BasicFilters,
        handle=_versus,
        kept_s=inf,
        answer=VersusAnswer,
        summary="Two bots head to head; what `arena versus` prints.",
    ),
    DataRoute(
        path="/api/v1/leaderboard",
        query=LeaderboardFilters,
        handle=_leaderboard,
        kept_s=inf,
        answer=list[RatingAnswer],
        summary="Ratings of one game and pool over all tournaments; what `arena leaderboard` prints.",
    ),
)
