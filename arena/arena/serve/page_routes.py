"""The routes of pages of stored data, of matches as text, and of style sheets, scripts and the icon."""

from __future__ import annotations

from functools import cache
from math import inf
from mimetypes import guess_type
from typing import TYPE_CHECKING, Final

import msgspec

from arena.errors import NotFoundError
from arena.pages.asset_files import asset_files
from arena.pages.bot import bot_page, bots_page
from arena.pages.event import matches_page, table_page
from arena.pages.first_page import home_page, leaderboard_page
from arena.pages.links import PER_PAGE
from arena.pages.openings_page import openings_page
from arena.pages.versus_page import versus_page
from arena.results.addresses import find_in
from arena.results.condition import read_condition
from arena.serve.live_rows import event, followed_match, match_twin, show_event, show_match
from arena.serve.problems import ProblemError
from arena.serve.rows import DataRoute, FileRoute, PageRoute, Raw, Route
from arena.serve.sending import Whole
from arena.watching.page_source import (
    event_view,
    home_view,
    leaderboard_view,
    match_list_page,
    match_text,
    match_view,
    openings_view,
)
from arena.watching.page_views import (
    BotListPage,
    BotProfile,
    HomePage,
    LeaderboardPage,
    MatchListPage,
    MatchPage,
    OpeningsPage,
    TournamentPage,
    VersusPage,
)
from arena.watching.profiles import EventProfiles, Profiles
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext

_RUN_S: Final = 5.0
"""Seconds for which pages with the state of a tournament are cached, since a crash is not a commit."""


def _home(reading: Reading, context: RequestContext) -> HomePage:
    return home_view(reading.store, context.settings.title)


def _leaderboard(reading: Reading, context: RequestContext) -> LeaderboardPage:
    del context
    return leaderboard_view(reading.store)


def _event(reading: Reading, context: RequestContext) -> TournamentPage:
    return event_view(reading.store, reading.tournament(context.parameters["tournament"]))


class MatchQuery(msgspec.Struct, frozen=True):
    """The filter of a list of matches."""

    q: str = ""
    """A filter in the language of `arena matches --where`: `bot:mcts* result:0-1 ply<20`."""


def _matches(reading: Reading, context: RequestContext) -> MatchListPage:
    record = reading.tournament(context.parameters["tournament"])
    number = context.number("number") if "number" in context.parameters else 1
    condition = read_condition(context.query(MatchQuery).q)
    return match_list_page(reading.store, record, number, PER_PAGE, condition)


def _match(reading: Reading, context: RequestContext) -> MatchPage:
    record = reading.tournament(context.parameters["tournament"])
    text = context.parameters["match"]
    if not text[:1].isdecimal():
        folder = "/t/{tournament}/"
        routes: Sequence[Route] = context.serving.routes
        pages = [route.path.removeprefix(folder) for route in routes if route.path.startswith(folder)]
        known = sorted(page for page in pages if page and not {"{", "/"} & set(page))
        raise NotFoundError(
            f'{record.name} has no page "{text}"{nearest(text, known)} (there are {", ".join(known)}, and '
            "its matches by number)"
        )
    address = find_in(reading.store, record, text)
    if address.match is None:
        return followed_match(reading, context, record, address)
    return match_view(reading.store, record, address.match)


PAGE_ROWS: Final[tuple[Route, ...]] = (
    PageRoute(
        path="/",
        twin="/index.json",
        handle=_home,
        kept_s=_RUN_S,
        show=home_page,
        answer=HomePage,
        summary="Tournaments that are not archived, and the newest matches of all.",
    ),
    PageRoute(
        path="/leaderboard",
        handle=_leaderboard,
        kept_s=inf,
        show=leaderboard_page,
        answer=LeaderboardPage,
        summary="The ratings of each game and pool.",
    ),
    PageRoute(
        path="/t/{tournament}",
        twin="/t/{tournament}/index.json",
        handle=event,
        twin_handle=_event,
        kept_s=_RUN_S,
        show=show_event,
        answer=TournamentPage,
        summary="A tournament: standings, bracket or places, newest matches.",
    ),
    PageRoute(
        path="/t/{tournament}/table",
        handle=_event,
        kept_s=_RUN_S,
        show=table_page,
        answer=TournamentPage,
        twin_of=lambda view: view.matrix,
        summary="The crosstable of a tournament.",
    ),
    PageRoute(
        path="/t/{tournament}/matches",
        query=MatchQuery,
        handle=_matches,
        kept_s=inf,
        show=matches_page,
        answer=MatchListPage,
        summary="The newest matches of a tournament, all or those that fit a filter.",
    ),
    PageRoute(
        path="/t/{tournament}/matches-{number}",
        query=MatchQuery,
        handle=_matches,
        kept_s=inf,
        show=matches_page,
        answer=MatchListPage,
        summary="A further page of the matches of a tournament, counted from 1.",
    ),
    PageRoute(
        path="/t/{tournament}/{match}",
        handle=_match,
        kept_s=inf,
        show=show_match,
        answer=MatchPage,
        twin_of=match_twin,
        summary="A match, `89`, or a void attempt, `89.1`: its replay, or its board while it is played.",
    ),
)


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


@cache
def _assets() -> dict[str, Whole]:
    return {
        # Public, since nothing in them depends on the viewer; a minute, since an upgraded server changes them
        # under the same names.
        name: Whole(content, _media(name), cache="public, max-age=60").pack()
        for name, content in asset_files().items()
    }


def _media(name: str) -> str:
    kind = "text/javascript" if name.endswith(".js") else guess_type(name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


def _asset(context: RequestContext) -> Whole:
    name = context.parameters["name"]
    found = _assets().get(name)
    if found is None:
        raise ProblemError(404, f"There is no style sheet, script or icon {name}.")
    return found


ASSET_ROWS: Final[tuple[Route, ...]] = (
    FileRoute(
        path="/a/{name}",
        role="none",
        handle=_asset,
        summary="A style sheet, script or icon of the pages.",
    ),
)
