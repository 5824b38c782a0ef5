"""Follows one tournament for all its viewers: renders its live pages, publishes changes, delays positions."""

from __future__ import annotations

import logging
import time
from threading import Condition, Event, Lock, Thread
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from arena.errors import ArenaError
from arena.live.geometry import position
from arena.live.reducer import reduce_all, with_ends
from arena.live.wall import without_stale
from arena.pages.event_live import event_fragments
from arena.pages.following import match_fragments
from arena.pages.live import Fragments, PageTime, wall_fragments
from arena.pages.memo import Memo
from arena.serve.page_stream import PageChannel
from arena.watching.feed import Model, Poller, advance, awaited
from arena.watching.query import Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.live.views import LiveView, MatchView, SeatView
    from arena.pages.links import Links
    from arena.watching.feed import Feed, FeedUpdate

WALL: Final = "live"
"""Topic of the live page; the topic of a match page is the match number."""
TABLES: Final = "tables"
"""Topic of the first page of a tournament."""
LINGER_S: Final = 30.0
"""Seconds for which a hub is kept after its last viewer: a reload must not read the whole tournament
again."""
MAX_TOPICS: Final = 64
"""Maximum number of pages of one tournament that are followed at once."""
_GAP_S: Final = 1 / 8
_CROWD: Final = 200
_CROWDED_GAP_S: Final = 1 / 4
"""Minimum seconds between two frames, normally and with more than `_CROWD` viewers: a frame costs 100 µs of
CPU per viewer."""
_AGING_S: Final = 1.0
"""Seconds after which an unchanged page is rendered again, because parts of its text depend on the time."""
_STALE_S: Final = 10.0
"""Seconds after which a finished match may lose its place on the live page while others are running."""
_BEAT_S: Final = 15.0
"""Seconds between two heartbeats: nginx, for example, closes connections that are silent for 60 s."""
_BROKEN_S: Final = 4.0
"""Seconds until the feed is polled again after an unexpected error, so that the log is not filled with it."""
_log = logging.getLogger(__name__)


class PageSnapshot(NamedTuple):
    """A page of a hub at one frame."""

    model: Model
    frame: str
    """Id of the frame, `EPOCH.N`."""
    fragments: Fragments
    """The fragments rendered from the model, with running clocks as of `t`."""
    t: float
    """Time of rendering in UTC seconds."""


class _Topic:
    """A page that viewers follow."""

    def __init__(self, wanted_at: float) -> None:
        self.channel = PageChannel()
        self.memo = Memo()
        self.wanted_at = wanted_at
        self.model = Model()
        self.t = 0.0
        """Time at which `model` was rendered and published last."""
        self.aged: tuple[str, int, Fragments] = ("", 0, {})
        """Last snapshot whose clocks were rendered for a new viewer: frame, second of the rendering,
        fragments."""
        self.aged_memo = Memo()
        self.ended: MatchView | None = None
        """A followed match after its end, once another match has taken its place on the live page."""

    def of(self, model: Model, number: int) -> Model:
        """Return a model in which a followed match that has ended still has its board."""
        if self.ended is None or number in model.view.matches:
            return model
        view = msgspec.structs.replace(model.view, matches={**model.view.matches, number: self.ended})
        return msgspec.structs.replace(model, view=view)


class Hub:
    """Follows one tournament; `step` does the work, in the thread of `start` or in that of a test."""

    def __init__(
        self,
        feed: Feed,
        links: Links,
        *,
        delay: int = 0,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a hub; nothing is read yet.

        Args:
            feed: feed of the tournament; closed when the thread of the hub ends.
            links: addresses of other pages.
            delay: number of plies by which positions of running matches are delayed.
            clock: UTC seconds.
            monotonic: monotonic seconds.
        """
        self._feed = feed
        self._poller = Poller(feed)
        self._links = links
        self._delay = Delay(delay)
        self._clock = clock
        self._monotonic = monotonic
        self._lock = Lock()
        self._topics: dict[str, _Topic] = {}
        self._known = self._shown = awaited()
        self._is_changed = False
        self._asks_at = monotonic()
        self._wanted_at = self._rendered_at = self._beat_at = monotonic()
        self._ready = Event()
        self._stop = Condition()
        self._is_stopped = False

    @property
    def num_viewers(self) -> int:
        """Number of viewers of all pages."""
        with self._lock:
            return self._num_viewers()

    @property
    def is_idle(self) -> bool:
        """Whether the hub has not been used for `LINGER_S`."""
        with self._lock:
            return not self._num_viewers() and self._monotonic() - self._wanted_at >= LINGER_S

    def want(self) -> None:
        """Mark the hub as used, since a page is about to be made from it."""
        with self._lock:
            self._wanted_at = self._monotonic()

    def wait(self, seconds: float) -> None:
        """Wait until the tournament has been read, or cannot be; at most `seconds`."""
        self._ready.wait(seconds)

    def channel(self, topic: str) -> PageChannel | None:
        """Return the channel of a page, which is created if needed; None if too many are followed."""
        with self._lock:
            found = self._topic(topic)
            return None if found is None else found.channel

    def snapshot(self, topic: str) -> PageSnapshot | None:
        """Return a page as published last, with clocks as of now; None if too many pages are followed."""
        with self._lock:
            found = self._topic(topic)
            if found is None:
                return None
            now, frame = self._clock(), found.channel.shown.frame
            if found.aged[:2] != (frame, int(now)):
                # Cached for a second, in case many clients load the page at once.
                fragments = self._render(topic, found.model, PageTime(found.t, now), found.aged_memo)
                found.aged = (frame, int(now), fragments)
            return PageSnapshot(model=found.model, frame=frame, fragments=dict(found.aged[2]), t=now)

    def step(self) -> float:
        """Poll the feed if it is time, and publish due pages; return the seconds until the next step.

        Raises:
            Cancelled: the hub was stopped.
        """
        # Without the lock: the store may keep this thread waiting, and pages are served meanwhile.
        if self._monotonic() >= self._asks_at:
            self._ask()
        with self._lock:
            pause_s = self._publish_due()
        return max(0.0, min(self._asks_at - self._monotonic(), pause_s))

    def look(self) -> None:
        """Poll the feed for the state and then for the tables, for a page without a stream."""
        self._ask()
        self._ask()

    def _ask(self) -> None:
        # Only the thread of the hub writes `_known`, so it may read it without the lock.
        polled, model = self._poller.poll(), self._known
        self._asks_at = self._monotonic() + polled.pause_s
        if polled.error is not None:
            model = msgspec.structs.replace(model, trouble=str(polled.error))
        elif polled.batch is not None:
            after = advance(model, polled.batch)
            after = msgspec.structs.replace(after, view=without_stale(after.view, _STALE_S))
            with self._lock:
                self._keep_ended(model, polled.batch, after)
            model = after
        elif model.trouble:
            model = msgspec.structs.replace(model, trouble="")
        if model is not self._known:
            with self._lock:
                self._take(model)
        if polled.error is not None or (polled.batch is not None and polled.batch.facts):
            self._ready.set()

    def start(self, name: str, has_ended: Callable[[Hub], bool]) -> None:
        """Run `step` in a thread until the hub is stopped or idle.

        Args:
            name: name of the thread.
            has_ended: called while the hub is idle; returns whether it may end.
        """
        Thread(target=self._run, args=(has_ended,), name=name, daemon=True).start()

    def stop(self) -> None:
        """Stop the thread and end all streams; returns at once."""
        with self._stop:
            self._is_stopped = True
            self._stop.notify_all()
        # A query that is under way is interrupted, so that the thread sees the flag soon.
        self._feed.cancel()
        self._ready.set()
        with self._lock:
            for topic in self._topics.values():
                topic.channel.end()

    def _run(self, has_ended: Callable[[Hub], bool]) -> None:
        try:
            while not self._is_stopped:
                pause_s = self._safe_step()
                # Called without the lock of the hub: `has_ended` takes another lock first, and then this one.
                if self.is_idle and has_ended(self):
                    return
                with self._stop:
                    if not self._is_stopped:
                        self._stop.wait(pause_s)
        except Cancelled:
            return
        finally:
            self._feed.close()

    def _safe_step(self) -> float:
        """Run a step; on an unexpected error keep the last pages and show the error on them."""
        try:
            return self.step()
        except Cancelled:
            raise
        except Exception:  # noqa: BLE001 - logged, shown, and tried again
            _log.exception("a live page cannot be made")
            self._feed.close()
            with self._lock:
                said = "the server failed to read or to show it; its log says more"
                self._take(msgspec.structs.replace(self._known, trouble=said))
            self._asks_at = self._monotonic() + _BROKEN_S
            self._ready.set()
            return _AGING_S

    def _take(self, model: Model) -> None:
        """Store the new model, and its delayed view for the pages."""
        self._known = model
        view = self._delay.of(model.view) if self._delay.plies else model.view
        self._shown = msgspec.structs.replace(model, view=view)
        self._is_changed = True

    def _keep_ended(self, before: Model, batch: FeedUpdate, after: Model) -> None:
        """Keep the boards of followed matches that have ended and lost their places on the live page.

        The end of a match and the beginning of the next can come in one batch. Only the events of the match
        itself are reduced, so that no other match takes its place before its last move.
        """
        for name, topic in self._topics.items():
            if name in {WALL, TABLES} or int(name) in after.view.matches:
                continue
            number, view = int(name), before.view if batch.view is None else batch.view
            view = reduce_all(view, (event for event in batch.events if event.match == number))
            match = with_ends(view, batch.ends).matches.get(number)
            if match is not None and match.is_over:
                topic.ended = match

    def _publish_due(self) -> float:
        """Publish changed pages unless it is too soon; return the seconds until something is due."""
        now = self._monotonic()
        gap_s = _CROWDED_GAP_S if self._num_viewers() > _CROWD else _GAP_S
        due_at = self._rendered_at + (gap_s if self._is_changed else _AGING_S)
        if now < due_at:
            return due_at - now
        for name, topic in list(self._topics.items()):
            # Pages with viewers stay, even if a slow store blocked this thread for longer than `LINGER_S`.
            if not topic.channel.num_viewers and now - topic.wanted_at >= LINGER_S:
                del self._topics[name]
            else:
                self._publish(name, topic)
        self._is_changed, self._rendered_at = False, now
        if now - self._beat_at >= _BEAT_S:
            self._beat_at = now
            for topic in self._topics.values():
                topic.channel.beat()
        return _AGING_S

    def _publish(self, name: str, topic: _Topic) -> None:
        model = self._shown if name in {WALL, TABLES} else topic.of(self._shown, int(name))
        topic.model, topic.t = model, self._clock()
        fragments = self._render(name, topic.model, PageTime(topic.t), topic.memo)
        topic.channel.publish(fragments, topic.t)
        if topic.channel.num_viewers:
            topic.wanted_at = self._wanted_at = self._monotonic()

    def _topic(self, name: str) -> _Topic | None:
        """Return a topic, rendered at least once; None if too many are followed."""
        self._wanted_at = self._monotonic()
        topic = self._topics.get(name)
        if topic is None:
            if len(self._topics) >= MAX_TOPICS:
                return None
            topic = self._topics[name] = _Topic(self._wanted_at)
            self._publish(name, topic)
        topic.wanted_at = self._wanted_at
        return topic

    def _render(self, name: str, model: Model, at: PageTime, memo: Memo) -> Fragments:
        if name == WALL:
            return wall_fragments(model, self._links, at, memo)
        if name == TABLES:
            return event_fragments(model, self._links, at.now, memo)
        return match_fragments(model, int(name), self._links, at, memo)

    def _num_viewers(self) -> int:
        return sum(topic.channel.num_viewers for topic in self._topics.values())


class Delay:
    """Delays the positions of running matches; unchanged matches keep their object identity."""

    def __init__(self, plies: int) -> None:
        """Set the delay in plies; 0 disables it."""
        self.plies = plies
        self._known: dict[int, tuple[MatchView, MatchView]] = {}

    def of(self, view: LiveView) -> LiveView:
        """Return the view with each running match as it was `plies` plies ago; others are unchanged."""
        if not self.plies:
            return view
        known, self._known = self._known, {}
        for number, match in view.matches.items():
            source, shown = known.get(number, (None, None))
            # Views are never changed in place, so the same object shows the same position.
            if source is not match or shown is None:
                shown = delayed_match(match, self.plies)
            self._known[number] = (match, shown)
        return replace(view, matches={number: shown for number, (_, shown) in self._known.items()})


def delayed_match(match: MatchView, plies: int) -> MatchView:
    """Return a running match as it was `plies` plies ago, but not before the end of its opening.

    Clocks and move times are removed: those of the earlier position are unknown, and the current ones reveal
    how long a bot thinks about a hidden position.
    """
    if match.is_over or not plies:
        return match
    opening = sum(move.is_opening for move in match.moves)
    num = max(opening, match.ply - plies)
    moves, actions = match.moves[:num], match.actions[:num]
    try:
        state = position(match.game, actions)
    except ArenaError:
        # Without the game's rules there is no board; the number of moves tells whose turn it is.
        cells, to_move = (), num % 2
    else:
        cells, to_move = tuple(state.cells), state.current_player
    return replace(
        match,
        cells=cells if match.rows else (),
        winning=(),
        actions=actions,
        moves=moves,
        to_move=to_move,
        clock_t=0.0,
        free_ms=0,
        last_t=match.started_t,
        trouble="",
        seats=(_silent(match, 0, num), _silent(match, 1, num)),
    )


def _silent(match: MatchView, player: int, num: int) -> SeatView:
    """Return a seat with the report of its bot on its last visible move."""
    own = [move for move in match.moves[:num] if move.player == player and not move.is_opening]
    return replace(
        match.seats[player],
        clock_ms=None,
        thoughts=None,
        thoughts_ply=0,
        thinking=None,
        eval=own[-1].eval if own else None,
    )
