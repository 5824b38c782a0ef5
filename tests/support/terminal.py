"""Runs programs in a real pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

DEADLINE_S = 120.0
_ON = {b"\x1b[?1049h": b"\x1b[?1049l", b"\x1b[?1000h": b"\x1b[?1000l", b"\x1b[?25l": b"\x1b[?25h"}


class Terminal:
    """A program in a pseudo-terminal of 80x24; a context manager that terminates it."""

    def __init__(self, db: Path, *words: str) -> None:
        self._own, other = pty.openpty()
        ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(other)
        self._other = other
        self._ends = [self._own, other]
        self.process = subprocess.Popen(  # noqa: S603 # our own program
            [sys.executable, "-m", "arena", *words, "--db", str(db)],
            stdin=other,
            stdout=other,
            stderr=other,
            env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )
        self.output = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def wait_for(self, text: bytes) -> None:
        """Read until a text has appeared."""
        end = time.monotonic() + DEADLINE_S
        while text not in self.output:
            assert time.monotonic() < end, f"{text!r} did not come: {self.output[-2000:]!r}"
            self._read(1.0)

    def press(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._own, keys)

    def ended(self) -> int:
        """Read to the end; return the exit status."""
        end = time.monotonic() + DEADLINE_S
        while self.process.poll() is None:
            assert time.monotonic() < end
            self._read(0.1)
        while self._read(0.0):
            pass
        return self.process.returncode

    def is_restored(self) -> bool:
        """Return whether the terminal's settings are as they were before."""
        modes = all(self.output.rfind(on) < self.output.rfind(off) for on, off in _ON.items())
        return modes and termios.tcgetattr(self._other) == self.before

    def vanish(self) -> int:
        """Close the terminal without a signal; return the exit status of the program when it notices."""
        self._close()
        return self.process.wait(DEADLINE_S)

    def close(self) -> None:
        """Terminate the program if it is still running."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._close()

    def _close(self) -> None:
        while self._ends:
            os.close(self._ends.pop())

    def _read(self, seconds: float) -> bool:
        if not select.select([self._own], [], [], seconds)[0]:
            return False
        self.output += os.read(self._own, 65_536)
        return True
