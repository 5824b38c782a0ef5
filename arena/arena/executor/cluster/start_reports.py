"""Reports which matches a slot starts: many short ones in one message, a suspect before it is played."""

from __future__ import annotations

import time
from collections import deque
from itertools import groupby
from typing import TYPE_CHECKING, Final

from arena.executor.cluster.messages import Begun

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

_TOGETHER_S: Final = 0.05
"""Seconds within which starts are combined into one message: each message costs slot, scheduler and
coordinator a millisecond together, and hundreds of short matches start in a second. If the slot dies within
this time, the match reported last is blamed instead of the one that was running. After that, all unfinished
matches of the slot are suspects, whose starts are reported one by one."""
_SEND_S: Final = 1.0
"""Maximum seconds to wait until the report on a suspect has been written."""
_LOOK_S: Final = 0.001
"""Seconds between two checks of whether the report on a suspect has been written."""


class StartReports:
    """The starts of matches that were not reported yet; one thread plays, another one sends."""

    def __init__(self, send: Callable[[Begun], None], has_sent: Callable[[], bool]) -> None:
        """Prepare; `start` follows in the thread of the connection.

        Args:
            send: queues a message for the hub; called in the thread of the connection.
            has_sent: returns whether all queued messages were written.
        """
        self._send, self._has_sent = send, has_sent
        self._starts: deque[tuple[tuple[str, int], int]] = deque()
        self._is_due = False
        """Whether the thread of the connection has been asked to report what is in `_starts`."""
        self._timer: asyncio.TimerHandle | None = None
        self._reported_at = 0.0

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the loop of the connection."""
        self._loop = loop

    def note(self, batch: tuple[str, int], number: int, *, is_suspect: bool) -> None:
        """Report that a match starts; called in the thread that plays.

        Args:
            batch: run and number of its batch.
            number: its number.
            is_suspect: whether it may have killed a slot; then this returns only when the report was written,
                so that it arrives even if this process dies.
        """
        self._starts.append((batch, number))
        if is_suspect:
            self._loop.call_soon_threadsafe(self.report)
            self._await_sent()
        # Waking the other thread for each match would cost a short one a tenth of its time.
        elif not self._is_due:
            self._is_due = True
            self._loop.call_soon_threadsafe(self._report_soon)

    def report(self) -> None:
        """Send what was not reported; called in the thread of the connection, before any other message."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._reported_at = self._loop.time()
        # Before they are taken: a start that is added afterwards asks for a report of its own.
        self._is_due = False
        # One by one: the thread that plays may append while this one takes.
        starts = [self._starts.popleft() for _ in range(len(self._starts))]
        for batch, matches in groupby(starts, lambda each: each[0]):
            self._send(Begun(*batch, tuple(number for _, number in matches)))

    def _report_soon(self) -> None:
        # Also if nothing is left to report: only `report` lets the next start ask again.
        if self._timer is None:
            if self._loop.time() - self._reported_at < _TOGETHER_S:
                self._timer = self._loop.call_later(_TOGETHER_S, self.report)
            else:
                self.report()

    def _await_sent(self) -> None:
        ends_at = time.monotonic() + _SEND_S
        while (self._starts or not self._has_sent()) and time.monotonic() < ends_at:
            time.sleep(_LOOK_S)
        # The last message leaves the buffer a moment before it is written to the socket.
        time.sleep(_LOOK_S)
