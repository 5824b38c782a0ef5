"""The pages of a tournament: standings, crosstable, list of matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.naming import count_text
from arena.pages import page_tables
from arena.pages.frame import Crumb, PageHead, page, section
from arena.pages.html import Html, el, join
from arena.pages.numbers import day_text, iso_text
from arena.results.condition import HINT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.live.table_views import MatchRow, StandingsView
    from arena.live.tournament_views import TournamentRow
    from arena.pages.links import Links
    from arena.results.brackets import BracketRow
    from arena.results.place_table import PlaceRow
    from arena.watching.page_views import MatchListPage, TournamentPage

_NO_FILTER = (
    "A folder of pages cannot filter this list. Pages of bots have their losses and forfeits, those of two "
    "bots their matches by opening; arena serve and arena matches filter by bot, result, ending and length."
)
MAX_NEWEST = 12
"""Number of matches on the first page of a tournament."""


def event_page(view: TournamentPage, links: Links, twin: str = "") -> Html:
    """Return the first page of a tournament: progress, standings, bracket or places, newest matches."""
    name = view.row.name
    content = [
        summary(view.row, view.goal),
        event_tabs(name, links, here=""),
        bracket_part(view.bracket),
        places_part(view.places, links, view.identities),
        standings_part(view.standings, links, view.identities),
        refused_part(view.row),
        newest_part(view.newest, name, links),
    ]
    return page(links, PageHead(name, twin), content, [Crumb(name, links.event(name))])


def bracket_part(rows: Sequence[BracketRow]) -> Html:
    """Return the bracket with its heading; a hidden element if there is no bracket."""
    return _part("bracket", "Bracket", page_tables.bracket(rows) if rows else None)


def places_part(rows: Sequence[PlaceRow], links: Links, identities: Mapping[str, str]) -> Html:
    """Return the table by place with its heading; a hidden element if there are no places."""
    return _part("places", "Places", page_tables.places(rows, links, identities) if rows else None)


def standings_part(view: StandingsView, links: Links, identities: Mapping[str, str]) -> Html:
    """Return the ratings with their heading; see `page_tables.standings`."""
    los = page_tables.notes([page_tables.LOS]) if view.rows else None
    return _part("standings", "Standings", page_tables.standings(view, links, identities), los)


def newest_part(rows: Sequence[MatchRow], name: str, links: Links, when: str = page_tables.BEGAN) -> Html:
    """Return the newest matches of a tournament with their heading.

    Args:
        rows: the matches, newest first.
        name: name of the tournament.
        links: addresses of other pages.
        when: heading of the column of times.
    """
    if not rows:
        return _part("newest", "Newest matches", el("p", "None yet."))
    every = el("p", el("a", "All matches", href=links.matches_page(name, 1)))
    return _part(
        "newest", "Newest matches", page_tables.matches(rows, links, "The newest matches", when), every
    )


def _part(id_: str, title: str, *content: Html | None) -> Html:
    """Return a section that a stream can replace."""
    if content == (None,):
        return el("section", id=id_, hidden=True)
    return section(title, *content, id_=id_)


def table_page(view: TournamentPage, links: Links, twin: str = "") -> Html:
    """Return the crosstable of a tournament."""
    name = view.row.name
    content = [
        summary(view.row, view.goal),
        event_tabs(name, links, here="table"),
        page_tables.matrix(view.matrix, links, name, view.identities),
    ]
    return page(links, PageHead(f"{name}: crosstable", twin), content, [Crumb(name, links.event(name))])


def matches_page(view: MatchListPage, links: Links, twin: str = "") -> Html:
    """Return a page of the list of a tournament's matches."""
    name = view.tournament
    content = [
        event_tabs(name, links, here="matches"),
        _filter(view, links) if links.is_served else el("p", _NO_FILTER, class_="note"),
        page_tables.matches(view.rows, links, f"Matches of {name}, newest first, page {view.number}")
        if view.rows
        else el("p", "No match fits." if view.condition else "No match has been played yet.", class_="note"),
        _pages(view, links),
    ]
    return page(links, PageHead(f"{name}: matches", twin), content, [Crumb(name, links.event(name))])


def summary(row: TournamentRow, goal: str = "") -> Html:
    """Return a tournament in one line: game, progress, state."""
    done = count_text(row.done, row.planned)
    return el(
        "p",
        el("span", row.state_text, class_=f"state {row.state}"),
        el("span", row.type),
        el("span", row.game),
        el("span", row.tc),
        el("span", f"{done} matches"),
        el("span", goal) if goal else None,
        el("time", day_text(row.created_t), datetime=iso_text(row.created_t)),
        class_="summary",
    )


def event_tabs(name: str, links: Links, *, here: str) -> Html:
    """Return the links between the pages of a tournament; `here` is the key of the current page."""
    places = (
        ("Standings", "", links.event(name)),
        ("Crosstable", "table", links.event(name, "table")),
        ("Matches", "matches", links.matches_page(name, 1)),
        *([("Live", "live", links.event(name, "live"))] if links.is_served else []),
    )
    return el(
        "nav",
        *(
            el("a", words, href=address, aria_current="page" if key == here else None)
            for words, key, address in places
        ),
        class_="tabs",
        aria_label=f"Pages of {name}",
    )


def _filter(view: MatchListPage, links: Links) -> Html:
    """Return the input field for a filter, which only a server can apply."""
    return el(
        "form",
        el("label", "Only matches with", for_="q"),
        el("input", id="q", name="q", type="search", value=view.condition, placeholder=HINT, maxlength=500),
        el("button", "Filter", type="submit"),
        el("span", f"{view.total:,} matches", class_="quiet"),
        method="get",
        action=links.matches_page(view.tournament, 1),
        role="search",
        class_="filter",
    )


def _pages(view: MatchListPage, links: Links) -> Html | None:
    if view.num_pages == 1:
        return None
    newer, older = view.number - 1, view.number + 1
    return el(
        "nav",
        el("a", "newer", href=links.matches_page(view.tournament, newer, view.condition))
        if newer
        else el("span", "newer"),
        el("span", f"page {view.number} of {view.num_pages}"),
        el("a", "older", href=links.matches_page(view.tournament, older, view.condition))
        if older <= view.num_pages
        else el("span", "older"),
        class_="turns",
        aria_label="Pages of the list",
    )


def refused_part(row: TournamentRow) -> Html | None:
    """Return the refused bots and the reasons; None if there are none."""
    if not row.refused:
        return None
    return section(
        "Refused",
        el("dl", *(join(el("dt", bot), el("dd", why)) for bot, why in row.refused), class_="refused"),
    )
