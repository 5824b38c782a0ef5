"""The route of a tournament's events: a stream or JSON, read from the store once for all clients."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
import anyio.to_thread
import msgspec

from arena.errors import ArenaError
from arena.serve.answer_cache import StoreVersion
from arena.serve.api.answers import EventAnswer, EventsAnswer
from arena.serve.api.questions import EventsChoice
from arena.serve.problems import ProblemError
from arena.serve.rows import JSON, Route, StreamAnswer, StreamRoute
from arena.watching.store_feed import translated

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable

    from arena.live.events import Event
    from arena.serve.answer_cache import Version
    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext, Serving
    from arena_db.records import EventPage, Snapshot

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
    tails = context.serving.part(_EventTails)
    shown = _choice_of(context)
    if SSE in context.headers.get("accept", ""):
        after = _last_seen(context, asked.after)
        return StreamAnswer(content=_stream(tails, tournament, after, shown))
    with tails.follow(tournament):
        found = await tails.after(tournament, asked.after, 0)
    return StreamAnswer(content=_poll(tails, tournament, (found, asked.wait), shown), media_type=JSON)


async def _poll(
    tails: _EventTails, tournament: int, begun: tuple[_EventBatch, float], shown: Callable[[Event], bool]
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
                batch = _EventBatch((), batch.seq)
                break
    yield msgspec.json.encode(_answer(batch, shown))


async def _stream(
    tails: _EventTails, tournament: int, seq: int, shown: Callable[[Event], bool]
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


def _frames(batch: _EventBatch, shown: Callable[[Event], bool]) -> bytes:
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


def _answer(batch: _EventBatch, shown: Callable[[Event], bool]) -> EventsAnswer:
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


POLL_S: Final = 0.25
"""Seconds between two polls for a changed store, the same as between two frames of a live page."""
LOST_S: Final = 2.0
"""Seconds until a store that is gone or locked is tried again; a comment keeps the stream open meanwhile."""
PAGE: Final = 500
"""Maximum number of events read at once."""
_KEPT: Final = 1000
"""Number of newest events of a tournament kept in memory; slower clients read the store."""


class _EventBatch(NamedTuple):
    """Events after a number."""

    events: tuple[Event, ...]
    seq: int
    """Number after which the next request starts."""
    has_gap: bool = False
    """Whether events were deleted meanwhile: `events` is then the complete state."""


class _Tail:
    """The newest events of one tournament: all of those after `start`, up to `seq`."""

    def __init__(self, seq: int) -> None:
        self.start = seq
        self.seq = seq
        self.events: deque[Event] = deque()
        self.num_followers = 0
        self.has_more = asyncio.Event()

    def add(self, events: Iterable[Event], seq: int) -> None:
        if seq <= self.seq:
            return
        num_before = len(self.events)
        self.events.extend(events)
        self.seq = seq
        if len(self.events) > num_before:
            self._wake()
        while len(self.events) > _KEPT:
            # From here on, a client that is further back reads the store instead.
            self.start = self.events.popleft().seq

    def begin_anew(self, seq: int) -> None:
        """Drop all events: those up to `seq` can no longer be read."""
        self.events.clear()
        self.start = self.seq = seq
        self._wake()

    def _wake(self) -> None:
        # Waiting tasks hold the old event, which is never cleared, so none of them can miss it.
        self.has_more.set()
        self.has_more = asyncio.Event()

    def after(self, seq: int) -> _EventBatch | None:
        """Return the events after a number; None if this tail does not have all of them."""
        if not self.start <= seq <= self.seq:
            return None
        return _EventBatch(tuple(event for event in self.events if event.seq > seq), self.seq)


class _EventTails:
    """Reads the events of followed tournaments while at least one client follows."""

    def __init__(self, serving: Serving) -> None:
        """Create the tails; nothing is followed yet."""
        self._serving = serving
        self._tails: dict[int, _Tail] = {}
        self._task: asyncio.Task[None] | None = None
        self._seen: Version | None = None

    @contextmanager
    def follow(self, tournament: int) -> Generator[None]:
        """Follow a tournament for a `with` block, in which `after` may be called."""
        tail = self._tails.get(tournament)
        if tail is None:
            # The tail starts at the next poll; earlier events are read from the store.
            tail = self._tails[tournament] = _Tail(-1)
        tail.num_followers += 1
        self._keep_looking()
        try:
            yield
        finally:
            tail.num_followers -= 1
            if not tail.num_followers:
                del self._tails[tournament]

    async def after(self, tournament: int, seq: int, wait_s: float) -> _EventBatch:
        """Return up to `PAGE` events after a number; an empty batch if there are none when the wait is over.

        Must be called within `follow`.

        Args:
            tournament: id of the tournament.
            seq: 0, or the number of an earlier batch.
            wait_s: seconds to wait for the first event.

        Raises:
            ArenaError: the store cannot be read.
        """
        end = anyio.current_time() + wait_s
        while True:
            tail = self._tails[tournament]
            # Taken before the events are read, so that it is set by events that arrive in between.
            more = tail.has_more
            found = tail.after(seq)
            if found is None:
                read = partial(_read_after, tournament=tournament, seq=seq)
                found = await self._serving.read_quickly(read)
                if tail.seq < 0 and len(found.events) < PAGE:
                    tail.begin_anew(found.seq)
                    # The task's last poll did not include this tail, so it must read again.
                    self._seen = None
            if found.events or found.has_gap:
                return found
            # The number also advances over invisible events, so that a client does not fall behind.
            seq = max(seq, found.seq)
            left = end - anyio.current_time()
            if left <= 0:
                return _EventBatch((), seq)
            with anyio.move_on_after(left):
                await more.wait()

    def _keep_looking(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look_again_and_again())
            self._task.add_done_callback(self._look_after_an_error)

    def _look_after_an_error(self, task: asyncio.Task[None]) -> None:
        """Report an unexpected error that ended the task, and restart it for the remaining followers."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            loop = task.get_loop()
            loop.call_exception_handler({"message": "reading new events failed", "exception": error})
            loop.call_later(LOST_S, self._keep_looking)

    async def close(self) -> None:
        """Cancel the task."""
        if self._task is not None:
            self._task.cancel()
            # If the task failed, its error was reported then.
            await asyncio.gather(self._task, return_exceptions=True)

    async def _look_again_and_again(self) -> None:
        version = self._serving.part(StoreVersion)
        self._seen = None
        while self._tails:
            wait_s = POLL_S
            now = await anyio.to_thread.run_sync(version.now)
            if now is None:
                wait_s = LOST_S
            elif now != self._seen:
                self._seen = now
                try:
                    await self._read_new()
                except ArenaError:
                    self._seen, wait_s = None, LOST_S
            await asyncio.sleep(wait_s)

    async def _read_new(self) -> None:
        """Read the new events of every followed tournament, in one thread."""
        # Tails with a negative number have not been read yet; the first follower of each does that.
        wanted = {number: tail.seq for number, tail in self._tails.items() if tail.seq >= 0}
        while wanted:
            asked = dict(wanted)
            pages = await self._serving.read_quickly(partial(_pages, wanted=asked))
            wanted = {}
            for number, page in pages.items():
                tail = self._tails.get(number)
                # While the thread was reading, the last follower left or the tail was restarted.
                if tail is None or tail.seq != asked[number]:
                    continue
                if page.has_gap:
                    tail.begin_anew(page.seq)
                    continue
                tail.add(translated(page.events), page.seq)
                if len(page.events) == PAGE:
                    wanted[number] = page.seq


def _pages(reading: Reading, wanted: dict[int, int]) -> dict[int, EventPage]:
    return {
        number: reading.store.events.after(seq, PAGE, tournament=number) for number, seq in wanted.items()
    }


def _read_after(reading: Reading, tournament: int, seq: int) -> _EventBatch:
    """Read events from the store: those after a number, or the state if some of them were deleted."""
    page = reading.store.events.after(seq, PAGE, tournament=tournament)
    if page.has_gap:
        return _state(reading.store.events.snapshot(tournament))
    if not page.events and page.seq == seq:
        # A number above the newest comes from another store, or from this one before it was restored.
        newest = reading.store.events.snapshot(tournament)
        if newest.seq < seq:
            return _state(newest)
    return _EventBatch(tuple(translated(page.events)), page.seq)


def _state(snapshot: Snapshot) -> _EventBatch:
    return _EventBatch(tuple(translated(snapshot.events)), snapshot.seq, has_gap=True)
