"""The stream of a live page: its current fragments, the last frames, and a queue for each viewer.

A frame holds the fragments that differ from those of the frame before. It is encoded once, as an event of
`text/event-stream`; every viewer gets the same bytes:

    id: EPOCH.N
    data: MILLISECONDS
    data: <li id="b3">...</li>

`EPOCH` differs for each channel, so that frame numbers of an earlier channel are not mistaken for its own.
The whole state is an event of the same form with all fragments.
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
"""Number of frames kept for viewers that reconnect."""
QUEUE: Final = 64
"""Maximum number of chunks queued for a viewer; if there are more, the whole state replaces them."""
HEARTBEAT: Final = b":\n\n"
"""An SSE comment that is sent so that proxies do not close an idle connection."""
MOST_JOINED: Final = 16_384
"""Maximum bytes of frames that are joined for one viewer: each joined chunk is a copy of its own."""


class ShownPage(NamedTuple):
    """The fragments of a page, and the frame at which its stream continues."""

    frame: str
    """Id of the frame, `EPOCH.N`."""
    fragments: Mapping[str, Html]


class PageChannel:
    """Publishes the fragments of one page to its viewers; thread-safe."""

    def __init__(self, epoch: str = "") -> None:
        """Create a channel without fragments.

        Args:
            epoch: part of the id of each frame; empty for a random one.
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
        """Number of viewers."""
        return len(self._viewers)

    @property
    def shown(self) -> ShownPage:
        """The newest frame and all fragments as of that frame."""
        with self._lock:
            return ShownPage(self._name(self._number), dict(self._fragments))

    def publish(self, fragments: Mapping[str, Html], t: float) -> bool:
        """Publish the fragments that have changed; return whether there are any.

        Args:
            fragments: all fragments of the page, by id.
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
        """Add a viewer; its queue begins with the data that it lacks: some frames, none, or the whole state.

        Args:
            after: the frame that the viewer has; `EPOCH.N`, `N` for one of this channel, or empty for none.
            wake: called when there is something to take.
            notify: schedules a call in the thread that wakes all viewers, that of an event loop; None wakes
                them in the publishing thread.
        """
        with self._lock:
            # Missing frames are determined in one step with the registration, so that none is lost in
            # between.
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
        """Remove a viewer."""
        with self._lock:
            if viewer in self._viewers:
                self._viewers.remove(viewer)
            viewer.queue.clear()

    def end(self) -> None:
        """End all streams; nothing is published afterwards."""
        with self._lock:
            for viewer in self._viewers:
                viewer.is_ended = True
        self._wake()

    def take(self, viewer: Viewer) -> bytes:
        """Return the next chunk for a viewer; empty if there is none.

        All viewers share the bytes of frames and of the state, but joined frames are a copy for one viewer,
        so only small ones are joined. If the state is smaller than the queue, it is sent instead: a slow
        viewer would only fall further behind.
        """
        with self._lock:
            if viewer.is_behind:
                viewer.is_behind = False
                return self._whole()
            size = sum(map(len, viewer.queue))
            # One frame at a time is handed on without a copy.
            if len(viewer.queue) == 1 or MOST_JOINED < size <= len(self._whole()):
                return viewer.queue.popleft()
            found = b"".join(viewer.queue) if size <= MOST_JOINED else self._whole()
            viewer.queue.clear()
            return found

    def _missing(self, after: str) -> list[bytes] | None:
        """Return the frames after one; None if the viewer needs the whole state."""
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
        """Wake all viewers, with one call into their thread."""
        # Called without the lock: a viewer that is woken in this thread calls `take`, which takes the lock.
        notify = self._notify
        if notify is None:
            self._wake_all()
        else:
            try:
                notify(self._wake_all)
            except RuntimeError:
                # The event loop is closed: the server and all viewers have ended.
                self._notify = None

    def _wake_all(self) -> None:
        for viewer in tuple(self._viewers):
            viewer.wake()

    def _whole(self) -> bytes:
        if self._state is None:
            self._state = self._encoded(list(self._fragments.values()))
        return self._state

    def _encoded(self, fragments: list[Html]) -> bytes:
        # Fragments contain no line breaks; a stray one only starts another data line of the same event.
        lines = [line for html in fragments for line in html.splitlines()]
        data = "".join(f"data:{line}\n" for line in (str(self._t_ms), *lines))
        return f"id:{self._name(self._number)}\n{data}\n".encode()

    def _name(self, number: int) -> str:
        return f"{self._epoch}.{number}"


class Viewer:
    """A viewer of a channel; only the channel changes its fields."""

    __slots__ = ("channel", "is_behind", "is_ended", "queue", "wake")

    def __init__(self, channel: PageChannel, wake: Callable[[], None]) -> None:
        """Create a viewer with an empty queue."""
        self.channel = channel
        self.queue: deque[bytes] = deque()
        self.is_behind = False
        """Whether the whole state is sent next."""
        self.is_ended = False
        """Whether nothing will be published after the queued chunks."""
        self.wake = wake

    def take(self) -> bytes:
        """Return the next chunk; see `PageChannel.take`."""
        return self.channel.take(self)

    def leave(self) -> None:
        """Leave the channel."""
        self.channel.leave(self)
