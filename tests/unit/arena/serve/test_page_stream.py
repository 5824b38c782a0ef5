"""A channel and a page in a browser: after lost or repeated frames, the page equals a fresh one."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.pages.html import Html, el
from arena.serve.page_stream import QUEUE, RING, PageChannel, Viewer
from streams import Reader

NAMES = ("a", "b", "c", "d")


def fragments(*words: int | str) -> dict[str, Html]:
    return {name: el("p", f"{name} {word}", id=name) for name, word in zip(NAMES, words, strict=False)}


def join(channel: PageChannel, after: str = "") -> Viewer:
    return channel.join(after, lambda: None)


def fresh(channel: PageChannel) -> dict[str, str]:
    return dict(channel.shown.fragments)


def test_only_what_differs_is_sent_and_nothing_where_nothing_does() -> None:
    channel = PageChannel("e")
    assert channel.publish(fragments(1, 1), 5.0)
    viewer = join(channel, channel.shown.frame)
    assert not channel.publish(fragments(1, 1), 6.0)
    assert viewer.take() == b""
    assert channel.publish(fragments(1, 2), 7.5)
    assert viewer.take() == b'id:e.2\ndata:7500\ndata:<p id="b">b 2</p>\n\n'
    assert viewer.take() == b""


def test_all_viewers_get_the_same_bytes() -> None:
    channel = PageChannel()
    viewers = [join(channel, "0") for _ in range(3)]
    channel.publish(fragments(1), 0.0)
    chunks = [viewer.queue[0] for viewer in viewers]
    assert chunks[0] is chunks[1] is chunks[2]
    late = [join(channel) for _ in range(2)]
    assert late[0].take() is late[1].take()


@pytest.mark.parametrize(
    "after", ["", "x.3", "e.", "e.x", "e.-1", "e.9999999999999999", "e.²", "e.101", "e.35"]
)
def test_what_is_no_frame_of_it_or_too_old_gets_the_state(after: str) -> None:
    channel = PageChannel("e")
    for number in range(100):
        channel.publish(fragments(number, 0), float(number))
    viewer = join(channel, after)
    reader = Reader()
    assert reader.hear(viewer.take()) == 1
    assert reader.elements == fresh(channel)
    assert reader.frame == "e.100"


@pytest.mark.parametrize("num", [0, 1, 63, RING])
def test_a_viewer_that_was_away_gets_each_frame_that_it_lacks(num: int) -> None:
    channel = PageChannel("e")
    for number in range(100):
        channel.publish(fragments(number, 0), float(number))
    for after in (f"e.{100 - num}", str(100 - num)):
        reader = Reader(fragments(99 - num, 0))
        assert reader.hear(join(channel, after).take()) == num
        assert reader.elements == fresh(channel)


def test_a_queue_that_overflows_becomes_the_state_and_holds_no_memory() -> None:
    channel = PageChannel()
    channel.publish(fragments(0, 0, 0), 0.0)
    stalled, reader = join(channel, channel.shown.frame), Reader(fresh(channel))
    for number in range(QUEUE):
        channel.publish(fragments(number + 1, 0, 0), 0.0)
    assert len(stalled.queue) == QUEUE
    channel.publish(fragments(-1, -1, 0), 0.0)
    assert not stalled.queue
    for number in range(1000):
        channel.publish(fragments(-1, number, 0), 0.0)
    assert not stalled.queue
    assert reader.hear(stalled.take()) == 1
    assert reader.elements == fresh(channel)
    channel.publish(fragments(5, 5, 5), 0.0)
    assert reader.hear(stalled.take()) == 1
    assert reader.elements == fresh(channel)


def test_what_waits_for_a_slow_viewer_is_not_copied_as_a_whole() -> None:
    channel = PageChannel("e")
    slow, other = join(channel), join(channel)
    assert slow.take() is other.take()
    # A text of a page has 4,000 characters at most.
    large = [word * 9_000 for word in "xyz"]
    for number in range(3):
        channel.publish(fragments(*[f"{number}{word}" for word in large]), 0.0)
    # All three frames together are larger than the full state.
    reader, piece = Reader(fragments(0)), slow.take()
    assert piece is other.take()
    assert reader.hear(piece) == 1
    assert reader.elements == fresh(channel)
    assert slow.take() == b""


def test_frames_that_are_less_than_the_state_are_sent_one_by_one() -> None:
    channel = PageChannel("e")
    page = {str(number): el("p", "x" * 3_000, id=str(number)) for number in range(10)}
    channel.publish(page, 0.0)
    slow, other = join(channel, "e.1"), join(channel, "e.1")
    for number in range(6):
        page[str(number)] = el("p", "y" * 3_000, id=str(number))
        channel.publish(page, 0.0)
    first = slow.take()
    assert first is other.take()
    assert first.count(b"id:e.") == 1
    # The remainder fits into one piece.
    assert slow.take().count(b"id:e.") == 5
    assert slow.take() == b""


def test_a_heartbeat_is_no_event() -> None:
    channel = PageChannel()
    viewer = join(channel, "0")
    channel.beat()
    chunk = viewer.take()
    assert chunk
    assert Reader().hear(chunk) == 0


def test_who_left_gets_nothing_and_the_end_is_told() -> None:
    channel, woken = PageChannel(), list[str]()
    gone = channel.join("0", lambda: woken.append("gone"))
    stays = channel.join("0", lambda: woken.append("stays"))
    channel.beat()
    assert gone.queue
    assert stays.take()
    woken.clear()
    gone.leave()
    assert not gone.queue
    gone.leave()
    assert channel.num_viewers == 1
    channel.publish(fragments(1), 0.0)
    channel.end()
    assert woken == ["stays", "stays"]
    assert stays.is_ended
    assert stays.take()
    assert not gone.queue


def test_all_are_woken_by_one_call_and_a_closed_loop_stops_nothing() -> None:
    channel, calls = PageChannel(), list[object]()
    woken: list[int] = []
    for number in range(3):
        channel.join("0", lambda number=number: woken.append(number), calls.append)
    channel.publish(fragments(1), 0.0)
    assert len(calls) == 1
    assert callable(calls[0])
    calls[0]()
    assert woken == [0, 1, 2]

    def closed(_: object) -> None:
        raise RuntimeError("Event loop is closed")

    channel.join("0", lambda: None, closed)
    assert channel.publish(fragments(2), 0.0)


class _Browser:
    """A page with its connection; a broken connection loses the bytes that were not read."""

    def __init__(self, channel: PageChannel) -> None:
        shown = channel.shown
        self.page = Reader(dict(shown.fragments), shown.frame)
        self.viewer: Viewer | None = None
        self.unread = b""

    def read(self, num: int) -> None:
        """Read `num` bytes of the received data; an incomplete event does not count yet."""
        if self.viewer is None:
            return
        self.unread += self.viewer.take()
        whole = self.unread[:num].rpartition(b"\n\n")
        if whole[1]:
            part = whole[0] + whole[1]
            self.page.hear(part)
            self.unread = self.unread[len(part) :]

    def cut(self) -> None:
        if self.viewer is not None:
            self.viewer.leave()
        self.viewer, self.unread = None, b""

    def connect(self, channel: PageChannel, after: str) -> None:
        self.cut()
        self.viewer = channel.join(after, lambda: None)


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.tuples(*[st.integers(0, 2)] * len(NAMES))),
        st.tuples(st.just("burst"), st.integers(1, 150)),
        st.tuples(st.just("read"), st.integers(0, 400)),
        st.tuples(st.sampled_from(["cut", "connect", "again", "fresh", "beat", "restart"]), st.none()),
    ),
    max_size=40,
)


@settings(max_examples=300, deadline=None)
@given(_STEPS)
def test_after_anything_a_page_is_what_a_fresh_one_is(  # noqa: C901 - a line for each thing that may happen
    steps: list[tuple[str, object]],
) -> None:
    channel = PageChannel()
    channel.publish(fragments(0, 0, 0, 0), 0.0)
    browser, older = _Browser(channel), ""
    for what, how in steps:
        if what == "publish":
            channel.publish(fragments(*cast("tuple[int, ...]", how)), 0.0)
        elif what == "burst":
            assert isinstance(how, int)
            for number in range(how):
                channel.publish(fragments(number, number % 3), 0.0)
                channel.publish(fragments(0, 1, number % 2, 1), 0.0)
        elif what == "read":
            assert isinstance(how, int)
            older = browser.page.frame
            browser.read(how)
        elif what == "cut":
            browser.cut()
        elif what == "connect":
            browser.connect(channel, browser.page.frame)
        elif what == "again":
            # Frames that the page already has, once more.
            browser.connect(channel, older)
        elif what == "fresh":
            browser.cut()
            browser = _Browser(channel)
        elif what == "restart":
            # After a restart of the server, frames have other numbers.
            browser.cut()
            channel = PageChannel()
            channel.publish(fragments(2, 2, 2, 2), 0.0)
        else:
            channel.beat()
    if browser.viewer is None:
        browser.connect(channel, browser.page.frame)
    browser.read(1 << 30)
    assert browser.page.elements == browser.page.elements | fresh(channel)
    assert set(fresh(channel)) <= set(browser.page.elements)
