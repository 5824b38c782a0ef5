"""Runs the dashboard in a terminal of its own; measures when it draws, and its cost."""

from __future__ import annotations

import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from fcntl import ioctl
from pathlib import Path

QUIET_S = 0.4
"""Seconds without output after which the screen counts as complete."""
SETTLED_S = 3.0
"""Seconds within which a viewer has loaded and drawn its first screen."""
DEADLINE_S = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")


class Screen:
    """The dashboard in a terminal of its own, with the times of its output."""

    def __init__(self, db: Path, size: tuple[int, int], *words: str) -> None:
        self._own, other = pty.openpty()
        ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._draws: list[float] = []
        self.output = b""
        self.began = time.monotonic()
        command = [sys.executable, "-m", "arena", *(words or ("watch",)), "--db", str(db)]
        env = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        # Compiling all modules to bytecode costs as much as the first paint, and happens once per
        # installation.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        self.process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=env)  # noqa: S603 - our own program
        os.close(other)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def press(self, key: bytes) -> float:
        """Press a key; return the time."""
        os.write(self._own, key)
        return time.monotonic()

    def wait_for(self, text: bytes) -> float:
        """Wait until a text is drawn; return the time."""
        end = time.monotonic() + DEADLINE_S
        while text not in self.output:
            if time.monotonic() > end:
                raise SystemExit(f"{text!r} was never drawn")
            time.sleep(0.002)
        return time.monotonic()

    def drawn_after(self, moment: float, within_s: float = 1.0) -> float | None:
        """Return the time of the first output after a moment, if it came within so many seconds."""
        end = moment + within_s
        while time.monotonic() < end:
            found = next((t for t in self._draws if t > moment), None)
            if found is not None:
                return found
            time.sleep(0.001)
        return None

    def click(self, column: int, row: int, text: bytes) -> float | None:
        """Press and release the mouse; return milliseconds until a text is drawn, if within a second."""
        self.output = b""
        place = (column, row)
        began = self.press(b"\x1b[<0;%d;%dM\x1b[<0;%d;%dm" % (*place, *place))
        while text not in self.output:
            if time.monotonic() > began + 1:
                return None
            time.sleep(0.001)
        return 1000 * (time.monotonic() - began)

    def rested_after(self, moment: float) -> float:
        """Return the time at which all output caused at a moment was complete."""
        while time.monotonic() - max([moment, *self._draws[-1:]]) < QUIET_S:
            time.sleep(0.01)
        return max(self._draws[-1], moment)

    def cpu_s(self) -> float:
        """Return the CPU time used so far, in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def share(self, seconds: float) -> float:
        """Return the percentage of a core used during the next seconds."""
        before, began = self.cpu_s(), time.monotonic()
        time.sleep(seconds)
        return round(100 * (self.cpu_s() - before) / (time.monotonic() - began), 2)

    def memory_mb(self) -> float:
        """Return the peak memory, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return round(int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6, 1)

    def close(self) -> None:
        """Quit the dashboard."""
        self.process.terminate()
        self.process.wait(DEADLINE_S)
        self._thread.join(DEADLINE_S)
        os.close(self._own)

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._own, 1 << 16)
            except OSError:  # the other end is closed
                return
            self._draws.append(time.monotonic())
            self.output = (self.output + chunk)[-1_000_000:]


def memory_with_all(screen: Screen) -> float:
    """Open one screen after the other, and the first again; return the peak memory, in MB."""
    for key in (b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"1"):
        # A screen that reads much draws late on a busy machine.
        if screen.drawn_after(screen.press(key), DEADLINE_S) is None:
            raise SystemExit(f"nothing was drawn after {key!r}")
        time.sleep(SETTLED_S)
    return screen.memory_mb()
