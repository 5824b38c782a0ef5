"""Runs an `arena` command as a child process; its output arrives as messages, and it ends with the screen."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from textual.message import Message

from arena.own_python import own_python
from arena.sandbox.limits.exact import own_subtree
from arena.tui.text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.message_pump import MessagePump

PROGRAM = tuple(own_python("-m", "arena"))
"""The start of the command line."""
_CHUNK: Final = 1 << 16
"""Maximum bytes per read: the capacity of a pipe on Linux."""
_MAX_LINE: Final = 4000
"""Maximum characters kept of a line: a child may write without line breaks."""
_PATIENCE_S: Final = 5.0
"""Seconds for a child to clean up after it was asked to end; its bots have to end, too."""
_NICENESS: Final = 10
"""Same niceness as worker processes: work for the screen must not take time from matches."""
_BREAKS: Final = re.compile(rb"[\r\n]+")


class Output(Message):
    """A child has written output, or has ended."""

    def __init__(self, child: ChildProcess, lines: Sequence[str], status: int | None) -> None:
        super().__init__()
        self.child = child
        self.lines = lines
        """Cleaned lines; a carriage return also ends a line."""
        self.status = status
        """Exit status, or minus the number of the signal that ended it; None while it runs."""


class ChildProcess:
    """A child process; `follow` runs in a thread, `end` may be called from any thread."""

    def __init__(self, words: Sequence[str]) -> None:
        """Create the object; nothing is started yet.

        Args:
            words: the command line, without `arena`.
        """
        self.words = tuple(words)
        self.status: int | None = None
        """Exit status, or minus the number of the signal that ended it; None while it runs."""
        self._process: subprocess.Popen[bytes] | None = None
        self._is_unwanted = False
        self._is_silent = False

    def follow(self, target: MessagePump) -> None:
        """Start the child and post its output to `target` until it ends."""
        try:
            with self._start() as process:
                if self._is_unwanted:
                    self._signal(signal.SIGINT)
                rest = b""
                assert process.stdout is not None  # noqa: S101 # it is a pipe
                while chunk := os.read(process.stdout.fileno(), _CHUNK):
                    *lines, rest = _BREAKS.split(rest + chunk)
                    if lines:
                        target.post_message(Output(self, list(map(_text, lines)), None))
                    rest = rest[: _MAX_LINE * 4]
                self._is_silent = True
                status = self._await(process)
        except OSError as error:
            self.status = 1
            target.post_message(Output(self, [f"cannot be started: {error.strerror}"], 1))
            return
        self.status = status
        target.post_message(Output(self, [_text(rest)] if rest else [], status))

    def end(self) -> None:
        """Send SIGINT, as Ctrl-C does, and SIGKILL after a while."""
        self._is_unwanted = True
        self._signal(signal.SIGINT)
        killing = threading.Timer(_PATIENCE_S, self._signal, (signal.SIGKILL,))
        killing.daemon = True
        killing.start()

    def _start(self) -> subprocess.Popen[bytes]:
        own_subtree()  # the child shares this process's cgroup, and could not divide it
        process = subprocess.Popen(  # noqa: S603 # this program, and words as a list
            [*PROGRAM, *self.words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TERM": "dumb", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        self._process = process
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
        return process

    def _signal(self, number: int) -> None:
        # Until its pipe closes the child has not been reaped, so its pid cannot have been reused.
        if self._process is not None and not self._is_silent:
            with suppress(OSError):
                os.killpg(self._process.pid, number)

    @staticmethod
    def _await(process: subprocess.Popen[bytes]) -> int:
        try:
            return process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            return process.wait()


def _text(line: bytes) -> str:
    return safe(line.decode("utf-8", "replace")[:_MAX_LINE])
