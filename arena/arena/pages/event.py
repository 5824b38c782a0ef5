"""The pages of a tournament: its standings, its crosstable, its matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.naming import count_text
from arena.pages import tables
from arena.pages.frame import Crumb, page, section
from arena.pages.html import Html, el, join
from arena.pages.numbers import day_text, iso_text
from arena.results.condition import HINT

if TYPE_CHECKING:
    from arena.live.tournaments import TournamentRow
    from arena.pages.links import Links
    from arena.watching.page_views import MatchListPage, TournamentPage

MAX_NEWEST = 12
"""Matches on the first page of a tournament."""


def event_page(view: TournamentPage, links: Links, twin: str = "") -> Html:
    """Return the first page of a tournament: how far it is, standings, bracket or places, newest matches."""
    name = view.row.name
    content = [
        summary(view.row, view.goal),
        _tabs(name, links, here=""),
        section("Bracket", tables.bracket(view.bracket)) if view.bracket else None,
        section("Places", tables.places(view.places)) if view.places else None,
        section("Standings", tables.standings(view.standings, links, view.identities)),
        _refused(view.row),
        section(
            "Newest matches",
            tables.matches(view.newest, links, "The newest matches") if view.newest else el("p", "None yet."),
            el("p", el("a", "All matches", href=links.matches_page(name, 1))) if view.newest else None,
        ),
    ]
    return page(links, name, content, way=[Crumb(name, links.event(name))], twin=twin)


def table_page(view: TournamentPage, links: Links, twin: str = "") -> Html:
    """Return the crosstable of a tournament."""
    name = view.row.name
    content = [
        summary(view.row, view.goal),
        _tabs(name, links, here="table"),
        tables.matrix(view.matrix, links, name, view.identities),
    ]
    return page(links, f"{name}: crosstable", content, way=[Crumb(name, links.event(name))], twin=twin)


def matches_page(view: MatchListPage, links: Links, twin: str = "") -> Html:
    """Return a page of the list of a tournament's matches."""
    name = view.tournament
    content = [
        _tabs(name, links, here="matches"),
        _filter(view, links) if links.is_served else None,
        tables.matches(view.rows, links, f"Matches of {name}, newest first, page {view.number}")
        if view.rows
        else el("p", "No match fits." if view.condition else "No match has been played yet.", class_="note"),
        _pages(view, links),
    ]
    return page(links, f"{name}: matches", content, way=[Crumb(name, links.event(name))], twin=twin)


def summary(row: TournamentRow, goal: str = "") -> Html:
    """Return a tournament in one line: what is played, how far it is, in what state."""
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


def _tabs(name: str, links: Links, *, here: str) -> Html:
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
    """Return the field for the words of a filter, which a server reads."""
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


def _refused(row: TournamentRow) -> Html | None:
    if not row.refused:
        return None
    return section(
        "Refused",
        el("dl", *(join(el("dt", bot), el("dd", why)) for bot, why in row.refused), class_="refused"),
    )
