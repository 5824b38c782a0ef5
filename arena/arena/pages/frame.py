"""The frame of every page: head, header, breadcrumbs and footer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.pages.html import Child, Html, el, join

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.pages.links import Links


class Crumb(msgspec.Struct, frozen=True):
    """A breadcrumb: a page above the current one."""

    name: str
    address: str


class PageHead(NamedTuple):
    """The data of a page that a browser reads before its content: title, twin, styles and reloads."""

    title: str
    """Heading of the page and title of its browser tab."""
    twin: str = ""
    """Address of the same data as JSON; empty if there is none."""
    is_replay: bool = False
    """Whether to use the style sheet that steps through plies."""
    look: str = ""
    """A class for the whole page that selects its layout."""
    refresh_s: int = 0
    """Seconds after which the page reloads if no script runs; 0 for never."""
    always_refreshes: bool = False
    """Whether the page also reloads if a script runs."""


def page(links: Links, about: PageHead, content: Iterable[Child], way: Sequence[Crumb] = ()) -> Html:
    """Return a whole page.

    Args:
        links: addresses of other pages.
        about: title, twin, styles and reloads of the page.
        content: the elements below the heading.
        way: breadcrumbs, without the first page.
    """
    title, twin = about.title, about.twin
    again = el("meta", http_equiv="refresh", content=about.refresh_s) if about.refresh_s else None
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("title", title if title == "arena" else f"{title} - arena"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("link", rel="icon", type="image/svg+xml", href=links.asset("icon.svg")),
        el("link", rel="stylesheet", href=links.asset("replay.css" if about.is_replay else "style.css")),
        el("link", rel="alternate", type="application/json", href=twin) if twin else None,
        el("script", src=links.asset("page.js"), defer=True),
        again if about.always_refreshes or again is None else el("noscript", again),
    )
    body = el(
        "body",
        el("a", "Skip to the content", href="#content", class_="skip"),
        _header(links),
        el(
            "main",
            _way(links, way),
            el("h1", title),
            *content,
            id="content",
        ),
        _footer(twin),
        class_=about.look or None,
    )
    return join(Html("<!doctype html>"), el("html", head, body, lang="en"))


def section(title: str, *content: Child, id_: str = "") -> Html:
    """Return a part of a page with a heading."""
    return el("section", el("h2", title), *content, id=id_ or None)


def _header(links: Links) -> Html:
    places = (
        ("Events", links.home()),
        ("Leaderboard", links.page("leaderboard")),
        ("Bots", links.page("bots")),
        # Positions are query parameters of one address, which a folder of files does not support.
        *([("Openings", links.openings())] if links.is_served else []),
    )
    return el(
        "header",
        el("a", "arena", href=links.home(), class_="brand"),
        el("nav", *(el("a", name, href=address) for name, address in places), aria_label="Pages"),
    )


def _way(links: Links, way: Sequence[Crumb]) -> Html | None:
    if not way:
        return None
    steps = [Crumb("Events", links.home()), *way]
    return el(
        "nav",
        el("ol", *(el("li", el("a", step.name, href=step.address)) for step in steps)),
        class_="way",
        aria_label="The way here",
    )


def _footer(twin: str) -> Html:
    return el(
        "footer",
        el("span", "Elo with 95 % intervals. A gap of 400 Elo is an expected score of 0.91."),
        el("a", "These facts as JSON", href=twin) if twin else None,
    )
