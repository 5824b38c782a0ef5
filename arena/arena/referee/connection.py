"""The referee's end of a bot's pipes: sends, receives with a deadline, keeps stderr from filling up."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING

from arena.referee.lines import CHUNK, LineReader
from arena.referee.verdict import FaultError
from arena_plugins.contract import Termination
from arena_plugins.errors import ProtocolError
from arena_plugins.wire import BotMessage, Limits, Message, decode_bot, encode

if TYPE_CHECKING:
    from arena.sandbox.process import Process

STDERR_KEPT = 1 << 16
"""Bytes of the end of stderr that are kept."""
_WATCH_S = 0.05
"""Seconds between two looks at the memory of a thinking bot."""
_LARGEST_PIPE = 1 << 20
"""Bytes a pipe can be made to hold."""


class Connection:
    """Messages to and from one process, without ever waiting longer than asked to."""

    def __init__(self, process: Process, limits: Limits) -> None:
        self.process = process
        """The other end."""
        self._memory_bytes = limits.memory_bytes
        self._lines = LineReader(process.stdout, limits)
        self._unsent = b""
        self._stderr = bytearray()
        self._watch_at = 0.0
        self._is_late = False
        self._poll = select.poll()
        self._poll.register(process.stdout, select.POLLIN)
        self._poll.register(process.stderr, select.POLLIN)

    @property
    def received_at(self) -> float:
        """When the last message received was complete, by `time.monotonic`."""
        return self._lines.read_at

    @property
    def has_unsent(self) -> bool:
        """Whether the bot has left so much unread that something could not be sent."""
        return bool(self._unsent)

    @property
    def stderr(self) -> bytes:
        """The end of what the bot wrote to stderr."""
        return bytes(self._stderr)

    def send(self, message: Message) -> float:
        """Send a message and give the time when that was done; what the pipe does not take goes later.

        Raises:
            FaultError: the bot closed its input (`crash`).
        """
        self._unsent += encode(message)
        self._flush()
        now = time.monotonic()
        self._lines.begin()
        self._is_late = False
        self._watch_at = now + _WATCH_S
        return now

    def receive(self, deadline: float) -> BotMessage | None:
        """Give the next message, or None if there is none by `deadline` (`time.monotonic`).

        At the deadline there is one last look; what it finds is given, and `received_at` says how late it is.

        Raises:
            FaultError: limits, framing or schema were broken, the bot ended (`crash`) or took too much
                memory (`oom`).
        """
        while True:
            line = self._lines.next_line()
            if line is not None:
                return _decode(line)
            if self._lines.is_at_end:
                if self._lines.read_at > deadline:
                    return None
                raise FaultError(Termination.CRASH, "it closed its output")
            wait = deadline - time.monotonic()
            if wait <= 0:
                if self._is_late:
                    return None
                self._is_late = True
            self._wait(max(0.0, min(wait, _WATCH_S)))

    def refuse_leftovers(self) -> None:
        """See that the bot is alive and silent.

        Raises:
            FaultError: it said something (`protocol_order`) or ended (`crash`).
        """
        self._lines.begin()
        self._lines.refuse_leftovers()
        if self._lines.is_at_end:
            raise FaultError(Termination.CRASH, "it closed its output")
        if self.process.has_exited():
            raise FaultError(Termination.CRASH, "its process ended")

    def read_last_stderr(self) -> None:
        """Take what a dead process left in its stderr."""
        self._read_stderr(_LARGEST_PIPE)

    def _wait(self, seconds: float) -> None:
        for fd, _ in self._poll.poll(seconds * 1000):
            if fd == self.process.stdout:
                self._lines.read()
            elif fd == self.process.stderr:
                if not self._read_stderr():
                    self._poll.unregister(fd)
            else:
                self._poll.unregister(fd)
                self._flush()
        now = time.monotonic()
        if now >= self._watch_at:
            self._watch_at = now + _WATCH_S
            if self.process.rss() > self._memory_bytes:
                raise FaultError(Termination.OOM, f"it holds more than {self._memory_bytes} bytes of memory")

    def _flush(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self.process.stdin, self._unsent) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            raise FaultError(Termination.CRASH, "it closed its input") from None
        if self._unsent:
            self._poll.register(self.process.stdin, select.POLLOUT)

    def _read_stderr(self, size: int = CHUNK) -> bool:
        try:
            chunk = os.read(self.process.stderr, size)
        except BlockingIOError:
            return False
        self._stderr += chunk
        del self._stderr[:-STDERR_KEPT]
        return bool(chunk)


def _decode(line: bytes) -> BotMessage:
    try:
        return decode_bot(line)
    except ProtocolError as error:
        raise FaultError(Termination.MALFORMED, str(error), line) from error
