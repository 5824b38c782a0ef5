"""A way for messages from many processes to one: each arrives whole or not at all, and nobody ever waits."""

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
"""Bytes of a message; the buffers of all systems take it."""
_BUFFER = 1 << 18
_DONT_WAIT = getattr(socket, "MSG_DONTWAIT", 0)


class Channel:
    """Both ends; the writer goes to other processes, which share it.

    A pipe keeps only short messages of several writers apart, and one that is full makes its writer wait.
    """

    def __init__(self) -> None:
        """Make it.

        Raises:
            OSError: this system, or this process now, has no such pair of sockets.
        """
        if not hasattr(socket, "AF_UNIX") or not _DONT_WAIT:
            raise OSError("this system has no sockets that keep messages apart")
        # Linux lets few datagrams wait, other systems have no sequences of packets.
        kind = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
        self._reader, self.writer = socket.socketpair(socket.AF_UNIX, kind)
        for end in (self._reader, self.writer):
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)

    def take(self) -> list[bytes]:
        """Give the messages that have come."""
        found: list[bytes] = []
        while True:
            try:
                message = self._reader.recv(MAX_MESSAGE, _DONT_WAIT)
            except BlockingIOError:
                return found
            if not message:
                return found
            found.append(message)

    def close(self) -> None:
        """Close both ends here; what others send from now on is lost."""
        self._reader.close()
        self.writer.close()


def send(writer: socket.socket, message: bytes) -> bool:
    """Send a message of at most `MAX_MESSAGE` bytes; tell whether it was taken."""
    try:
        return writer.send(message, _DONT_WAIT) == len(message)
    except OSError:  # it is full, or nobody listens any more
        return False


def looker(reader: Any) -> Callable[[], object]:  # noqa: ANN401 - a Connection, another type on each system
    """Return a function that tells whether something can be read, quicker than `reader.poll`."""
    if sys.platform == "win32":
        return reader.poll
    waiting = select.poll()
    waiting.register(reader, select.POLLIN)
    return functools.partial(waiting.poll, 0)


def drain(queue: SimpleQueue[_Given]) -> list[_Given]:
    """Return what a queue holds, and empty it; never wait."""
    found: list[_Given] = []
    with suppress(Empty):
        while True:
            found.append(queue.get_nowait())
    return found
