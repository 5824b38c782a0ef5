"""A child program that exchanges lines with a bot: starting it, talking to it, ending it."""

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
"""Variable with the descriptors `read,write` of a program that the arena started beside a sandboxed bot."""
_LINE_END = re.compile(rb"[\r\n]")
_PR_SET_PDEATHSIG = 1
_SIGKILL = 9
_SIGNALLED = 128
"""Added to the number of a signal in an exit code, as a shell does."""
_DEATH_S = 1.0
"""Seconds that a program has to exit after closing its pipes, so that its exit code becomes known."""


class EngineProcess:
    """A running program; one that was started here ends with this object, at the latest with the process."""

    def __init__(self, name: str, reader: int, writer: int, popen: subprocess.Popen[bytes] | None) -> None:
        """Take the descriptors to read from and to write to, and the process if it was started here."""
        self._name = name
        self._reader = reader
        self._writer = writer
        self._popen = popen
        self._buffer = bytearray()
        # Also runs when the interpreter exits, where a destructor might not.
        self._end = weakref.finalize(self, _end, popen)

    def send(self, line: bytes) -> None:
        """Write a line, which includes its line end.

        Raises:
            SystemExit: the program has ended.
        """
        try:
            while line:
                # A full pipe takes only a part.
                line = line[os.write(self._writer, line) :]
        except BrokenPipeError:
            self.gone()

    def read(self) -> bytes:
        """Return the next non-blank line without its line end (LF, CR or both).

        Raises:
            ProtocolError: a line is too long.
            SystemExit: the program has ended.
        """
        while True:
            try:
                line = self.read_until(None)
            except EOFError:
                self.gone()
            if line is not None:
                return line

    def read_until(self, deadline: float | None) -> bytes | None:
        """Return the next line as `read` does, or None if there is none by `deadline`.

        Args:
            deadline: a time by `time.monotonic`; 0 for what has already arrived, None to wait forever.

        Raises:
            EOFError: the program has ended or closed its output.
            ProtocolError: a line is too long.
        """
        while (line := self._line()) is None:
            if deadline is not None and not self._has_output(deadline):
                return None
            self._fill()
        return line

    def close(self) -> None:
        """Kill the program if it was started here and is still running."""
        self._end()

    def gone(self) -> NoReturn:
        """End this process with the exit status of the program, because the arena treats both as one bot.

        Raises:
            SystemExit: always.
        """
        code = _exit_code(self._popen)
        if code is None:
            # Nothing is written: the last line of the log should be the program's own, which says why it
            # ended.
            raise SystemExit(1)
        sys.stderr.write(f"{self._name} ended with {code}\n")
        # Popen reports a signal as its negative number.
        raise SystemExit(code if code >= 0 else _SIGNALLED - code)

    def _line(self) -> bytes | None:
        """Remove and return the first non-blank line of the buffered input, or None."""
        while (found := _LINE_END.search(self._buffer)) is not None:
            line = bytes(self._buffer[: found.start()]).strip()
            del self._buffer[: found.end()]
            if line:
                return line
        return None

    def _has_output(self, deadline: float) -> bool:
        # Unlike `select`, it works with descriptors from 1024 on.
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


def open_child(command: Sequence[str]) -> EngineProcess:
    """Return the program that the arena started for this process, or start it; its stderr is this process's.

    Raises:
        PluginError: the program cannot be started.
    """
    inherited = os.environ.get(ENGINE_FDS)
    if inherited:
        reader, writer = (int(number) for number in inherited.split(","))
        return EngineProcess(command[0], reader, writer, None)
    try:
        popen = subprocess.Popen(  # noqa: S603 - runs the program that the user registered
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # If this process is killed without cleaning up, the program must not keep running.
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - a host has one thread
        )
    except OSError as error:
        raise PluginError(f"cannot run {command[0]}: {error.strerror}") from error
    reader, writer = (-1 if pipe is None else pipe.fileno() for pipe in (popen.stdout, popen.stdin))
    return EngineProcess(command[0], reader, writer, popen)


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
