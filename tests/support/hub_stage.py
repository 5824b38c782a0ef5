"""A hub with a feed and a clock of the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.live.events import Started, make_event
from arena.pages.following import match_fragments
from arena.pages.links import Links
from arena.pages.live import PageTime, wall_fragments
from arena.pages.memo import Memo
from arena.serve.live_hub import WALL, Hub
from arena.watching.feed import FeedUpdate, Model, advance, awaited
from arena.watching.query import Cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.live.events import Event
    from arena.serve.page_stream import Viewer

LINKS = Links(root="/", suffix="", index="")


class ScriptedFeed:
    """A feed of batches, failures and pauses that a test adds."""

    def __init__(self) -> None:
        self.next: list[FeedUpdate | Exception] = []
        self.is_closed = self.is_cancelled = False
        self.num_polls = 0

    @property
    def interval(self) -> float:
        return 0.0

    def poll(self) -> FeedUpdate | None:
        self.num_polls += 1
        if self.is_cancelled:
            raise Cancelled("nobody waits")
        step = self.next.pop(0) if self.next else None
        if isinstance(step, Exception):
            raise step
        return step

    def close(self) -> None:
        self.is_closed = True

    def cancel(self) -> None:
        self.is_cancelled = True


class HubStage:
    """A hub, its feed, and a simulated clock."""

    def __init__(self, delay: int = 0) -> None:
        self.now = 1_000.0
        self.feed = ScriptedFeed()
        self.hub = Hub(
            self.feed, LINKS, delay=delay, clock=lambda: 1e9 + self.now, monotonic=lambda: self.now
        )
        self.known = awaited()

    def tell(self, *events: Event, **changes: object) -> None:
        batch = msgspec.structs.replace(FeedUpdate(events=events), **changes)
        self.feed.next.append(batch)
        self.known = advance(self.known, batch)

    def settle(self, seconds: float = 2.0) -> None:
        """Advance the clock by `seconds`, so that everything published is rendered."""
        end = self.now + seconds
        while self.now < end:
            self.hub.step()
            self.now += 0.05

    def join(self, topic: str = WALL, after: str = "") -> Viewer:
        channel = self.hub.channel(topic)
        assert channel is not None
        return channel.join(after, lambda: None)

    def fresh(self, topic: str = WALL, model: Model | None = None) -> dict[str, str]:
        model, at = model or self.known, PageTime(1e9 + self.now)
        if topic == WALL:
            return dict(wall_fragments(model, LINKS, at, Memo()))
        return dict(match_fragments(model, int(topic), LINKS, at, Memo()))


def begins(number: int, t: float = 1.0, **changes: object) -> Event:
    body = Started(bots=("az", "mcts"), game="connect-four", tc="10+0.1", clock_ms=(9_000, 9_000))
    return make_event(0, msgspec.structs.replace(body, **changes), t=t, match=number)


def numbered(events: Sequence[Event]) -> list[Event]:
    return [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(events, 1)]
