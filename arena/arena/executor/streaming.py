"""Streams a match while it is played, without slowing play down."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING

import msgspec

from arena.errors import ProtocolError
from arena.executor.channel import MAX_MESSAGE
from arena.executor.job import cached_game
from arena.live.events import Move, Started, ThinkingInfo, kind_of, pack
from arena.referee.clock import GameClock, TimeControl
from arena_db.records import LiveEvent
from arena_plugins.thoughts import UNSAID, fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.executor.job import Job
    from arena.live.events import Payload
    from arena.referee.seats import Record
    from arena_plugins.thoughts import Thoughts

QUIET_S = 0.2
"""Seconds at the start of a match that are not streamed: nobody could follow a shorter match."""
PERIOD_S = 0.05
"""Seconds between two polls of the running match: less than half a frame of a viewer."""
_ROOM = MAX_MESSAGE // 5
"""Characters of payloads in one message. UTF-8 needs up to 4 bytes for each, and the rest is overhead."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[LiveEvent])


def decode_events(message: bytes) -> list[LiveEvent]:
    """Decode a message of a `MatchStreamer`; return no events if it is unreadable."""
    try:
        return _decoder.decode(message)
    except msgspec.DecodeError:
        return []


class MatchStreamer:
    """Streams one match after the other.

    It reads the record that the match keeps anyway, so streaming costs play no time. A match that ends within
    `QUIET_S` is not streamed at all.
    """

    def __init__(self, send: Callable[[bytes], bool], quiet_s: float | None = None) -> None:
        """Prepare to stream.

        Args:
            send: takes a message for `decode_events` without blocking; returns False if it cannot take it
                now.
            quiet_s: replaces `QUIET_S`; 0 streams every match from the moment its bots are ready.
        """
        self._quiet_s = QUIET_S if quiet_s is None else quiet_s
        self.has_streamed = False
        """Whether the last match that ended was streamed."""
        self._send = send
        # The thread of the match calls `begin` and `end`, another one `send_new`. The lock keeps them from
        # sending the events of one match at once, and so out of order.
        self._lock = threading.Lock()
        self._match: _StreamedMatch | None = None
        self._began = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Poll the running match from a thread of its own."""
        self._thread = threading.Thread(target=self._look, name="streamer", daemon=True)
        self._thread.start()

    def begin(self, job: Job, record: Record) -> None:
        """Set the match to stream; its bots are ready."""
        with self._lock:
            self._match = _StreamedMatch(job, record)
        # `set` takes a lock, and during quick matches the event is nearly always set already.
        if not self._began.is_set():
            self._began.set()

    def think(self, ply: int, thoughts: Thoughts) -> None:
        """Store what the bot to move reports after `ply` actions; only the newest report is streamed."""
        match = self._match
        if match is not None:
            # Without the lock, which may be held while events are built: the bot's clock is running. One
            # reference is replaced at once.
            match.remark = ply, thoughts, time.time()

    def end(self) -> None:
        """Finish the match; if it was being streamed, send its remaining events."""
        with self._lock:
            match, self._match = self._match, None
            self.has_streamed = match is not None and self._is_due(match)
            if match is not None and self.has_streamed:
                match.send_new(self._send)

    def send_new(self) -> None:
        """Send the new events of the match, if it has lasted longer than `quiet_s`."""
        with self._lock:
            match = self._match
            if match is not None and self._is_due(match):
                match.send_new(self._send)

    def close(self) -> None:
        """Stop the thread."""
        self._ended.set()
        self._began.set()
        if self._thread is not None:
            self._thread.join()

    def _is_due(self, match: _StreamedMatch) -> bool:
        return match.is_streamed or time.monotonic() - match.began >= self._quiet_s

    def _look(self) -> None:
        while not self._ended.wait(PERIOD_S):
            self._began.clear()
            # An idle worker does not poll. A match that begins after this look finds the event cleared.
            if self._match is None and not self._ended.is_set():
                self._began.wait()
            self.send_new()


class _StreamedMatch:
    """A running match; its events are built late, since most matches end before they are streamed."""

    def __init__(self, job: Job, record: Record) -> None:
        self.remark: tuple[int, Thoughts, float] | None = None
        self.began = time.monotonic()
        self._source: _EventSource | None = None
        self._job = job
        self._record = record

    @property
    def is_streamed(self) -> bool:
        """Whether anything of it was streamed."""
        return self._source is not None

    def send_new(self, send: Callable[[bytes], bool]) -> None:
        """Send new events; those that cannot be sent now are kept for the next call."""
        if self._source is None:
            # The match began earlier. Its start is dated back by the monotonic clock, because the wall clock
            # may have been set since.
            began_t = time.time() - (time.monotonic() - self.began)
            self._source = _EventSource(self._job, self._record, began_t)
        # A remark that arrives between the two steps is lost, which costs viewers one thought.
        remark, self.remark = self.remark, None
        self._source.send(send, remark)


class _EventSource:
    """The events of one match and how far they were sent."""

    def __init__(self, job: Job, record: Record, began_t: float) -> None:
        self._job = job
        self._record = record
        # The actions of the opening are part of the start event.
        self._num_sent = len(job.opening)
        self._clock = GameClock(controls_of(job))
        self._state = cached_game(job.game).initial_state()
        for action in job.opening:
            self._state = self._state.child(action)
        self._unsent = deque(_messages([live_event(job, started_of(job), 0, began_t)]))

    def send(self, send: Callable[[bytes], bool], remark: tuple[int, Thoughts, float] | None) -> None:
        """Send new events; those that cannot be sent now are kept for the next call."""
        while self._unsent and send(self._unsent[0]):
            self._unsent.popleft()
        if not self._unsent:
            # Nothing new is built while older messages wait, so they stay in order, and a slow reader gets
            # fewer and larger messages.
            self._unsent += _messages(self._news(remark))
        while self._unsent and send(self._unsent[0]):
            self._unsent.popleft()

    def _news(self, remark: tuple[int, Thoughts, float] | None) -> list[LiveEvent]:
        events: list[LiveEvent] = []
        actions = self._record.actions
        # The match appends an action after its answer, so every action up to this length can be read here.
        for index in range(self._num_sent, len(actions)):
            events.append(self._move(index, actions[index]))
            self._num_sent = index + 1
        # A remark about an earlier position is outdated: its move has been played.
        if remark is not None and remark[0] == self._num_sent:
            said = ThinkingInfo(**fields_of(remark[1]))
            events.append(live_event(self._job, said, remark[0], remark[2]))
        return events

    def _move(self, index: int, action: int) -> LiveEvent:
        found = self._record.answer(index)
        player = self._state.current_player
        self._state = self._state.child(action)
        thoughts, elapsed_s, t = UNSAID, 0.0, time.time()
        # A bot in this process answered too quickly to be timed (`referee.inprocess.play_fast`).
        if found is None:
            self._clock.charge(player, 0.0)
        else:
            answer, t = found
            elapsed_s = answer.elapsed_s
            thoughts = answer.thoughts
            answer.charge(self._clock, player)
        clock_ms = _shown(self._job, self._clock)
        elapsed_ms = round(elapsed_s * 1000)
        move = Move(action=action, elapsed_ms=elapsed_ms, clock_ms=clock_ms, **fields_of(thoughts))
        return live_event(self._job, move, index + 1, t)


def started_of(job: Job) -> Started:
    """Return the event that announces the start of a match."""
    controls = controls_of(job)
    clock = GameClock(controls)
    free_ms = {control.move_ms if control.mode == "bank" else 0 for control in controls}
    return Started(
        bots=(job.first.label, job.second.label),
        game=job.game,
        opening=job.opening,
        tc=str(job.limit),
        clock_ms=_shown(job, clock),
        free_ms=min(free_ms),
    )


def _shown(job: Job, clock: GameClock) -> tuple[int, int] | None:
    return (clock.remaining_ms(0), clock.remaining_ms(1)) if job.shows_clock else None


def controls_of(job: Job) -> tuple[TimeControl, TimeControl]:
    """Return the limits of both bots, first and second."""
    return job.first.limit or job.limit, job.second.limit or job.limit


def live_event(job: Job, body: Payload, ply: int, t: float) -> LiveEvent:
    """Return an event of a match as it is stored; a payload that is too large is reduced to its minimum."""
    try:
        payload = pack(body)
    except ProtocolError:
        # What a bot says may have any length. The action is kept, because later positions depend on it.
        payload = pack(Move(action=body.action)) if isinstance(body, Move) else "{}"
    return LiveEvent(
        tournament=job.tournament,
        number=job.number,
        attempt=job.attempt,
        ply=ply,
        kind=kind_of(body),
        payload=payload,
        t=t,
    )


def _messages(events: Sequence[LiveEvent]) -> list[bytes]:
    """Encode events into as few messages as possible."""
    found: list[bytes] = []
    some: list[LiveEvent] = []
    size = 0
    for event in events:
        if some and size + len(event.payload) > _ROOM:
            found.append(_encoder.encode(some))
            some, size = [], 0
        some.append(event)
        size += len(event.payload)
    return [*found, _encoder.encode(some)] if some else found
