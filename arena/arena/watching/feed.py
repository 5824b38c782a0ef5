"""How data arrives: what a feed gives, and the model that screens show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from arena.errors import ArenaError
from arena.live.events import Event
from arena.live.plain import duration_text
from arena.live.reducer import changed_matches, reduce_all, stalled, with_ends
from arena.live.tables import MatrixView, StandingsView
from arena.live.views import MAX_NOTICES, LiveView
from arena.watching.decisions import merged
from arena.watching.query import Cancelled

HEARTBEAT_S = 10.0
"""Seconds between two heartbeats of a coordinator."""
NOBODY = 0.0
"""Until when a tournament is held whose coordinator is gone, UTC seconds."""
_MISSED = 2
_FIRST_DELAY_S: Final = 0.25
_LAST_DELAY_S: Final = 4.0
"""Seconds until a feed that failed is asked again: doubled each time, up to this."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What the feed knows of where the data comes from."""

    store: str = ""
    """Name of the store, short."""
    heartbeat_t: float | None = None
    """When the coordinator was last alive, UTC seconds; None where there is none to expect."""
    lease_until: float | None = None
    """Until when somebody holds the tournament, UTC seconds; None where nobody ever did."""
    is_silent: bool = False
    """Whether whoever holds the tournament has not been heard of for 30 s, though it may live."""
    is_read_only: bool = True
    """Whether commands are refused."""

    @property
    def is_gone(self) -> bool:
        """Whether the process that played it has ended without a word."""
        return self.lease_until == NOBODY

    def warning(self, now: float) -> str:
        """Say what is wrong at `now`: `STALE 25s`, `no coordinator`; empty when all is well."""
        if self.is_gone:
            return "no coordinator"
        if self.heartbeat_t is not None and now - self.heartbeat_t > _MISSED * HEARTBEAT_S:
            # A process that is stopped holds its tournament for ever, though its lease has expired.
            return f"STALE {duration_text(now - self.heartbeat_t).replace(' ', '')}"
        return "no coordinator" if self.lease_until is not None and self.lease_until < now else ""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What a feed gives at once; what has not changed is left out."""

    view: LiveView | None = None
    """Replaces all that was known, before `events`: at the beginning, and after a gap."""
    events: Sequence[Event] = ()
    """Oldest first."""
    ends: Sequence[Event] = ()
    """Last moves and ends of running matches whose results the store has, before any event tells of them.

    They come with whatever counts these results, so that no table knows more than a board."""
    facts: Mapping[str, object] = {}
    """Further view-models by name (`standings`, `matrix`, `bots`, …); each replaces the one of its name."""
    goal: str | None = None
    """How far the event is by the tables; None where they do not say."""
    health: Health | None = None
    is_last: bool = False
    """Whether nothing will follow; the feed is closed then."""


class Feed(Protocol):
    """Where data comes from. All methods are called in one thread, which is not that of the screen."""

    @property
    def interval(self) -> float:
        """Seconds to wait before the next `poll`."""
        ...

    def poll(self) -> Batch | None:
        """Give what is new, without waiting for it; None where nothing is.

        Raises:
            Cancelled: `cancel` was called.
            ArenaError: shown as a banner; `poll` is called again after a while and reopens what it needs.
        """
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...

    def cancel(self) -> None:
        """End the `poll` that goes on, and every later one; may be called from any thread."""
        ...


class PolledFeed(NamedTuple):
    """What came of asking a feed once."""

    batch: Batch | None
    """What is new; None where nothing is, or where the feed failed."""
    error: ArenaError | None
    """Why the feed failed; None where it did not."""
    pause_s: float
    """Seconds to wait before it is asked again."""


class Poller:
    """Asks a feed for a viewer, and one that fails more and more seldom: after 0.25 s, 0.5 s, … 4 s."""

    def __init__(self, feed: Feed) -> None:
        """Keep the feed; its owner closes it."""
        self._feed = feed
        self._delay_s = _FIRST_DELAY_S

    def poll(self) -> PolledFeed:
        """Ask once, without waiting.

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
    """Why nothing new comes; empty when it does."""
    newest_t: float | None = None
    """When the newest event happened, UTC seconds."""
    is_over: bool = False
    """Whether the feed has ended."""


def advance(model: Model, batch: Batch) -> Model:
    """Give the model after a batch."""
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
    )


def with_news(view: LiveView, batch: Batch, known: LiveView) -> LiveView:
    """Return a view with what a batch says beside its events.

    Args:
        view: after the events of the batch.
        batch: what has come.
        known: the view before it; what happened to its event is not forgotten where all is read anew.
    """
    if batch.view is not None and known.progress.name == view.progress.name:
        # What people decided is read from the store with all else.
        told = [notice for notice in known.notices if not notice.is_decision]
        notices = merged(dict.fromkeys([*view.notices, *told]), MAX_NOTICES)
        view = msgspec.structs.replace(view, notices=notices)
    if batch.goal is not None and batch.goal != view.progress.goal:
        progress = msgspec.structs.replace(view.progress, goal=batch.goal)
        view = msgspec.structs.replace(view, progress=progress)
    return view


def awaited() -> Model:
    """Return the model of a tournament that nothing is known of yet: its tables are still to come."""
    doing = "computing ratings ..."
    return Model(
        facts={
            "standings": StandingsView(doing=doing),
            "matrix": MatrixView(doing="reading results ..."),
            "trend": [],
            "event": None,
            "by_place": None,
            "trend_doing": doing,
        }
    )


class Change(msgspec.Struct, frozen=True):
    """What differs between what is shown and what is known."""

    matches: frozenset[int]
    """Numbers of matches that look different, came or went."""
    facts: frozenset[str]
    """Names of facts that are new."""


def change_between(before: Model, after: Model) -> Change:
    """Compare two models by identity, which is quick."""
    return Change(
        matches=changed_matches(before.view, after.view),
        facts=frozenset(name for name, fact in after.facts.items() if before.facts.get(name) is not fact),
    )


class RecordedFeed:
    """A feed of batches that are at hand: for tests, pictures and demonstrations."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._batches = list(batches)
        self.is_closed = False

    @property
    def interval(self) -> float:
        """No wait at all."""
        return 0.0

    def poll(self) -> Batch | None:
        """Give the next batch; the one that ends it after the last."""
        return self._batches.pop(0) if self._batches else Batch(is_last=True)

    def close(self) -> None:
        """Remember it."""
        self.is_closed = True

    def cancel(self) -> None:
        """Do nothing: no batch takes any time."""
