"""The rows of live pages: the wall of a tournament, a match while it is played and after, and their stream."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from arena.errors import NotFoundError
from arena.live.tables import StandingsView
from arena.live.views import LiveView
from arena.pages.following import following_page
from arena.pages.html import Html
from arena.pages.live import LiveFrame, live_page
from arena.pages.replay import match_page
from arena.results.addresses import find_address
from arena.serve.hub import WALL
from arena.serve.hubs import Hubs, read_once
from arena.serve.problems import ProblemError
from arena.serve.rows import PageRoute, Route, StreamAnswer, StreamRoute
from arena.watching.feed import Model
from arena.watching.page_source import match_view
from arena.watching.page_views import MatchPage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from arena.pages.links import Links
    from arena.serve.channel import Channel
    from arena.serve.context import RequestContext
    from arena.serve.reading import Reading
    from arena_db.records import TournamentRecord

_RETRY_S: Final = 10


class LiveQuery(msgspec.Struct, frozen=True, kw_only=True):
    """How the live page looks."""

    projector: str | None = None
    """Given, with or without a value: large type, and no navigation."""


class StreamQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which page is followed, and from where."""

    of: str = WALL
    """`live` for the wall, or the number of a match."""
    after: str = ""
    """The frame that the page has, `EPOCH.N`; empty for none."""


class LivePage(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a tournament while it is followed."""

    frame: LiveFrame
    view: LiveView
    """Boards, progress, newest results and notices; positions of running matches are delayed where the server
    delays them."""
    standings: StandingsView
    trouble: str = ""
    """Why nothing new comes; empty when it does."""
    number: int | None = None
    """Of the match that the page is about; None for the wall."""
    is_projected: bool = False
    shown: tuple[Model, Mapping[str, Html]] | None = None
    """What the page is made of; not in the JSON."""


def _live(reading: Reading, context: RequestContext) -> LivePage:
    record = reading.tournament(context.parameters["tournament"])
    found = _followed(reading, context, record, WALL)
    is_projected = context.query(LiveQuery).projector is not None
    return msgspec.structs.replace(found, is_projected=is_projected)


def _match(reading: Reading, context: RequestContext) -> MatchPage | LivePage:
    record = reading.tournament(context.parameters["tournament"])
    address = find_address(reading.store, f"{record.name}/{context.parameters['match']}")
    if address.number is None:
        raise NotFoundError(f'there is no page "{context.parameters["match"]}" of {record.name}')
    if address.match is not None:
        return match_view(reading.store, record, address.match)
    found = _followed(reading, context, record, str(address.number))
    return msgspec.structs.replace(found, number=address.number)


def _followed(reading: Reading, context: RequestContext, record: TournamentRecord, topic: str) -> LivePage:
    """Return a page of a hub; where there are too many hubs, a page that is made of one look."""
    slug, settings = context.parameters["tournament"], context.settings
    hub = context.serving.part(Hubs).hub(slug, record, reading.links)
    taken = None if hub is None else hub.snapshot(topic)
    stream = ""
    if taken is None:
        taken = read_once(settings.db, record, reading.links, settings.delay).snapshot(topic)
    else:
        stream = f"/t/{quote(slug, safe='')}/stream?of={topic}"
    assert taken is not None  # noqa: S101 - a hub that is not shared has room for a page
    standings = taken.model.facts.get("standings")
    return LivePage(
        frame=LiveFrame(stream=stream, frame=taken.frame, t=taken.t),
        view=taken.model.view,
        standings=standings if isinstance(standings, StandingsView) else StandingsView(),
        trouble=taken.model.trouble,
        shown=(taken.model, taken.fragments),
    )


def _show(view: MatchPage | LivePage, links: Links, twin: str) -> Html:
    if isinstance(view, MatchPage):
        return match_page(view, links, twin)
    assert view.shown is not None  # noqa: S101 - only the JSON is without
    model, fragments = view.shown
    if view.number is not None:
        return following_page(model, view.number, links, view.frame, fragments, twin)
    return live_page(model, links, view.frame, fragments, is_projected=view.is_projected, twin=twin)


def _twin(view: MatchPage | LivePage) -> MatchPage | LivePage:
    return view if isinstance(view, MatchPage) else msgspec.structs.replace(view, shown=None)


async def _stream(context: RequestContext) -> StreamAnswer:
    query, slug = context.query(StreamQuery), context.parameters["tournament"]
    hubs = context.serving.part(Hubs)
    hub = hubs.known(slug)
    if hub is None:
        hub = await context.read(lambda reading: hubs.hub(slug, reading.tournament(slug), reading.links))
    if query.of != WALL and not (query.of.isascii() and query.of.isdigit() and len(query.of) <= 9):  # noqa: PLR2004 - of a plan
        raise ProblemError(404, f'There is no stream of "{query.of}": of=live, or the number of a match.')
    channel = None if hub is None else hub.channel(query.of)
    if channel is None:
        raise ProblemError(
            503, "Too many tournaments or matches are being watched at once.", retry_after=_RETRY_S
        )
    after = context.headers.get("last-event-id") or query.after
    return StreamAnswer(content=_chunks(channel, after), headers={"x-accel-buffering": "no"})


async def _chunks(channel: Channel, after: str) -> AsyncGenerator[bytes]:
    """Yield what a viewer lacks, and then each frame; several that wait are sent as one chunk."""
    loop, waits = asyncio.get_running_loop(), asyncio.Event()
    viewer = channel.join(after, waits.set, loop.call_soon_threadsafe)
    try:
        # Comes at once, so that the browser knows that it is connected.
        yield b"retry: 1000\n\n"
        while True:
            waits.clear()
            chunk = viewer.take()
            if chunk:
                yield chunk
            elif viewer.is_ended:
                return
            else:
                await waits.wait()
    finally:
        viewer.leave()


LIVE_ROWS: Final[tuple[Route, ...]] = (
    PageRoute(
        path="/t/{tournament}/live",
        query=LiveQuery,
        handle=_live,
        show=_show,
        answer=LivePage,
        twin_of=_twin,
        summary="A tournament while it is played: boards with clocks, standings, progress, news.",
    ),
    PageRoute(
        path="/t/{tournament}/{match}",
        handle=_match,
        show=_show,
        answer=MatchPage | LivePage,
        twin_of=_twin,
        summary="A match: its replay, or the board while it is played; 89.1 is one attempt at it.",
    ),
    StreamRoute(
        path="/t/{tournament}/stream",
        query=StreamQuery,
        handle=_stream,
        summary="What changes on a live page, as events whose data is a time and fragments of HTML.",
    ),
)
