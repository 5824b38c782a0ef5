"""Reads lines from a non-blocking descriptor, within the limits of one answer."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from arena.referee.verdict import FaultError
from arena_plugins.contract import Termination

if TYPE_CHECKING:
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
