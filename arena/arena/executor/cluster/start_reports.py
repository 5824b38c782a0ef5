"""Reports which matches a slot starts: many short ones in one message, a suspect before it is played."""

from __future__ import annotations

import threading
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

    def __init__(self, send: Callable[[Begun], None], is_idle: Callable[[], bool]) -> None:
        """Prepare; `start` follows in the thread of the connection.

        Args:
            send: queues a message for the hub; called in the thread of the connection.
            is_idle: returns whether no message waits that was queued; one that is just being written may
                be missing for a turn of the loop.
        """
        self._send, self._is_idle = send, is_idle
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
            self.await_written(_SEND_S)
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

    def await_written(self, seconds: float) -> None:
        """Wait, at most so long, until all queued messages are on their way; called in the thread that plays.

        What is on its way arrives even if this process is killed.
        """
        ends_at = time.monotonic() + seconds
        # What this thread has asked the other one to send is queued after a turn of the loop.
        self._await_turn(ends_at)
        while not self._is_idle() and time.monotonic() < ends_at:
            time.sleep(_LOOK_S)
        # Dask takes messages from its buffer in one turn and writes them in the next one. On a busy machine
        # that may be much later, so no time would be long enough; and the first turn may be the present one.
        self._await_turn(ends_at)
        self._await_turn(ends_at)

    def _await_turn(self, ends_at: float) -> None:
        has_turned = threading.Event()
        self._loop.call_soon_threadsafe(has_turned.set)
        has_turned.wait(max(0.0, ends_at - time.monotonic()))
