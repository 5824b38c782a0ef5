"""The live page of a tournament: boards, standings, progress and news.

A live page consists of fragments: elements with an id, each rendered from the state of the tournament. The
server sends the fragments that have changed, and the page replaces the old ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from arena.live.table_views import StandingsView
from arena.live.views import RESULTS
from arena.live.wall import wall
from arena.pages.frame import Crumb, PageHead, page, section
from arena.pages.html import Html, el, join
from arena.pages.live_board import gauge, live_board, player, shared_ground
from arena.pages.live_parts import faults as fault_words
from arena.pages.live_parts import news, progress_bar, ranking, trouble_line
from arena.watching.run_words import awaited_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.live.views import MatchView
    from arena.pages.links import Links
    from arena.pages.memo import Memo
    from arena.watching.feed import Model

Fragments: TypeAlias = dict[str, Html]
"""Elements of a page by id."""
MAX_BOARDS: Final = 24
"""Maximum number of boards on the live page; the caption counts the others."""
_LEGEND: Final = (
    "The bars beside a board are what its two bots expect: the part from the top is the first player's "
    "chance. The bot with the highlighted name is to move."
)
REFRESH_S: Final = 10
"""Seconds after which a page without script or stream reloads."""


class LiveFrame(msgspec.Struct, frozen=True, kw_only=True):
    """The stream position at which a page continues after it was rendered."""

    stream: str = ""
    """Address of the page's stream; empty if the page has none and reloads instead."""
    frame: str = ""
    """The frame it was rendered from: `EPOCH.N`."""
    t: float = 0.0
    """Time of rendering in UTC seconds, so that its clocks follow the server's."""


class Followed(NamedTuple):
    """The state of a running tournament, and a page rendered from it."""

    model: Model
    """The state."""
    frame: LiveFrame
    """The stream position at which the page continues."""
    fragments: Mapping[str, Html]
    """The fragments of the page."""


class PageTime(NamedTuple):
    """When a page is rendered."""

    now: float
    """UTC seconds."""
    clocks: float | None = None
    """UTC seconds at which running clocks are shown; None shows them as at the last move."""


def wall_fragments(model: Model, links: Links, at: PageTime, memo: Memo) -> Fragments:
    """Return the fragments of the live page.

    Args:
        model: the state of the tournament.
        links: addresses of other pages.
        at: when they are rendered.
        memo: cache of rendered fragments.
    """
    view, facts = model.view, model.facts
    shown = wall(view, size=MAX_BOARDS)
    # Between two matches the boards of the last matches stay, and nothing moves on the page.
    waits = "" if shown.total and view.progress.state == "running" else awaited_words(model, at.now)
    caption = _LEGEND if shown.total else ""
    if shown.total > MAX_BOARDS:
        caption = f"{caption} These are {shown.caption}; the dashboard shows all."
    chosen = facts.get("by_place") or facts.get("standings")
    ranked = chosen if isinstance(chosen, StandingsView) else StandingsView()
    found: Fragments = {
        "trouble": trouble_line(model),
        "progress": progress_bar(model, at.now),
        "waits": el("p", waits, id="waits", class_="waits", hidden=not waits),
        "caption": el("p", caption, id="caption", class_="note", hidden=not caption),
    }
    found["ranking"] = memo.of(
        "ranking", (ranked, facts.get("identities")), lambda: ranking(ranked, model, links)
    )
    found["faults"] = memo.of("faults", (view.faults, facts.get("standings")), lambda: fault_words(model))
    found["news"] = memo.of("news", (view.finished, view.notices), lambda: news(view, links))
    for place in range(MAX_BOARDS):
        match = shown.boards[place] if place < len(shown.boards) else None
        clock = at.clocks if match is not None and match.is_played else None
        name = f"b{place}"
        found[name] = memo.of(
            name,
            (match, clock),
            lambda place=place, match=match, clock=clock: _card(place, match, links, clock),
        )
    return found


def live_page(live: Followed, links: Links, *, is_projected: bool = False, twin: str = "") -> Html:
    """Return the live page of a tournament.

    Args:
        live: the tournament with the result of `wall_fragments`.
        links: addresses of other pages.
        is_projected: whether the page is for a projector: large, and without navigation.
        twin: address of the same data as JSON.
    """
    progress, fragments = live.model.view.progress, live.fragments
    boards = (fragments[f"b{place}"] for place in range(MAX_BOARDS))
    content = el(
        "div",
        shared_ground(progress.game),
        el(
            "div",
            fragments["waits"],
            el("ol", *boards, class_="wall", aria_label="Boards"),
            fragments["caption"],
            class_="boards",
        ),
        el(
            "div",
            section("Standings", fragments["ranking"]),
            section("News", fragments["faults"], fragments["news"]),
            class_="aside",
        ),
        class_="live",
    )
    name = progress.name or "tournament"
    return page(
        links,
        PageHead(
            f"{name}: live" if not is_projected else name,
            twin,
            look="projected" if is_projected else "live-page",
            refresh_s=REFRESH_S,
            always_refreshes=not live.frame.stream,
        ),
        [*live_banners(live), fragments["progress"], content],
        [] if is_projected else [Crumb(name, links.event(name))],
    )


def live_banners(live: Followed) -> list[Html | None]:
    """Return the banners of a live page; the first holds the stream position in its attributes."""
    frame = live.frame
    return [
        el(
            "p",
            "Disconnected: connecting again ...",
            id="link",
            class_="banner",
            role="status",
            hidden=True,
            data_stream=frame.stream or None,
            data_frame=frame.frame or None,
            data_now=round(frame.t * 1000),
        ),
        None
        if frame.stream
        else el(
            "p",
            "Too many tournaments are being watched for another stream: this page loads itself again every "
            f"{REFRESH_S} s.",
            class_="banner",
        ),
        live.fragments["trouble"],
    ]


def _card(place: int, match: MatchView | None, links: Links, clock_now: float | None) -> Html:
    """Return a place for a board; an empty one is hidden, so that a stream can fill it later."""
    if match is None:
        return el("li", id=f"b{place}", hidden=True)
    address = links.match(match.tournament_name, match.number, match.attempt, match.outcome)
    state = "over" if match.is_over else "stalled" if match.is_stalled else "plays"
    return el(
        "li",
        player(match, 0, clock_now),
        el(
            "a",
            gauge(match.seats[0].eval, match.seats[0].name),
            live_board(match),
            gauge(match.seats[1].eval, match.seats[1].name),
            href=address,
            class_="look",
            aria_label=f"{'Replay' if match.is_over else 'Follow'} match {match.address}",
        ),
        player(match, 1, clock_now),
        el("div", el("span", match.short_address), el("span", _ending(match)), class_="foot"),
        id=f"b{place}",
        class_=f"card {state}",
    )


def _ending(match: MatchView) -> Html | str:
    """Return how far a match is, or how it ended."""
    if match.is_over:
        end = el("span", match.end, title=match.void_reason or None)
        return join(el("b", RESULTS[match.outcome]), " ", end)
    return f"stalled at ply {match.ply}" if match.is_stalled else f"ply {match.ply}"
