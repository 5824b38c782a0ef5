"""The routes of pages of stored data."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from arena.errors import NotFoundError
from arena.pages.event import matches_page, table_page
from arena.pages.first_page import home_page, leaderboard_page
from arena.pages.links import PER_PAGE
from arena.results.addresses import find_in
from arena.results.condition import read_condition
from arena.serve.live_rows import event, followed_match, match_twin, show_event, show_match
from arena.serve.rows import PageRoute, Route
from arena.watching.page_source import event_view, home_view, leaderboard_view, match_list_page, match_view
from arena.watching.page_views import HomePage, LeaderboardPage, MatchListPage, MatchPage, TournamentPage
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext


_RUN_S: Final = 5.0
"""Seconds for which pages with the state of a tournament are cached, since a crash commits nothing."""


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
    """In the filter language of `arena matches --where`: `bot:mcts* result:0-1 ply<20`."""


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
