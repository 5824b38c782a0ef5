"""The thread that polls the feed: the messages that it posts, its pauses, and its end."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

import pytest
from typing_extensions import override

from arena.errors import StoreError
from arena.live.events import RunState, make_event
from arena.live.reducer import reduce_all
from arena.live.views import LiveView
from arena.tui.shell import follow as following
from arena.watching.feed import FeedUpdate, Health, Model, advance, change_between
from feeds import RecordedFeed
from live_samples import chance_events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.message_pump import MessagePump


class _Worker:
    is_cancelled = False


class _Target:
    """Takes messages, as an app does."""

    def __init__(self) -> None:
        self.models: list[Model] = []

    def post_message(self, message: following.NewData) -> None:
        self.models.append(message.model)


class _Waits:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float, worker: object) -> None:
        del worker
        self.seconds.append(seconds)


def _follow(feed: RecordedFeed, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Model], list[float]]:
    target, waits = _Target(), _Waits()
    monkeypatch.setattr(following, "get_current_worker", _Worker)
    monkeypatch.setattr(following, "_wait", waits)
    following.follow(feed, cast("MessagePump", target))
    return target.models, waits.seconds


class _Failing(RecordedFeed):
    """Fails a given number of times before the first batch."""

    def __init__(self, failures: int, batches: Sequence[FeedUpdate]) -> None:
        super().__init__(batches)
        self._failures = failures

    @override
    def poll(self) -> FeedUpdate | None:
        self._failures -= 1
        if self._failures >= 0:
            raise StoreError("the store is locked [by \x1b[31mothers]")
        return super().poll()


def test_every_batch_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    events = chance_events(5)
    feed = RecordedFeed([FeedUpdate(events=events[:9]), FeedUpdate(events=events[9:], facts={"matrix": 1})])
    models, waits = _follow(feed, monkeypatch)
    assert [model.view for model in models] == [
        reduce_all(LiveView(), events[:9]),
        reduce_all(LiveView(), events),
        reduce_all(LiveView(), events),
    ]
    assert models[-1].facts == {"matrix": 1}
    assert [model.is_over for model in models] == [False, False, True]
    assert waits == [0.0, 0.0]
    assert feed.is_closed


def test_a_feed_that_fails_is_asked_again_more_and_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    events = chance_events(5)
    models, waits = _follow(_Failing(7, [FeedUpdate(events=events)]), monkeypatch)
    assert waits[:8] == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 0.0]
    assert models[0].trouble == "the store is locked [by [31mothers]"
    assert models[-1].trouble == ""
    assert models[-1].view == reduce_all(LiveView(), events)


def test_an_empty_answer_ends_the_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    class _Idle(_Failing):
        @override
        def poll(self) -> FeedUpdate | None:
            batch = super().poll()
            return None if batch is not None and not batch.is_last and not batch.events else batch

    models, _ = _follow(_Idle(1, [FeedUpdate()]), monkeypatch)
    assert [model.trouble for model in models][:2] == ["the store is locked [by [31mothers]", ""]


def test_what_else_goes_wrong_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    class _Wrong(RecordedFeed):
        @override
        def poll(self) -> FeedUpdate | None:
            raise ValueError("a mistake of ours")

    feed = _Wrong([])
    with pytest.raises(ValueError, match="of ours"):
        _follow(feed, monkeypatch)
    assert feed.is_closed


def test_the_wait_ends_with_the_worker() -> None:
    class _Cancelled(_Worker):
        def __init__(self) -> None:
            self.asked = 0

        @property
        def is_cancelled(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride] # it changes
            self.asked += 1
            return self.asked > 2

    worker = _Cancelled()
    thread = threading.Thread(target=following._wait, args=(3600.0, worker))  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # the wait itself
    thread.start()
    thread.join(timeout=30.0)
    assert not thread.is_alive()


def test_a_view_replaces_what_was_known() -> None:
    known = advance(Model(), FeedUpdate(events=chance_events(5), health=Health(store="a.db")))
    fresh = LiveView(seq=10**9)
    after = advance(known, FeedUpdate(view=fresh))
    assert after.view is fresh
    assert after.health == Health(store="a.db")
    change = change_between(known, after)
    assert change.matches == frozenset(known.view.matches)


def test_facts_that_are_new_are_known_by_identity() -> None:
    one = advance(Model(), FeedUpdate(facts={"matrix": (1,), "bots": (2,)}))
    state = make_event(1, RunState(state="running", planned=1, done=0), t=1.0)
    two = advance(one, FeedUpdate(facts={"bots": (3,)}, events=[state]))
    assert two.facts == {"matrix": (1,), "bots": (3,)}
    assert change_between(one, two).facts == frozenset({"bots"})
    assert (one.newest_t, two.newest_t) == (None, 1.0)
