"""Finds out which system calls of a bot the filter refuses.

A traced bot runs under the filter of its tier, but the kernel asks a listener about each refusal. The
listener is this process: it counts the call and answers as the filter would have.

Layouts: struct seccomp_notif and struct seccomp_notif_resp in linux/seccomp.h.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import sys
import threading
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from arena.sandbox.call_names import call_name
from arena.sandbox.launch.calls import ALLOWABLE

if TYPE_CHECKING:
    from types import TracebackType

_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_QUESTION_BYTES = 80
_QUESTION = struct.Struct("=QIIi")
"""The beginning of a question: id, process, flags, number of the call."""
_ANSWER = struct.Struct("=QqiI")
"""An answer: id of the question, result, negative error, flags."""


class Refused(NamedTuple):
    """A kind of system call that was refused."""

    name: str
    times: int
    """Number of refusals."""
    error: int
    """The error number that the bot got."""

    @property
    def allowed_by(self) -> str | None:
        """The name in `calls.ALLOWABLE` that would allow it, or None."""
        return next(
            (name for name, group in ALLOWABLE.items() if self.name in {call[0] for call in group}), None
        )


class Tracer:
    """Context manager that counts the refused calls of the bots started within it."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._counts: Counter[int] = Counter()
        self._thread = threading.Thread(target=self._listen, name="tracer", daemon=True)

    @property
    def descriptor(self) -> int:
        """The socket through which the launcher sends the listener."""
        return self._theirs.fileno()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._theirs.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._ours.close()
        self._theirs.close()

    def refused(self) -> list[Refused]:
        """Return the calls refused so far, the most frequent first."""
        from arena.sandbox.launch import seccomp

        machine = os.uname().machine
        return [
            Refused(call_name(machine, number), count, seccomp.refusal(machine, number))
            for number, count in self._counts.most_common()
        ]

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._ours, select.POLLIN)
        listeners: set[int] = set()
        while True:
            for fd, events in poll.poll():
                if fd == self._ours.fileno():
                    # A bot with an engine consists of two processes, each with its own filter.
                    fds = socket.recv_fds(self._ours, 1, 1)[1]
                    if not fds:
                        for listener in listeners:
                            os.close(listener)
                        return
                    listeners.update(fds)
                    poll.register(fds[0], select.POLLIN)
                elif events & select.POLLIN:
                    self._answer(fd)
                else:
                    # The last process under this filter has ended.
                    poll.unregister(fd)
                    listeners.remove(fd)
                    os.close(fd)

    def _answer(self, listener: int) -> None:
        if sys.platform != "linux":
            return
        import fcntl

        from arena.sandbox.launch import seccomp

        question = bytearray(_QUESTION_BYTES)
        # The question is withdrawn if its process was killed or received a signal.
        with suppress(FileNotFoundError):
            fcntl.ioctl(listener, _RECEIVE, question)
            asked, _, _, number = _QUESTION.unpack_from(question)
            self._counts[number] += 1
            error = seccomp.refusal(os.uname().machine, number)
            fcntl.ioctl(listener, _SEND, bytearray(_ANSWER.pack(asked, 0, -error, 0)))
