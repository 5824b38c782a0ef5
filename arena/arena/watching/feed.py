"""The interface of feeds, and the model that screens show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from arena.errors import ArenaError
from arena.live.events import Event
from arena.live.plain import duration_text
from arena.live.reducer import changed_matches, reduce_all, stalled, with_ends
from arena.live.table_views import MatrixView, StandingsView
from arena.live.views import MAX_NOTICES, LiveView, ProgressView
from arena.watching.decision_notices import merged
from arena.watching.query import Cancelled

HEARTBEAT_S = 10.0
"""Seconds between two heartbeats of a coordinator."""
NOBODY = 0.0
"""Lease end of a tournament whose coordinator is gone, in seconds since 1970 (UTC)."""
_MISSED = 2
"""Number of missed heartbeats after which a coordinator is called stale."""
_FIRST_DELAY_S: Final = 0.25
_LAST_DELAY_S: Final = 4.0
"""Maximum seconds before a failed feed is polled again; the delay doubles each time."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """State of the store and of the process that runs the tournament."""

    store: str = ""
    """Short name of the store."""
    heartbeat_t: float | None = None
    """Last sign of life of the coordinator, in seconds since 1970 (UTC); None if none is expected."""
    lease_until: float | None = None
    """End of the tournament's lease, in seconds since 1970 (UTC); None if it never had one."""
    is_silent: bool = False
    """Whether the coordinator sent no heartbeat for 30 s; its process may still be alive."""
    is_read_only: bool = True
    """Whether commands are rejected."""

    @property
    def is_gone(self) -> bool:
        """Whether the coordinator ended without releasing its lease."""
        return self.lease_until == NOBODY

    def warning(self, now: float) -> str:
        """Return a warning at `now`: `STALE 25s` or `no coordinator`; empty if there is none."""
        if self.is_gone:
            return "no coordinator"
        if self.heartbeat_t is not None and now - self.heartbeat_t > _MISSED * HEARTBEAT_S:
            # A stopped process (SIGSTOP) keeps its tournament, although its lease has expired.
            return f"STALE {duration_text(now - self.heartbeat_t).replace(' ', '')}"
        return "no coordinator" if self.lease_until is not None and self.lease_until < now else ""


class FeedUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """New data of a feed; unchanged parts are omitted."""

    view: LiveView | None = None
    """Replaces the previous view before `events` are applied: at the start and after a gap in the events."""
    events: Sequence[Event] = ()
    """New events, oldest first."""
    ends: Sequence[Event] = ()
    """Last moves and ends of running matches whose results are stored but whose events have not arrived.

    They are sent with the tables that count these results, so that tables are never newer than boards.
    """
    facts: Mapping[str, object] = {}
    """Other view-models by name (`standings`, `matrix`, `bots`, …); each replaces the previous one."""
    goal: str | None = None
    """Progress towards the tournament's goal according to the tables; None if they are not included."""
    health: Health | None = None
    is_last: bool = False
    """Whether this is the last batch; the feed is closed then."""


class Feed(Protocol):
    """A source of data. All methods are called in one thread, which is not the thread of the screen."""

    @property
    def interval(self) -> float:
        """Seconds to wait before the next `poll`."""
        ...

    def poll(self) -> FeedUpdate | None:
        """Return new data without waiting; None if there are none.

        Raises:
            Cancelled: `cancel` was called.
            ArenaError: the data cannot be read; screens show the error, and a later `poll` tries again.
        """
        ...

    def close(self) -> None:
        """Release all resources."""
        ...

    def cancel(self) -> None:
        """Abort the current `poll` and all later ones; may be called from any thread."""
        ...


class PolledFeed(NamedTuple):
    """The result of one poll."""

    batch: FeedUpdate | None
    """New data; None if there are none or the feed failed."""
    error: ArenaError | None
    """Why the feed failed; None if it did not."""
    pause_s: float
    """Seconds to wait before the next poll."""


class Poller:
    """Polls a feed with exponential backoff after errors: 0.25 s, 0.5 s, … 4 s."""

    def __init__(self, feed: Feed) -> None:
        """Prepare to poll a feed, which its owner closes."""
        self._feed = feed
        self._delay_s = _FIRST_DELAY_S

    def poll(self) -> PolledFeed:
        """Poll once, without waiting.

        Raises:
            Cancelled: the feed was cancelled.
        """
        try:
            batch = self._feed.poll()
        except Cancelled:
            raise
        except ArenaError as error:
            pause_s, self._delay_s = self._delay_s, min(_LAST_DELAY_S, 2 * self._delay_s)
            return PolledFeed(None, error, pause_s)
        self._delay_s = _FIRST_DELAY_S
        return PolledFeed(batch, None, self._feed.interval)


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that screens show."""

    view: LiveView = LiveView()
    facts: Mapping[str, object] = {}
    health: Health = Health()
    trouble: str = ""
    """Why no new data arrive; empty if they do."""
    newest_t: float | None = None
    """Time of the newest event, in seconds since 1970 (UTC)."""
    is_over: bool = False
    """Whether the feed has ended."""
    is_awaited: bool = False
    """Whether the tournament exists and nothing of it has been read yet."""


def advance(model: Model, batch: FeedUpdate) -> Model:
    """Return the model after a batch."""
    view = reduce_all(model.view if batch.view is None else batch.view, batch.events)
    view = with_ends(view, batch.ends)
    view = with_news(view, batch, model.view)
    health = batch.health or model.health
    if health.is_gone or health.is_silent:
        view = stalled(view)
    return msgspec.structs.replace(
        model,
        view=view,
        facts={**model.facts, **batch.facts} if batch.facts else model.facts,
        health=health,
        trouble="",
        newest_t=batch.events[-1].t if batch.events else model.newest_t,
        is_over=batch.is_last,
        is_awaited=model.is_awaited and batch.view is None and not batch.events,
    )


def with_news(view: LiveView, batch: FeedUpdate, known: LiveView) -> LiveView:
    """Return a view with the decisions and other news of a batch that are not events.

    Args:
        view: the view after the events of the batch.
        batch: the batch.
        known: the view before the batch; its notices are kept if the batch replaces the view.
    """
    if batch.view is not None and known.progress.name == view.progress.name:
        # Decisions are read from the store together with the view.
        told = [notice for notice in known.notices if not notice.is_decision]
        notices = merged(dict.fromkeys([*view.notices, *told]), MAX_NOTICES)
        view = msgspec.structs.replace(view, notices=notices)
    if batch.goal is not None and batch.goal != view.progress.goal:
        progress = msgspec.structs.replace(view.progress, goal=batch.goal)
        view = msgspec.structs.replace(view, progress=progress)
    return view


def awaited(name: str = "") -> Model:
    """Return the model of the tournament `name` before its first data: all tables are pending."""
    doing = "computing ratings ..."
    return Model(
        is_awaited=True,
        view=LiveView(progress=ProgressView(name=name)),
        facts={
            "standings": StandingsView(doing=doing),
            "matrix": MatrixView(doing="reading results ..."),
            "trend": [],
            "event": None,
            "by_place": None,
            "trend_doing": doing,
        },
    )


class Change(msgspec.Struct, frozen=True):
    """The difference between two models."""

    matches: frozenset[int]
    """Numbers of the matches that changed, appeared or disappeared."""
    facts: frozenset[str]
    """Names of the facts that changed."""


def change_between(before: Model, after: Model) -> Change:
    """Compare two models by object identity, which is fast."""
    return Change(
        matches=changed_matches(before.view, after.view),
        facts=frozenset(name for name, fact in after.facts.items() if before.facts.get(name) is not fact),
    )
