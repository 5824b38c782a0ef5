"""Approximate limits without the kernel's help: the arena polls a bot's processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from arena.sandbox.family import walk


class Usage(NamedTuple):
    """What the processes of a bot use; 0 if the system does not report it."""

    memory_bytes: int
    """Memory in bytes: resident if it is polled, everything charged by the kernel in a cgroup."""
    tasks: int
    """Number of threads and processes."""


class Polled:
    """Memory and tasks of one bot as seen by polling; between two polls a bot may exceed its limits."""

    def __init__(self, pid: int, max_tasks: int) -> None:
        """Watch a process and its descendants.

        Args:
            pid: the process.
            max_tasks: the number of threads and processes after which counting stops. A fork bomb has so many
                that examining each of them would take longer than killing them.
        """
        self.peak_bytes = 0
        """Peak of the resident memory seen so far, in bytes."""
        self._pid = pid
        self._max_tasks = max_tasks

    def usage(self) -> Usage:
        """Measure memory and tasks; with more than `max_tasks` tasks, both sums are too small."""
        resident = tasks = 0
        for member, num_threads in walk(self._pid):
            resident += _resident_bytes(member)
            tasks += num_threads
            # The caller kills the bot because of this count alone, so the rest need not be read.
            if tasks > self._max_tasks:
                return Usage(resident, tasks)
        # Shared memory is counted once per process, so the sum over a fork bomb would not be a true peak.
        self.peak_bytes = max(self.peak_bytes, resident)
        return Usage(resident, tasks)


def _resident_bytes(pid: int) -> int:
    try:
        words = Path(f"/proc/{pid}/statm").read_bytes().split()
    except OSError:
        return 0
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") if words else 0
