"""A program beside the bot that is talked to in lines: started, asked, ended."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
import weakref
from typing import TYPE_CHECKING

from arena_plugins.errors import PluginError, ProtocolError
from arena_plugins.wire import MAX_BOT_LINE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

ENGINE_FDS = "ARENA_ENGINE_FDS"
"""Where a sandbox lets a bot start no process, the arena starts its program: descriptors `read,write`."""
_LINE_END = re.compile(rb"[\r\n]")
_PR_SET_PDEATHSIG = 1
_SIGKILL = 9
_DEATH_S = 1.0
"""Seconds a program that closed its pipes has to exit, so that its exit code is known."""


class Child:
    """A running program; one that was started here ends with this object, at the latest with the process."""

    def __init__(self, name: str, reader: int, writer: int, popen: subprocess.Popen[bytes] | None) -> None:
        """Take the descriptors to read from and to write to, and the process if it is one of ours."""
        self._name = name
        self._reader = reader
        self._writer = writer
        self._popen = popen
        self._buffer = bytearray()
        self._end = weakref.finalize(self, _end, popen)

    def send(self, line: bytes) -> None:
        """Write a line, its end included.

        Raises:
            SystemExit: the program is gone.
        """
        try:
            while line:
                line = line[os.write(self._writer, line) :]
        except BrokenPipeError:
            self.gone()

    def read(self) -> bytes:
        """Return the next line that is not blank, without its end: LF, CR or both.

        Raises:
            ProtocolError: a line is too long.
            SystemExit: the program is gone.
        """
        while True:
            try:
                line = self.read_until(None)
            except EOFError:
                self.gone()
            if line is not None:
                return line

    def read_until(self, deadline: float | None) -> bytes | None:
        """Return the next line as `read` does; None if there is none by `deadline`.

        Args:
            deadline: by `time.monotonic`, 0 for what is there already; None waits for as long as it takes.

        Raises:
            EOFError: the program is gone, or has closed its output.
            ProtocolError: a line is too long.
        """
        while (line := self._line()) is None:
            if deadline is not None and not self._has_output(deadline):
                return None
            self._fill()
        return line

    def close(self) -> None:
        """Kill the program if it was started here and still runs."""
        self._end()

    def gone(self) -> NoReturn:
        """End this process as the program ended: to the arena they are one bot.

        Raises:
            SystemExit: always.
        """
        code = _exit_code(self._popen)
        if code is None:
            # Not a word more: the last line of the log is the program's own, which says why.
            raise SystemExit(1)
        sys.stderr.write(f"{self._name} ended with {code}\n")
        # As a shell tells of signals.
        raise SystemExit(code if code >= 0 else 128 - code)

    def _line(self) -> bytes | None:
        """Remove the first line that is not blank from what was read, and return it."""
        while (found := _LINE_END.search(self._buffer)) is not None:
            line = bytes(self._buffer[: found.start()]).strip()
            del self._buffer[: found.end()]
            if line:
                return line
        return None

    def _has_output(self, deadline: float) -> bool:
        watch = select.poll()
        watch.register(self._reader, select.POLLIN)
        return bool(watch.poll(max(0.0, deadline - time.monotonic()) * 1000))

    def _fill(self) -> None:
        if len(self._buffer) >= MAX_BOT_LINE:
            raise ProtocolError(f"{self._name} sent a line of more than {MAX_BOT_LINE} bytes")
        chunk = os.read(self._reader, MAX_BOT_LINE)
        if not chunk:
            raise EOFError(f"{self._name} closed its output")
        self._buffer += chunk


def open_child(command: Sequence[str]) -> Child:
    """Give the program the arena started for this process, or else start it; its stderr is ours.

    Raises:
        PluginError: it cannot be started.
    """
    inherited = os.environ.get(ENGINE_FDS)
    if inherited:
        reader, writer = (int(number) for number in inherited.split(","))
        return Child(command[0], reader, writer, None)
    try:
        popen = subprocess.Popen(  # noqa: S603 - running what the user registered is the job
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Killed without a chance to clean up, this process must leave no program that thinks on.
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - a host has one thread
        )
    except OSError as error:
        raise PluginError(f"cannot run {command[0]}: {error.strerror}") from error
    reader, writer = (-1 if pipe is None else pipe.fileno() for pipe in (popen.stdout, popen.stdin))
    return Child(command[0], reader, writer, popen)


def _exit_code(popen: subprocess.Popen[bytes] | None) -> int | None:
    try:
        return None if popen is None else popen.wait(_DEATH_S)
    except subprocess.TimeoutExpired:
        return None


def _end(popen: subprocess.Popen[bytes] | None) -> None:
    if popen is None:
        return
    popen.kill()
    popen.wait()
    for pipe in filter(None, (popen.stdin, popen.stdout)):
        pipe.close()


def _die_with_parent() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL)
