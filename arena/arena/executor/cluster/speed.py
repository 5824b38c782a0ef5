"""Measures the speed of a machine: random matches per second with all slots busy."""

from __future__ import annotations

import statistics
import subprocess
import time
from itertools import pairwise
from typing import Final

from arena.own_python import own_python

REFERENCE = 9_000_000.0
"""Random matches of Connect Four per second at speed 1: one idle core of an Intel Xeon of 2023."""
_MEASURE_S = 2.0
"""Seconds of one measurement."""
_CHUNK = 100_000
"""Matches of one call: 11 ms at speed 1, so the measurement is at most that much too long."""
_PATIENCE_S = 120.0
"""Timeout of a measurement in seconds; the first one compiles the code."""
AGAIN_S: Final = 30 * 60.0
"""Seconds between two measurements of an idle machine."""
SOON_S: Final = 60.0
"""Seconds to the second measurement: at the time of the first one the machine may have been starting, too."""
QUIET_S: Final = 10.0
"""Seconds without work before a measurement: between two batches of a run, all slots may be idle for a
moment."""
CHANGE: Final = 0.05
"""Smallest relative change of speed that is reported: half the difference at which a run excludes a
machine."""


def measure_speed(seconds: float = _MEASURE_S) -> float:
    """Return the speed of this process as a multiple of `REFERENCE`."""
    from arena.games.kernels.bulk import random_matches
    from arena_plugins import load_game

    game = load_game("connect-four")
    random_matches(game, 1, 1)  # compiles the code, or loads it from the cache
    times = [time.perf_counter()]
    while times[-1] - times[0] < seconds:
        random_matches(game, _CHUNK, _CHUNK * len(times))
        times.append(time.perf_counter())
    # The median, since this process may be stopped once for a second; other work on the core slows each call.
    return _CHUNK / statistics.median(after - before for before, after in pairwise(times)) / REFERENCE


class Measurement:
    """Processes that measure the speed of all slots at once."""

    def __init__(self, slots: int) -> None:
        """Start one process per slot at once: each is measured while the others keep the cores busy."""
        self._processes = [
            subprocess.Popen(  # noqa: S603 - this interpreter
                own_python("-m", __name__), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            for _ in range(slots)
        ]
        self._ends_at = time.monotonic() + _PATIENCE_S

    def is_over(self) -> bool:
        """Return whether there is nothing more to wait for."""
        return time.monotonic() >= self._ends_at or all(each.poll() is not None for each in self._processes)

    def result(self) -> float:
        """Wait for the end and return the median speed; 0 if it cannot be measured."""
        speeds: list[float] = []
        for process in self._processes:
            try:
                said, _ = process.communicate(timeout=max(0.0, self._ends_at - time.monotonic()))
                # Empty, and so a ValueError, if the process failed.
                speeds.append(float(said))
            except (subprocess.TimeoutExpired, ValueError):
                process.kill()
                process.communicate()
        return statistics.median(speeds) if speeds else 0.0

    def cancel(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.kill()
            process.communicate()


class SpeedWatch:
    """Measures a machine again while it is idle: its processor may be throttled, or busy with other work."""

    def __init__(self, slots: int, speed: float, *, measures: bool = True) -> None:
        """Begin with the speed of the start, which was measured just now; 0 if it could not be.

        Args:
            slots: number of processes that measure.
            speed: the speed that the cluster knows.
            measures: whether to measure at all.
        """
        self._slots = slots
        self._speed = speed
        self._measures = measures
        self._busy_at = time.monotonic()
        self._due_at = self._busy_at + SOON_S
        self._running: Measurement | None = None

    def look(self, *, is_idle: bool) -> float | None:
        """Begin or end a measurement if it is time; return the new speed if it has clearly changed.

        Args:
            is_idle: whether no slot has work at the moment. Work that arrives ends a measurement, which would
                slow the work and be wrong.
        """
        if not self._measures:
            return None
        now = time.monotonic()
        if not is_idle:
            self._busy_at = now
            self.cancel()
        elif self._running is None:
            if now >= self._due_at and now - self._busy_at >= QUIET_S:
                self._running = Measurement(self._slots)
        elif self._running.is_over():
            found, self._running = self._running.result(), None
            # Also after a failure, so that a machine that cannot be measured is not tried again at once.
            self._due_at = now + AGAIN_S
            if abs(found - self._speed) > CHANGE * self._speed and found:
                self._speed = found
                return found
        return None

    def cancel(self) -> None:
        """End a running measurement; another one begins when the machine is idle."""
        if self._running is not None:
            self._running.cancel()
            self._running = None


if __name__ == "__main__":
    print(measure_speed())  # noqa: T201 - read by `Measurement`
