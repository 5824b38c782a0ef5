"""The route of a tournament's events: a stream, or JSON for programs that poll."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
import msgspec

from arena.errors import ArenaError
from arena.serve.api.answers import EventAnswer, EventsAnswer
from arena.serve.api.event_tails import LOST_S, EventBatch, EventTails
from arena.serve.api.questions import EventsChoice
from arena.serve.problems import ProblemError
from arena.serve.rows import JSON, Route, StreamAnswer, StreamRoute

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from arena.live.events import Event
    from arena.serve.request_context import RequestContext

SSE: Final = "text/event-stream"
BEAT_S: Final = 15.0
"""Seconds after which a silent stream sends a heartbeat: proxies close connections silent for a minute."""
_MOST_DIGITS: Final = 18
"""Maximum number of digits of an event number, so that it stays below 2**63."""
_HELD_BACK: Final = frozenset({"move", "info"})
"""Kinds of events that reveal to opponents what is being played."""


async def _events(context: RequestContext) -> StreamAnswer:
    asked = context.query(EventsChoice)
    slug = context.parameters["tournament"]
    tournament = await context.read(lambda reading: reading.tournament(slug).id)
    tails = context.serving.part(EventTails)
    shown = _choice_of(context)
    if SSE in context.headers.get("accept", ""):
        after = _last_seen(context, asked.after)
        return StreamAnswer(content=_stream(tails, tournament, after, shown))
    with tails.follow(tournament):
        found = await tails.after(tournament, asked.after, 0)
    return StreamAnswer(content=_poll(tails, tournament, (found, asked.wait), shown), media_type=JSON)


async def _poll(
    tails: EventTails, tournament: int, begun: tuple[EventBatch, float], shown: Callable[[Event], bool]
) -> AsyncGenerator[bytes]:
    """Yield as JSON the first batch with a visible event, or an empty one when the wait is over."""
    batch, wait_s = begun
    end = anyio.current_time() + wait_s
    with tails.follow(tournament):
        while not (batch.has_gap or any(map(shown, batch.events))):
            left = end - anyio.current_time()
            if left <= 0 and not batch.events:
                break
            try:
                batch = await tails.after(tournament, batch.seq, max(0.0, left))
            except ArenaError:
                # The status has been sent already; the next request reports the error.
                batch = EventBatch((), batch.seq)
                break
    yield msgspec.json.encode(_answer(batch, shown))


async def _stream(
    tails: EventTails, tournament: int, seq: int, shown: Callable[[Event], bool]
) -> AsyncGenerator[bytes]:
    """Yield the frames of a stream until the client disconnects or the server ends."""
    yield b"retry: 1000\n\n"
    with tails.follow(tournament):
        while True:
            try:
                batch = await tails.after(tournament, seq, BEAT_S)
            except ArenaError:
                # The store is gone or locked, perhaps for a while; no event is lost, because `seq` stays.
                yield b": the store cannot be read now\n\n"
                await anyio.sleep(LOST_S)
                continue
            seq = batch.seq
            yield _frames(batch, shown)


def _frames(batch: EventBatch, shown: Callable[[Event], bool]) -> bytes:
    if batch.has_gap:
        return b"id: %d\nevent: gap\ndata: %s\n\n" % (batch.seq, msgspec.json.encode(_answer(batch, shown)))
    frames = [
        b"id: %d\nevent: %s\ndata: %s\n\n"
        % (event.seq, event.kind.encode(), msgspec.json.encode(_event_answer(event)))
        for event in batch.events
        if shown(event)
    ]
    # A client that reconnects asks for events after this number, even if none of the batch was visible.
    return b"".join(frames) or b"id: %d\n: nothing new\n\n" % batch.seq


def _answer(batch: EventBatch, shown: Callable[[Event], bool]) -> EventsAnswer:
    events = tuple(_event_answer(event) for event in batch.events if shown(event))
    return EventsAnswer(events=events, seq=batch.seq, gap=batch.has_gap)


def _event_answer(event: Event) -> EventAnswer:
    return EventAnswer(
        seq=event.seq,
        kind=event.kind,
        match=event.match,
        attempt=event.attempt,
        ply=event.ply,
        t=event.t,
        payload=dict(event.payload),
    )


def _choice_of(context: RequestContext) -> Callable[[Event], bool]:
    """Return the filter for visible events: with `--delay`, only the host sees moves of running matches."""
    if context.settings.delay and not context.caller.may("host"):
        return lambda event: event.kind not in _HELD_BACK
    return lambda _: True


def _last_seen(context: RequestContext, after: int) -> int:
    """Return the number after which a stream starts: the browser's Last-Event-ID, else `after`.

    Raises:
        ProblemError: 400, Last-Event-ID is not a number.
    """
    text = context.headers.get("last-event-id", "")
    if not text:
        return after
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise ProblemError(400, "Last-Event-ID is not the number of an event; leave it out, and use after=0.")
    return int(text)


EVENT_ROWS: Final[tuple[Route, ...]] = (
    StreamRoute(
        path="/api/v1/tournaments/{tournament}/events",
        query=EventsChoice,
        handle=_events,
        answer=EventsAnswer,
        summary="What happens in a tournament, as a stream or, without Accept: text/event-stream, as JSON.",
    ),
)
