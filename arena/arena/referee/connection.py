"""The referee's end of a bot's pipes: sends messages, receives with a deadline, drains stderr."""

from __future__ import annotations

import math
import os
import select
import sys
import time
from typing import TYPE_CHECKING

from arena.referee.stall import Starvation, delays_itself, most_given_back_s, near_s
from arena.referee.verdict import FaultError
from arena.referee.wire_lines import CHUNK, LineReader, WireLog
from arena.sandbox.resources import own_cores
from arena_plugins.contract import Termination
from arena_plugins.errors import ProtocolError
from arena_plugins.wire import BotMessage, Go, Limits, Message, decode_bot, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from arena.sandbox.process import Process

STDERR_KEPT = 1 << 16
"""Number of bytes kept from the end of stderr."""
_WATCH_S = 0.05
"""Seconds between two checks of a bot's memory and tasks, whether it thinks long or answers often."""
_SCRATCH_PART = 20
"""A check of the scratch folder is followed by a pause of this many times its duration."""
_BEAT_S = 0.01
"""Seconds of one wait; its excess shows how late this process was scheduled."""
_LATE_S = 0.001
"""Seconds by which a wait may exceed its length before the use of the processor meanwhile is examined."""
_LARGEST_PIPE = 1 << 20
"""Maximum capacity of a pipe on Linux, in bytes."""


class Connection:
    """Exchanges messages with one process without ever blocking longer than asked to."""

    lag_s: float
    """The largest excess of a wait over its intended length since the last `send`, in seconds.

    Waits that the bot itself lengthened by computing do not count.
    """

    def __init__(
        self,
        process: Process,
        limits: Limits,
        wire: WireLog | None = None,
        *,
        cores: Collection[int] | None = None,
    ) -> None:
        """Take ownership of a process's pipes.

        Args:
            process: the process at the other end.
            limits: limits on its messages and its memory.
            wire: records the messages.
            cores: the cores it may run on; None means those of this process.
        """
        self.process = process
        """The process at the other end."""
        self.cpu_s: Callable[[], float] = float
        """Returns the CPU seconds that the process has used; 0.0, the initial value, means unknown."""
        cores = own_cores() if cores is None else cores
        self._num_cores = len(cores)
        self._starvation = Starvation(process.pid, cores)
        self._used_s = self._used_at = 0.0
        self._near_from, self._most_s, self._lagged_s = math.inf, 0.0, 0.0
        self._wire = wire or WireLog()
        self.lag_s = 0.0
        self._memory_bytes = limits.memory_bytes
        self._lines = LineReader(process.stdout, limits)
        self._unsent = b""
        self._stderr = bytearray()
        self._watch_at = 0.0
        self._scratch_at = 0.0
        self._is_late = False
        # All three pipes do not block. A bot that does not read its input, or floods its output, must not
        # hold up the referee, which has to notice deadlines.
        self._stdin, self._stdout = process.stdin, process.stdout
        self._poll = select.poll()
        self._poll.register(process.stdout, select.POLLIN)
        self._poll.register(process.stderr, select.POLLIN)
        self._life = _open_life(process.pid)
        self._has_ended = False
        if self._life is not None:
            self._poll.register(self._life, select.POLLIN)

    @property
    def received_at(self) -> float:
        """Time at which the last received message was complete, by `time.monotonic`."""
        return self._lines.read_at

    @property
    def has_unsent(self) -> bool:
        """Whether data is waiting to be sent because the bot has not read enough."""
        return bool(self._unsent)

    @property
    def stderr(self) -> bytes:
        """The last `STDERR_KEPT` bytes that the bot wrote to stderr."""
        return bytes(self._stderr)

    def send(self, message: Message) -> float:
        """Send a message and return the time at which it was sent; what the pipe cannot hold is sent later.

        Raises:
            FaultError: the bot closed its input (`crash`).
        """
        data = encode(message)
        if type(message) is Go:
            self._wire.output.ply = len(message.actions) + 1
        self._flush(self._unsent + data if self._unsent else data)
        now = time.monotonic()
        self._wire.add(now, data, is_sent=True)
        # Limits on output apply per question. Bytes that were written before it are refused by
        # `refuse_leftovers`.
        self._lines.begin()
        self._is_late = False
        self.lag_s = 0.0
        self._near_from, self._most_s, self._lagged_s = math.inf, 0.0, 0.0
        return now

    def starts_to_use(self, used_s: float, deadline: float = math.inf, margin_s: float = 0.0) -> None:
        """Record that the process is resumed now in order to answer.

        Args:
            used_s: CPU seconds that it has used so far.
            deadline: time at which its answer is too late, margin included, by `time.monotonic`. Shortly
                before it, the time that the machine keeps the process from answering starts to count.
            margin_s: the margin, in seconds.
        """
        self._used_s, self._used_at = used_s, time.monotonic()
        self._near_from, self._most_s = deadline - near_s(margin_s), most_given_back_s(margin_s)
        self._starvation.begin(deadline, margin_s)

    def waited_s(self) -> float:
        """Return the seconds for which other processes kept the bot from its cores, near the deadline."""
        return 0.0 if math.isinf(self._near_from) else self._starvation.waited_s(self.cpu_s())

    def kept_s(self) -> float:
        """Return the seconds by which other processes delayed an answer or its reading, near the deadline."""
        return max(self.waited_s(), self._lagged_s)

    def given_back_s(self) -> float:
        """Return the seconds by which the deadline is extended, at most `_most_s`."""
        return min(self.kept_s(), self._most_s)

    def receive(self, deadline: float, pulse: Callable[[], None] | None = None) -> BotMessage | None:
        """Return the next message, or None if there is none by `deadline`.

        Input is read once more at the deadline; `received_at` tells how late such a message is.

        Args:
            deadline: time to give up, by `time.monotonic`; extended by the current `given_back_s`.
            pulse: called repeatedly while waiting, at least every 10 ms.

        Raises:
            FaultError: a limit, the framing or the schema was violated, the bot ended (`crash`), or it used
                too much memory or scratch space (`oom`).
        """
        lines, until = self._lines, deadline
        while (line := lines.next_line()) is None:
            if (lines.is_at_end or self._has_ended) and self._is_over():
                # Its end was read only after the deadline, so the bot counts as late, not as crashed.
                if lines.read_at > until:
                    return None
                raise FaultError(Termination.CRASH, self._how_it_ended())
            now = time.monotonic()
            if now >= until:
                if self._is_late:
                    # Delays before this extended deadline extend it again.
                    until = deadline + self.given_back_s()
                    if now >= until:
                        return None
                # Read once more: what the bot wrote in time may not have been read yet.
                self._is_late = True
            self._wait(now, until, pulse)
        self._wire.add(lines.read_at, line, is_sent=False)
        try:
            return decode_bot(line)
        except ProtocolError as error:
            raise FaultError(Termination.MALFORMED, str(error), line) from error

    def refuse_leftovers(self) -> None:
        """Check that the bot is alive and has sent nothing unasked.

        Raises:
            FaultError: it sent something (`protocol_order`) or ended (`crash`).
        """
        lines = self._lines
        events = self._poll.poll(0)
        # If the end of the process is reported as an event, no event means it is alive: the usual case, at
        # the cost of one system call.
        if events or lines.has_partial or self._has_ended or self._life is None:
            lines.begin()
            self._take(events)
            lines.refuse_leftovers()
            if lines.is_at_end or self._has_ended or self.process.has_exited():
                raise FaultError(Termination.CRASH, self._how_it_ended())

    def read_last_stderr(self) -> None:
        """Read what a dead or waiting process left in its stderr, without blocking."""
        self._read_stderr(_LARGEST_PIPE)

    def close(self) -> None:
        """Close the descriptors that the connection opened itself; the pipes belong to the process."""
        if self._life is not None:
            os.close(self._life)
            self._life = None

    def _is_over(self) -> bool:
        if self._has_ended and not self._lines.is_at_end:
            # Its last output may still be in the pipe, which a child process can keep open.
            return not self._lines.read()
        return self._lines.is_at_end

    def _how_it_ended(self) -> str:
        return "it closed its output" if self._lines.is_at_end else "its process ended"

    def _wait(self, before: float, deadline: float, pulse: Callable[[], None] | None) -> None:
        """Wait for at most one beat, and not beyond the deadline; `before` is the current time."""
        left_s = deadline - before
        beat = _BEAT_S if left_s > _BEAT_S else max(left_s, 0.0)
        events = self._poll.poll(beat * 1000)
        if pulse is not None:
            pulse()
        now = time.monotonic()
        late_s = now - before - beat
        if late_s > _LATE_S or now - self._used_at > _BEAT_S:
            self._look_into(late_s, now)
        self._take(events)
        if now >= self._watch_at:
            self._watch_at = now + _WATCH_S
            self._check_usage()

    def _look_into(self, late_s: float, now: float) -> None:
        used_s, wall_s = self.cpu_s(), now - self._used_at
        spent_s = used_s - self._used_s
        self._used_s, self._used_at = used_s, now
        if not delays_itself(used_s=spent_s, wall_s=wall_s, num_cores=self._num_cores):
            self.lag_s = max(self.lag_s, late_s)
            # The bot may have answered when the delay began, so its CPU time counts as used before the delay.
            unused_s = wall_s - spent_s / self._num_cores
            self._lagged_s += max(0.0, min(late_s, unused_s, now - self._near_from))
        self._starvation.look(now, used_s)

    def _check_usage(self) -> None:
        used = self.process.usage()
        if used.tasks > self.process.max_tasks:
            # Kill at once: it may be a fork bomb. A bot that crashes usually gets a moment to exit by itself.
            self.process.kill()
            cause = f"it has more than {self.process.max_tasks} threads and processes"
            raise FaultError(Termination.CRASH, cause)
        if used.memory_bytes > self._memory_bytes:
            raise FaultError(Termination.OOM, f"it holds more than {self._memory_bytes} bytes of memory")
        self._check_scratch()

    def _check_scratch(self) -> None:
        began = time.monotonic()
        if began < self._scratch_at:
            return
        excess = self.process.scratch_excess()
        # Examining an empty folder takes microseconds, a full one milliseconds, and no answer is read
        # meanwhile.
        self._scratch_at = began + _SCRATCH_PART * (time.monotonic() - began)
        if excess:
            # Kill at once, because the bot would go on writing while it is being judged.
            self.process.kill()
            raise FaultError(Termination.OOM, f"its scratch folder holds {excess}", scratch=excess)

    def _take(self, events: list[tuple[int, int]]) -> None:
        for fd, _ in events:
            if fd == self._stdout:
                self._lines.read()
            elif fd == self.process.stderr:
                if not self._read_stderr():
                    self._poll.unregister(fd)
            elif fd == self._life:
                self._has_ended = True
                self._poll.unregister(fd)
            else:
                self._poll.unregister(fd)
                self._flush(self._unsent)

    def _flush(self, data: bytes) -> None:
        try:
            num_sent = os.write(self._stdin, data)
        except BlockingIOError:
            num_sent = 0
        except BrokenPipeError:
            raise FaultError(Termination.CRASH, "it closed its input") from None
        self._unsent = data[num_sent:]
        if self._unsent:
            self._poll.register(self._stdin, select.POLLOUT)

    def _read_stderr(self, size: int = CHUNK) -> bool:
        try:
            chunk = os.read(self.process.stderr, size)
        except BlockingIOError:
            return False
        self._wire.output.add(chunk)
        self._stderr += chunk
        # The end is kept, because a traceback ends with the error.
        del self._stderr[:-STDERR_KEPT]
        return bool(chunk)


def _open_life(pid: int) -> int | None:
    """Return a pidfd, which becomes readable when the process dies; None if the system has none."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:  # Linux before 5.3 has no pidfd_open
        return None
