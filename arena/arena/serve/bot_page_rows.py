"""The routes of pages of bots, head-to-heads and openings, and of matches as text."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from arena.errors import NotFoundError
from arena.pages.bot import bot_page, bots_page
from arena.pages.openings_page import openings_page
from arena.pages.versus_page import versus_page
from arena.results.addresses import find_in
from arena.serve.rows import DataRoute, PageRoute, Raw, Route
from arena.watching.page_source import match_text, openings_view
from arena.watching.page_views import BotListPage, BotProfile, OpeningsPage, VersusPage
from arena.watching.profiles import EventProfiles, Profiles

if TYPE_CHECKING:
    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext

_TEXT: Final = "text/plain; charset=utf-8"


def _bots(reading: Reading, context: RequestContext) -> BotListPage:
    del context
    return Profiles(reading.store).bots()


def _bot(reading: Reading, context: RequestContext) -> BotProfile:
    profiles = Profiles(reading.store)
    return profiles.bot(profiles.identity_of(context.parameters["identity"]))


def _versus(reading: Reading, context: RequestContext) -> VersusPage:
    event = EventProfiles(reading.store, reading.tournament(context.parameters["tournament"]))
    return event.versus(*(event.identity_of(context.parameters[name]) for name in ("one", "other")))


class OpeningsQuery(msgspec.Struct, frozen=True):
    """The position that is shown."""

    game: str = ""
    """Spec of the game; empty for the game with most matches."""
    moves: str = ""
    """Moves from the initial position, separated by blanks."""


def _openings(reading: Reading, context: RequestContext) -> OpeningsPage:
    asked = context.query(OpeningsQuery)
    view = openings_view(reading.store, asked.game, asked.moves, reading.query.is_wanted)
    reading.query.check()
    return view


def _pgn(reading: Reading, context: RequestContext) -> Raw:
    return _match_text(reading, context, "pgn")


def _sgf(reading: Reading, context: RequestContext) -> Raw:
    return _match_text(reading, context, "sgf")


def _match_text(reading: Reading, context: RequestContext, form: str) -> Raw:
    record = reading.tournament(context.parameters["tournament"])
    address = find_in(reading.store, record, context.parameters["match"])
    if address.match is None:
        raise NotFoundError(f"match {context.parameters['match']} of {record.name} has no result yet")
    return Raw(content=match_text(reading.store, address.match, form).encode(), media_type=_TEXT)


BOT_PAGE_ROWS: Final[tuple[Route, ...]] = (
    PageRoute(
        path="/bots",
        handle=_bots,
        kept_s=inf,
        show=bots_page,
        answer=BotListPage,
        summary="All bots of the store.",
    ),
    PageRoute(
        path="/b/{identity}",
        handle=_bot,
        kept_s=inf,
        show=bot_page,
        answer=BotProfile,
        summary="A bot by digits of its identity: ratings, opponents, losses, forfeits, mistakes, hashes.",
    ),
    PageRoute(
        path="/t/{tournament}/v/{one}/{other}",
        handle=_versus,
        kept_s=inf,
        show=versus_page,
        answer=VersusPage,
        summary="Two bots of a tournament head to head, given by digits of their identities.",
    ),
    PageRoute(
        path="/openings",
        query=OpeningsQuery,
        handle=_openings,
        kept_s=inf,
        show=openings_page,
        answer=OpeningsPage,
        summary="What was played next in a position of a game, and how it scored.",
    ),
    DataRoute(
        path="/t/{tournament}/{match}.pgn",
        handle=_pgn,
        kept_s=inf,
        media_type=_TEXT,
        summary="A match as PGN.",
    ),
    DataRoute(
        path="/t/{tournament}/{match}.sgf",
        handle=_sgf,
        kept_s=inf,
        media_type=_TEXT,
        summary="A match as SGF, of games on the cells of a square board.",
    ),
)
