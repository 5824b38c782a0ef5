"""The rows of pages that show what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.pages.event import event_page, table_page
from arena.pages.home import home_page, leaderboard_page
from arena.serve.rows import PageRoute, Route
from arena.watching.page_source import event_view, home_view, leaderboard_view
from arena.watching.page_views import HomePage, LeaderboardPage, TournamentPage

if TYPE_CHECKING:
    from arena.serve.context import RequestContext
    from arena.serve.reading import Reading


def _home(reading: Reading, context: RequestContext) -> HomePage:
    return home_view(reading.store, context.settings.title)


def _leaderboard(reading: Reading, context: RequestContext) -> LeaderboardPage:
    del context
    return leaderboard_view(reading.store)


def _event(reading: Reading, context: RequestContext) -> TournamentPage:
    return event_view(reading.store, reading.tournament(context.parameters["tournament"]))


PAGE_ROWS: Final[tuple[Route, ...]] = (
    PageRoute(
        path="/",
        twin="/index.json",
        handle=_home,
        show=home_page,
        answer=HomePage,
        summary="Tournaments that are not archived, and the newest matches of all.",
    ),
    PageRoute(
        path="/leaderboard",
        handle=_leaderboard,
        show=leaderboard_page,
        answer=LeaderboardPage,
        summary="The ratings of each game and pool.",
    ),
    PageRoute(
        path="/t/{tournament}",
        twin="/t/{tournament}/index.json",
        handle=_event,
        show=event_page,
        answer=TournamentPage,
        summary="A tournament: standings, bracket or places, newest matches.",
    ),
    PageRoute(
        path="/t/{tournament}/table",
        handle=_event,
        show=table_page,
        answer=TournamentPage,
        twin_of=lambda view: view.matrix,
        summary="The crosstable of a tournament.",
    ),
)
