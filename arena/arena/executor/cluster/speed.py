"""Measures the speed of a machine: random matches per second with all slots busy."""

from __future__ import annotations

import statistics
import subprocess
import time

from arena.own_python import own_python

REFERENCE = 1_800_000.0
"""Random matches of Connect Four per second at speed 1: one core of an AMD EPYC of 2023."""
_MEASURE_S = 2.0
_CHUNK = 20_000
"""Matches of one call: 11 ms at speed 1, so the measurement is at most that much too long."""
_PATIENCE_S = 120.0
"""Seconds for the whole measurement; at the first time the code is compiled."""


def measure_speed(seconds: float = _MEASURE_S) -> float:
    """Return the speed of this process as a multiple of `REFERENCE`."""
    from arena.games.kernels.bulk import random_matches
    from arena_plugins import load_game

    game = load_game("connect-four")
    random_matches(game, 1, 1)  # compiles the code, or loads it from the cache
    num, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        random_matches(game, _CHUNK, num)
        num += _CHUNK
    return num / elapsed / REFERENCE


def measure_slots(slots: int) -> float:
    """Return the median speed of `slots` processes at once; 0 if it cannot be measured."""
    command = own_python("-m", __name__)
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
        for _ in range(slots)
    ]
    speeds: list[float] = []
    ends_at = time.monotonic() + _PATIENCE_S
    # All were started before any is awaited, so each is measured while the others keep their cores busy.
    for process in started:
        try:
            said, _ = process.communicate(timeout=max(0.0, ends_at - time.monotonic()))
            speeds.append(float(said))
        except (subprocess.TimeoutExpired, ValueError):
            process.kill()
            process.communicate()
    return statistics.median(speeds) if speeds else 0.0


if __name__ == "__main__":
    print(measure_speed())  # noqa: T201 - read by `measure_slots`
