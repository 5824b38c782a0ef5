"""The routes of live pages with their stream, and the hubs that follow at most 16 tournaments for them."""

from __future__ import annotations

import asyncio
from threading import Lock
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from arena.live.labels import show_name
from arena.live.table_views import StandingsView
from arena.live.tournament_views import TournamentRow
from arena.live.views import FinishedMatch, MatchView, Notice, ProgressView, SeatView
from arena.live.wall import wall
from arena.pages.event import event_page
from arena.pages.event_live import followed_event_page
from arena.pages.following import following_page
from arena.pages.live import MAX_BOARDS, Followed, LiveFrame, live_page
from arena.pages.live_parts import MAX_NEWS
from arena.pages.replay_page import match_page
from arena.results.addresses import planned_match
from arena.serve.live_hub import TABLES, WALL, Hub
from arena.serve.problems import ProblemError
from arena.serve.rows import PageRoute, Route, StreamAnswer, StreamRoute
from arena.watching.page_source import event_view
from arena.watching.page_views import MatchPage, TournamentPage
from arena.watching.store_feed import StoreFeed
from arena.watching.tournament_list import tournament_row

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from arena.pages.html import Html
    from arena.pages.links import Links
    from arena.results.addresses import Address
    from arena.serve.page_stream import PageChannel
    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext, Serving
    from arena_db.records import TournamentRecord

_RETRY_S: Final = 10
"""Seconds after which a client may retry when too many pages are followed."""
_OVER: Final = frozenset({"finished", "stopped", "refused", "left"})
"""States of tournaments that are not being played, so that their tables do not change."""


class LiveQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The layout of the live page."""

    projector: str | None = None
    """If given, with or without a value: large type, and no navigation."""


class StreamQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The page to follow, and the position in its stream."""

    of: str = WALL
    """Page: `live` for the live page, `tables` for the tournament's first page, or the number of a match."""
    after: str = ""
    """The frame that the page has, `EPOCH.N`; empty for none."""


class LivePage(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a tournament while it is followed."""

    frame: LiveFrame
    boards: tuple[MatchView, ...]
    """Matches with a board, in page order; a server with `--delay` shows earlier positions of running
    matches."""
    progress: ProgressView
    finished: tuple[FinishedMatch, ...]
    """Finished matches, newest first."""
    notices: tuple[Notice, ...]
    """Notices, newest first."""
    standings: StandingsView
    trouble: str = ""
    """Why there are no updates; empty if there are."""


class FollowedWall(LivePage, frozen=True, kw_only=True):
    """The live page with the parts it is made from, which are not in its JSON."""

    made_of: Followed
    is_projected: bool


class FollowedMatch(MatchPage, frozen=True, kw_only=True):
    """A match without a result, with the parts its page is made from, which are not in its JSON."""

    made_of: Followed


class FollowedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A running tournament, with the parts its first page is made from."""

    row: TournamentRow
    made_of: Followed


def event(reading: Reading, context: RequestContext) -> TournamentPage | FollowedEvent:
    """Return the view of a tournament's first page, which is a live page while the tournament is running."""
    record = reading.tournament(context.parameters["tournament"])
    row = tournament_row(reading.store, record)
    if row.state in _OVER:
        return event_view(reading.store, record)
    return FollowedEvent(row=row, made_of=_followed(reading, context, record, TABLES))


def show_event(view: TournamentPage | FollowedEvent, links: Links, twin: str) -> Html:
    """Return the first page of a tournament, with or without a stream."""
    if isinstance(view, FollowedEvent):
        return followed_event_page(view.row, view.made_of, links, twin)
    return event_page(view, links, twin)


def _live(reading: Reading, context: RequestContext) -> FollowedWall:
    record = reading.tournament(context.parameters["tournament"])
    found = _followed(reading, context, record, WALL)
    view, standings = found.model.view, found.model.facts.get("standings")
    return FollowedWall(
        frame=found.frame,
        boards=wall(view, size=MAX_BOARDS).boards,
        progress=view.progress,
        finished=view.finished[:MAX_NEWS],
        notices=view.notices[:MAX_NEWS],
        standings=standings if isinstance(standings, StandingsView) else StandingsView(),
        trouble=found.model.trouble,
        is_projected=context.query(LiveQuery).projector is not None,
        made_of=found,
    )


def followed_match(
    reading: Reading, context: RequestContext, record: TournamentRecord, address: Address
) -> FollowedMatch:
    """Return the view of a match without a result, whether it has begun or not."""
    planned = planned_match(reading.store, address)
    found = _followed(reading, context, record, str(planned.number))
    entrants = {entrant.seat: entrant for entrant in reading.store.tournaments.entrants(record.id)}
    pair = entrants[planned.first], entrants[planned.second]
    names = tuple(show_name(entrant.label) for entrant in pair)
    match = found.model.view.matches.get(planned.number) or MatchView(
        number=planned.number,
        tournament=record.id,
        tournament_name=record.name,
        game=record.game,
        tc=record.pool.short,
        seats=(SeatView(name=names[0], label=names[0]), SeatView(name=names[1], label=names[1])),
    )
    return FollowedMatch(
        match=match,
        tournament=record.name,
        identities=(pair[0].bot.identity, pair[1].bot.identity),
        ending="",
        made_of=found,
    )


def _followed(reading: Reading, context: RequestContext, record: TournamentRecord, topic: str) -> Followed:
    """Return a page of a hub; if there are too many hubs, a page without a stream."""
    slug, settings = context.parameters["tournament"], context.settings
    hub = context.serving.part(Hubs).hub(slug, record, reading.links)
    taken = None if hub is None else hub.snapshot(topic)
    stream = ""
    if taken is None:
        taken = _read_once(settings.db, record, reading.links, settings.delay).snapshot(topic)
    else:
        stream = f"/t/{quote(slug, safe='')}/stream?of={topic}"
    assert taken is not None  # noqa: S101 - a hub of its own has room for a page
    return Followed(taken.model, LiveFrame(stream=stream, frame=taken.frame, t=taken.t), taken.fragments)


def _show_live(view: FollowedWall, links: Links, twin: str) -> Html:
    return live_page(view.made_of, links, is_projected=view.is_projected, twin=twin)


def _live_twin(view: FollowedWall) -> LivePage:
    return LivePage(**{name: getattr(view, name) for name in LivePage.__struct_fields__})


def show_match(view: MatchPage, links: Links, twin: str) -> Html:
    """Return the replay of a stored match, or the live page of one without a result."""
    if isinstance(view, FollowedMatch):
        return following_page(view, view.made_of, links, twin)
    return match_page(view, links, twin)


def match_twin(view: MatchPage) -> MatchPage:
    """Return the JSON view of a match, played or not."""
    return MatchPage(**{name: getattr(view, name) for name in MatchPage.__struct_fields__})


async def _stream(context: RequestContext) -> StreamAnswer:
    query, slug = context.query(StreamQuery), context.parameters["tournament"]
    hubs = context.serving.part(Hubs)
    hub = hubs.known(slug)
    if hub is None:
        hub = await context.read(lambda reading: hubs.hub(slug, reading.tournament(slug), reading.links))
    is_match = query.of.isascii() and query.of.isdigit() and len(query.of) <= 9  # noqa: PLR2004 - of a plan
    if query.of not in {WALL, TABLES} and not is_match:
        raise ProblemError(
            404, f'There is no stream of "{query.of}": of=live, of=tables, or the number of a match.'
        )
    channel = None if hub is None else hub.channel(query.of)
    if channel is None:
        raise ProblemError(
            503, "Too many tournaments or matches are being watched at once.", retry_after=_RETRY_S
        )
    after = context.headers.get("last-event-id") or query.after
    return StreamAnswer(content=_chunks(channel, after), headers={"x-accel-buffering": "no"})


async def _chunks(channel: PageChannel, after: str) -> AsyncGenerator[bytes]:
    """Yield the frames or the state that the viewer lacks, then every frame; queued frames may be joined."""
    loop, waits = asyncio.get_running_loop(), asyncio.Event()
    viewer = channel.join(after, waits.set, loop.call_soon_threadsafe)
    try:
        # Sent at once, so that the browser knows it is connected.
        yield b"retry: 1000\n\n"
        while True:
            # Cleared before the queue is read: a frame that arrives afterwards sets the event again.
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
        show=_show_live,
        answer=LivePage,
        twin_of=_live_twin,
        summary="A tournament while it is played: boards with clocks, standings, progress, news.",
    ),
    StreamRoute(
        path="/t/{tournament}/stream",
        query=StreamQuery,
        handle=_stream,
        summary="What changes on a live page, as events whose data is a time and fragments of HTML.",
    ),
)


MAX_HUBS: Final = 16
"""Maximum number of tournaments that are followed at once: each has a thread that polls the store."""
_READ_S: Final = 3.0
"""Maximum seconds that a page waits for the first poll; then it is sent without live data, which follow."""


class Hubs:
    """Creates hubs on demand; an idle hub ends by itself."""

    def __init__(self, serving: Serving) -> None:
        """Create an empty collection."""
        self._settings = serving.settings
        self._lock = Lock()
        self._hubs: dict[int, Hub] = {}
        self._ids: dict[str, int] = {}
        self._is_closed = False

    def known(self, slug: str) -> Hub | None:
        """Return the hub of the tournament with this slug, if there is one, without reading the store.

        Viewers can thus reconnect and see the last state while the store is unavailable.
        """
        with self._lock:
            found = self._hubs.get(self._ids.get(slug, -1))
            if found is not None:
                # As in `hub`: an idle hub must not end before its new viewer has joined.
                found.want()
            return found

    def hub(self, slug: str, record: TournamentRecord, links: Links) -> Hub | None:
        """Return the hub of a tournament, after its first poll; None if there are too many hubs.

        Args:
            slug: name of the tournament in addresses.
            record: the tournament.
            links: addresses of other pages.
        """
        with self._lock:
            found = self._hubs.get(record.id)
            if found is None:
                if len(self._hubs) >= MAX_HUBS or self._is_closed:
                    return None
                feed = StoreFeed(self._settings.db, record.id, is_read_only=True)
                found = self._hubs[record.id] = Hub(feed, links, delay=self._settings.delay)
                found.start(f"hub-{record.id}", lambda hub, id_=record.id: self._let_go(hub, id_))
            self._ids[slug] = record.id
            # Under the lock that `_let_go` takes, so that an idle hub cannot end after it was chosen here.
            found.want()
        # Outside the lock, so that a slow store delays only pages of this tournament.
        found.wait(_READ_S)
        return found

    def close(self) -> None:
        """Stop all hubs."""
        with self._lock:
            self._is_closed = True
            # Stopped without the lock: a hub that is about to end takes it in `_let_go`.
            hubs = list(self._hubs.values())
            self._hubs.clear()
        for hub in hubs:
            hub.stop()

    def _let_go(self, hub: Hub, number: int) -> bool:
        """Remove a hub if it is still idle; return whether it was removed."""
        with self._lock:
            if not hub.is_idle:
                return False
            if self._hubs.get(number) is hub:
                del self._hubs[number]
            self._ids = {slug: id_ for slug, id_ in self._ids.items() if id_ != number}
            return True


def _read_once(settings_db: str | None, record: TournamentRecord, links: Links, delay: int) -> Hub:
    """Return a hub without a thread, polled once, for a page without a stream."""
    feed = StoreFeed(settings_db, record.id, is_read_only=True)
    hub = Hub(feed, links, delay=delay)
    try:
        hub.look()
    finally:
        feed.close()
    return hub
