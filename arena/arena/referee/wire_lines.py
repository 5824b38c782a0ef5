"""The lines of arena-bot/1: reads them within the limits of one answer, and records them with their times."""

from __future__ import annotations

import os
import time
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.referee.bot_output import BotOutput
from arena.referee.verdict import FaultError
from arena_plugins.contract import Termination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena_plugins.wire import Limits

CHUNK = 1 << 16
"""Bytes of one read: the default capacity of a pipe."""


class LineReader:
    """Splits the bytes from a descriptor into lines; counts bytes and lines since the last `begin`."""

    read_at: float
    """Time at which the last read returned, by `time.monotonic`: the time of the lines it completed."""
    is_at_end: bool
    """Whether the other side closed the pipe; lines sent before may still be buffered."""

    def __init__(self, fd: int, limits: Limits) -> None:
        self._fd = fd
        self._limits = limits
        self._buffer = bytearray()
        self._num_bytes = 0
        self._num_lines = 0
        self.read_at = 0.0
        self.is_at_end = False

    @property
    def has_partial(self) -> bool:
        """Whether bytes were read that `next_line` has not returned."""
        return bool(self._buffer)

    def begin(self) -> None:
        """Reset the counters, because a question was asked."""
        self._num_bytes = self._num_lines = 0

    def read(self) -> bool:
        """Read at most one chunk of the available bytes; return whether there were any."""
        try:
            chunk = os.read(self._fd, CHUNK)
        except BlockingIOError:
            return False
        self.read_at = time.monotonic()
        self.is_at_end = not chunk
        self._buffer += chunk
        return bool(chunk)

    def next_line(self) -> bytes | None:
        """Return the next non-empty line without its end; None if no line is complete.

        Raises:
            FaultError: a line is too long (`oversize_line`), or there is too much output (`output_flood`).
        """
        buffer = self._buffer
        if not buffer:
            return None
        while (end := buffer.find(b"\n")) >= 0:
            line = bytes(buffer[:end])
            del buffer[: end + 1]
            self._count(end + 1, line)
            if text := line.removesuffix(b"\r"):
                return text
        # Checked before the line is complete; otherwise one without an end would fill the memory of the
        # referee.
        if len(buffer) >= self._limits.line_bytes:
            self._refuse_line(bytes(buffer))
        return None

    def refuse_leftovers(self) -> None:
        """Read all available bytes; since no question was asked, only line ends are allowed.

        Raises:
            FaultError: there are other bytes (`protocol_order`), or too many of them (`output_flood`).
        """
        while True:
            stray = self._buffer.strip(b"\r\n")
            if stray:
                raise FaultError(Termination.PROTOCOL_ORDER, "it spoke out of turn", bytes(stray))
            self._count(len(self._buffer), bytes(self._buffer), num_lines=0)
            self._buffer.clear()
            if not self.read():
                return

    def _count(self, num_bytes: int, line: bytes, num_lines: int = 1) -> None:
        limits = self._limits
        self._num_bytes += num_bytes
        self._num_lines += num_lines
        if num_lines and num_bytes > limits.line_bytes:
            self._refuse_line(line)
        if self._num_bytes > limits.go_bytes or self._num_lines > limits.go_lines:
            cause = f"more than {limits.go_bytes} bytes or {limits.go_lines} lines for one question"
            raise FaultError(Termination.OUTPUT_FLOOD, cause, line)

    def _refuse_line(self, line: bytes) -> None:
        raise FaultError(Termination.OVERSIZE_LINE, f"a line over {self._limits.line_bytes} bytes", line)


MAX_BYTES: Final = 1 << 18
"""Bytes kept per bot; beyond that the oldest messages are dropped. A long match needs a tenth of it."""


class Said(NamedTuple):
    """One message of the dialogue."""

    at: float
    """Time at which it was sent or had arrived, by `time.monotonic`."""
    is_sent: bool
    """Whether the arena sent it; otherwise the bot did."""
    line: bytes


class WireLog:
    """The messages of one match; cleared at the start of the next."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        # Plain tuples, because making objects between a question and its answer would cost the bot time.
        self._said: deque[tuple[float, bool, bytes]] = deque()
        self._num_bytes = 0
        self.num_dropped = 0
        """Number of the oldest messages that were dropped."""
        self.output = BotOutput()
        """What the bot printed during the match."""

    def __iter__(self) -> Iterator[Said]:
        """Yield the kept messages, oldest first."""
        return map(Said._make, self._said)

    def begin(self) -> None:
        """Discard the messages of the previous match."""
        self._said.clear()
        self._num_bytes = self.num_dropped = 0
        self.output.begin()

    def add(self, at: float, line: bytes, *, is_sent: bool) -> None:
        """Record a message."""
        self._said.append((at, is_sent, line))
        self._num_bytes += len(line)
        # The newest message stays, however long: it is the one that a fault is about.
        while self._num_bytes > self._max_bytes and len(self._said) > 1:
            self._num_bytes -= len(self._said.popleft()[2])
            self.num_dropped += 1
