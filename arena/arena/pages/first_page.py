"""The first page, which lists the tournaments, and the leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.naming import count_text
from arena.pages import page_tables
from arena.pages.frame import PageHead, page, section
from arena.pages.html import Html, el
from arena.pages.numbers import day_text, iso_text

if TYPE_CHECKING:
    from arena.live.table_views import StandingsView
    from arena.live.tournament_views import TournamentRow
    from arena.pages.links import Links
    from arena.watching.page_views import HomePage, LeaderboardPage

_ABOUT = (
    "A table for each game and pool, that is each limit of time or nodes, over all events. Ratings of "
    f"different tables cannot be compared. {page_tables.LOS}"
)
_WELCOME = (
    "Tournaments of game-playing programs. An event leads to its standings, its crosstable and its matches, "
    "each to step through; the leaderboard rates all bots over all events."
)
_MAX_OPEN = 3
"""Number of leaderboards that are shown open, those with most matches; the others are folded."""
_MAX_NAMED = 6
"""Maximum number of bots named for a tournament in the list; the others are counted."""


def home_page(view: HomePage, links: Links, twin: str = "") -> Html:
    """Return the first page: tournaments, running ones first, and the newest matches."""
    running = [row for row in view.events if row.state in {"running", "paused"}]
    others = [row for row in view.events if row not in running]
    content = [
        el("p", _WELCOME, class_="note"),
        section("Now", _events(running, links)) if running else None,
        section(
            "Events",
            _events(others, links) if others else el("p", "No event has been held yet.", class_="note"),
        ),
        section("Newest matches", page_tables.matches(view.newest, links, "The newest matches of all events"))
        if view.newest
        else None,
    ]
    return page(links, PageHead(view.title, twin), content)


def leaderboard_page(view: LeaderboardPage, links: Links, twin: str = "") -> Html:
    """Return the ratings of each game and pool."""
    boards = [_board(board, number, view, links) for number, board in enumerate(view.boards, 1)]
    index = (
        el("li", el("a", board.title, href=f"#board-{number}"), f" {_size(board)}")
        for number, board in enumerate(view.boards, 1)
    )
    content = [
        el("p", _ABOUT, class_="note"),
        el("nav", el("ul", *index, class_="index"), aria_label="Games and pools")
        if len(boards) > 1
        else None,
        *boards,
    ]
    if not boards:
        content = [el("p", "No rated match has been played yet.", class_="note")]
    return page(links, PageHead("Leaderboard", twin), content)


def _board(board: StandingsView, number: int, view: LeaderboardPage, links: Links) -> Html:
    """Return the table of a pool; all but the first few tables are folded until their address is opened."""
    return el(
        "details",
        el("summary", el("h2", board.title), f" {_size(board)}"),
        el("div", page_tables.standings(board, links, view.identities), id=f"board-{number}"),
        open=number <= _MAX_OPEN,
    )


def _size(board: StandingsView) -> str:
    num_matches = sum(row.games for row in board.rows) // 2
    return f"{len(board.rows)} bots, {num_matches} matches"


def _events(rows: list[TournamentRow], links: Links) -> Html:
    heads = [
        ("Event", "name"),
        # State and matches come early because a phone shows only three or four columns at once.
        ("State", ""),
        ("Matches", "n"),
        ("Type", ""),
        ("Game", ""),
        ("Limit", "quiet"),
        ("Bots", "bots"),
        ("Began (UTC)", "quiet"),
    ]
    return page_tables.table(
        heads,
        (
            [
                el("a", row.name, href=links.event(row.name)),
                el("span", row.state_text, class_=f"state {row.state}"),
                count_text(row.done, row.planned),
                row.type,
                row.game,
                row.tc,
                _named(row.bots),
                el("time", day_text(row.created_t), datetime=iso_text(row.created_t)),
            ]
            for row in rows
        ),
        "Events",
    )


def _named(bots: tuple[str, ...]) -> str:
    more = len(bots) - _MAX_NAMED
    return ", ".join(bots[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
