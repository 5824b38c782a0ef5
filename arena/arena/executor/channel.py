"""Message channel from many processes to one; messages arrive whole or not at all, and nobody blocks."""

from __future__ import annotations

import functools
import select
import socket
import sys
from contextlib import suppress
from queue import Empty
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue

_Given = TypeVar("_Given")

MAX_MESSAGE = 60_000
"""Maximum bytes of a message; the socket buffers of all supported systems hold it."""
_BUFFER = 1 << 18
"""Requested bytes of a socket's buffer: a few messages. With a smaller one, moves are sent later, but none is
lost."""
# A worker whose match is running must never wait for a reader.
_DONT_WAIT = getattr(socket, "MSG_DONTWAIT", 0)


class Channel:
    """Both ends of the channel; the writing end is passed to other processes, which share it.

    A pipe would not be enough: it separates messages of several writers only if they are short, and a full
    pipe blocks its writers.
    """

    def __init__(self) -> None:
        """Create the channel.

        Raises:
            OSError: this system has no such sockets, or this process cannot open any now.
        """
        if not hasattr(socket, "AF_UNIX") or not _DONT_WAIT:
            raise OSError("this system has no sockets that keep messages apart")
        # Linux queues only few datagrams, and other systems lack SOCK_SEQPACKET.
        kind = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
        self._reader, self.writer = socket.socketpair(socket.AF_UNIX, kind)
        for end in (self._reader, self.writer):
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)

    def take(self) -> list[bytes]:
        """Return the messages that have arrived, without waiting."""
        found: list[bytes] = []
        while True:
            try:
                # Both kinds of socket return one whole message per call, never parts of two.
                message = self._reader.recv(MAX_MESSAGE, _DONT_WAIT)
            except BlockingIOError:
                return found
            if not message:
                return found
            found.append(message)

    def close(self) -> None:
        """Close both ends in this process; later messages of other processes are lost."""
        self._reader.close()
        self.writer.close()


def send(writer: socket.socket, message: bytes) -> bool:
    """Send a message of at most `MAX_MESSAGE` bytes; return whether it was accepted."""
    try:
        return writer.send(message, _DONT_WAIT) == len(message)
    except OSError:  # the buffer is full, or the reader is gone
        return False


def make_poller(reader: Any) -> Callable[[], object]:  # noqa: ANN401 - a Connection, another type on each system
    """Return a function that reports whether `reader` has data; it is faster than `reader.poll`."""
    if sys.platform == "win32":
        return reader.poll
    waiting = select.poll()
    waiting.register(reader, select.POLLIN)
    return functools.partial(waiting.poll, 0)


def drain(queue: SimpleQueue[_Given]) -> list[_Given]:
    """Empty a queue without waiting; return its items."""
    found: list[_Given] = []
    with suppress(Empty):
        while True:
            found.append(queue.get_nowait())
    return found
