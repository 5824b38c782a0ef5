"""What follows a live page: its fragments as they are now, the last frames, and a queue for each viewer.

A frame holds the fragments that differ from those of the frame before. It is encoded once, as an event of
`text/event-stream`; every viewer gets the same bytes:

    id: EPOCH.N
    data: MILLISECONDS
    data: <li id="b3">...</li>

`EPOCH` differs for each channel, so that numbers of an earlier one are not taken for its own. The whole state
is an event of the same form with all fragments.
"""

from __future__ import annotations

from collections import deque
from secrets import token_hex
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arena.pages.html import Html

RING: Final = 64
"""Frames that are kept for viewers that come back."""
QUEUE: Final = 64
"""Chunks that wait for a viewer; beyond, they are replaced by the state."""
HEARTBEAT: Final = b":\n\n"
"""A comment, so that proxies do not close a connection on which nothing happens."""
MOST_JOINED: Final = 16_384
"""Bytes of the frames that a viewer gets in one piece, where it is more than one frame."""


class ShownPage(NamedTuple):
    """What a page is rendered from, and where its stream goes on."""

    frame: str
    """`EPOCH.N`."""
    fragments: Mapping[str, Html]


class PageChannel:
    """The fragments of one page, and who follows them; safe to be used by several threads."""

    def __init__(self, epoch: str = "") -> None:
        """Begin without fragments.

        Args:
            epoch: part of the name of each frame; empty for one that no other channel has.
        """
        self._epoch = epoch or token_hex(4)
        self._lock = Lock()
        self._number = 0
        self._fragments: dict[str, Html] = {}
        self._t_ms = 0
        self._ring: deque[bytes] = deque(maxlen=RING)
        self._state: bytes | None = None
        self._viewers: list[Viewer] = []
        self._notify: Callable[[Callable[[], None]], object] | None = None

    @property
    def num_viewers(self) -> int:
        """How many viewers follow it."""
        return len(self._viewers)

    @property
    def shown(self) -> ShownPage:
        """Return the newest frame and all fragments as of it."""
        with self._lock:
            return ShownPage(self._name(self._number), dict(self._fragments))

    def publish(self, fragments: Mapping[str, Html], t: float) -> bool:
        """Send the fragments that differ from those sent last; return whether any does.

        Args:
            fragments: all of the page, by id.
            t: UTC seconds.
        """
        with self._lock:
            changed = [html for name, html in fragments.items() if self._fragments.get(name) != html]
            if not changed:
                return False
            self._number += 1
            self._fragments = dict(fragments)
            self._t_ms = round(t * 1000)
            self._state = None
            frame = self._encoded(changed)
            self._ring.append(frame)
            self._push(frame)
        self._wake()
        return True

    def beat(self) -> None:
        """Send a heartbeat."""
        with self._lock:
            self._push(HEARTBEAT)
        self._wake()

    def join(
        self,
        after: str,
        wake: Callable[[], None],
        notify: Callable[[Callable[[], None]], object] | None = None,
    ) -> Viewer:
        """Return a new viewer, which first gets what it lacks: some frames, nothing, or the whole state.

        Args:
            after: the frame that it has; `EPOCH.N`, `N` for one of this channel, or empty for none.
            wake: called when there is something to take.
            notify: calls a function in the thread in which all viewers are woken, an event loop's; None: in
                the thread that publishes.
        """
        with self._lock:
            viewer = Viewer(self, wake)
            missing = self._missing(after)
            if missing is None:
                viewer.is_behind = True
            else:
                viewer.queue.extend(missing)
            self._viewers.append(viewer)
            self._notify = notify
        return viewer

    def leave(self, viewer: Viewer) -> None:
        """Forget a viewer."""
        with self._lock:
            if viewer in self._viewers:
                self._viewers.remove(viewer)
            viewer.queue.clear()

    def end(self) -> None:
        """End all streams: nothing will follow."""
        with self._lock:
            for viewer in self._viewers:
                viewer.is_ended = True
        self._wake()

    def take(self, viewer: Viewer) -> bytes:
        """Return what waits for a viewer, as much as is sent at once; empty where nothing does.

        Frames and the state are shared by all viewers, but joined frames are a copy for one, so they are
        joined only while they are small. Where the state is smaller than all that waits, it is sent instead;
        a slow viewer would only fall further behind.
        """
        with self._lock:
            if viewer.is_behind:
                viewer.is_behind = False
                return self._whole()
            size = sum(map(len, viewer.queue))
            if len(viewer.queue) == 1 or MOST_JOINED < size <= len(self._whole()):
                return viewer.queue.popleft()
            found = b"".join(viewer.queue) if size <= MOST_JOINED else self._whole()
            viewer.queue.clear()
            return found

    def _missing(self, after: str) -> list[bytes] | None:
        """Return the frames behind one; None where only the whole state helps."""
        epoch, _, text = after.rpartition(".")
        if epoch not in {"", self._epoch} or not (text.isascii() and text.isdigit()) or len(text) > 15:  # noqa: PLR2004 - no channel counts so far
            return None
        num = self._number - int(text)
        if not 0 <= num <= len(self._ring):
            return None
        return list(self._ring)[len(self._ring) - num :]

    def _push(self, chunk: bytes) -> None:
        for viewer in self._viewers:
            if viewer.is_behind:
                continue
            if len(viewer.queue) == QUEUE:
                viewer.queue.clear()
                viewer.is_behind = True
            else:
                viewer.queue.append(chunk)

    def _wake(self) -> None:
        """Have all viewers woken, by one call into their thread."""
        notify = self._notify
        if notify is None:
            self._wake_all()
        else:
            try:
                notify(self._wake_all)
            except RuntimeError:
                # The event loop is closed: the server has ended, and with it all viewers.
                self._notify = None

    def _wake_all(self) -> None:
        for viewer in tuple(self._viewers):
            viewer.wake()

    def _whole(self) -> bytes:
        if self._state is None:
            self._state = self._encoded(list(self._fragments.values()))
        return self._state

    def _encoded(self, fragments: list[Html]) -> bytes:
        # Text of pages has no line breaks; a stray one only begins another line of the same event.
        lines = [line for html in fragments for line in html.splitlines()]
        data = "".join(f"data:{line}\n" for line in (str(self._t_ms), *lines))
        return f"id:{self._name(self._number)}\n{data}\n".encode()

    def _name(self, number: int) -> str:
        return f"{self._epoch}.{number}"


class Viewer:
    """One that follows a channel; its fields belong to the channel."""

    __slots__ = ("channel", "is_behind", "is_ended", "queue", "wake")

    def __init__(self, channel: PageChannel, wake: Callable[[], None]) -> None:
        """Wait for nothing yet."""
        self.channel = channel
        self.queue: deque[bytes] = deque()
        self.is_behind = False
        """Whether it gets the whole state next."""
        self.is_ended = False
        """Whether nothing follows but what waits."""
        self.wake = wake

    def take(self) -> bytes:
        """Return what waits; see `PageChannel.take`."""
        return self.channel.take(self)

    def leave(self) -> None:
        """Follow no longer."""
        self.channel.leave(self)
