"""The dashboard in a terminal of its own: when it draws, and what it costs."""

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
"""Seconds without output after which a screen has come to rest."""
SETTLED_S = 3.0
"""Seconds in which a viewer has loaded and shown all that it shows at first."""
DEADLINE_S = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")


class Screen:
    """The dashboard in a terminal of its own, and when it drew."""

    def __init__(self, db: Path, size: tuple[int, int], *words: str) -> None:
        self._own, other = pty.openpty()
        ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._draws: list[float] = []
        self.output = b""
        self.began = time.monotonic()
        command = [sys.executable, "-m", "arena", *(words or ("watch",)), "--db", str(db)]
        env = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        # Compiling all modules costs as much as the first paint, and an installed arena does it once.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        self.process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=env)  # noqa: S603 - our own program
        os.close(other)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def press(self, key: bytes) -> float:
        """Press a key; give when."""
        os.write(self._own, key)
        return time.monotonic()

    def wait_for(self, text: bytes) -> float:
        """Wait until a text was drawn; give when."""
        end = time.monotonic() + DEADLINE_S
        while text not in self.output:
            if time.monotonic() > end:
                raise SystemExit(f"{text!r} was never drawn")
            time.sleep(0.002)
        return time.monotonic()

    def drawn_after(self, moment: float, within_s: float = 1.0) -> float | None:
        """Return when it drew first after a moment, if it did within so many seconds."""
        end = moment + within_s
        while time.monotonic() < end:
            found = next((t for t in self._draws if t > moment), None)
            if found is not None:
                return found
            time.sleep(0.001)
        return None

    def click(self, column: int, row: int, text: bytes) -> float | None:
        """Press and release the mouse; give milliseconds until a text is drawn, if it is within a second."""
        self.output = b""
        place = (column, row)
        began = self.press(b"\x1b[<0;%d;%dM\x1b[<0;%d;%dm" % (*place, *place))
        while text not in self.output:
            if time.monotonic() > began + 1:
                return None
            time.sleep(0.001)
        return 1000 * (time.monotonic() - began)

    def rested_after(self, moment: float) -> float:
        """Return when it had drawn all that a moment led to."""
        while time.monotonic() - max([moment, *self._draws[-1:]]) < QUIET_S:
            time.sleep(0.01)
        return max(self._draws[-1], moment)

    def cpu_s(self) -> float:
        """Return the processor time it has used, seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def share(self, seconds: float) -> float:
        """Return the percent of a core that it uses in the next seconds."""
        before, began = self.cpu_s(), time.monotonic()
        time.sleep(seconds)
        return round(100 * (self.cpu_s() - before) / (time.monotonic() - began), 2)

    def memory_mb(self) -> float:
        """Return the most memory it has held, MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return round(int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6, 1)

    def close(self) -> None:
        """Leave it."""
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
    """Open one screen after the other, and the first again; give the most memory held, MB."""
    for key in (b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"1"):
        # A screen that reads much, on a machine that does something else, draws late.
        if screen.drawn_after(screen.press(key), DEADLINE_S) is None:
            raise SystemExit(f"nothing was drawn after {key!r}")
        time.sleep(SETTLED_S)
    return screen.memory_mb()
