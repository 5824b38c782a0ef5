"""Limits without the kernel's help: the arena looks at a bot's processes again and again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from arena.sandbox.family import walk


class Usage(NamedTuple):
    """What the processes of a bot hold; 0 where the system does not say."""

    memory_bytes: int
    """Their memory: resident where it is polled, all that the kernel charges them for in a cgroup."""
    tasks: int
    """Their number, each thread counted."""


class Polled:
    """Memory and tasks of one bot as the arena sees them; between two looks a bot may hold more."""

    def __init__(self, pid: int, max_tasks: int) -> None:
        """Watch a process and its descendants.

        Args:
            pid: the process.
            max_tasks: how many threads and processes are counted. A fork bomb has so many that to look at
                each would take longer than to end it.
        """
        self.peak_bytes = 0
        """The most resident memory seen, in bytes."""
        self._pid = pid
        self._max_tasks = max_tasks

    def usage(self) -> Usage:
        """Measure; if there are more tasks than `max_tasks`, both sums are too small."""
        resident = tasks = 0
        for member, num_threads in walk(self._pid):
            resident += _resident_bytes(member)
            tasks += num_threads
            if tasks > self._max_tasks:
                return Usage(resident, tasks)
        # What many processes share was counted for each, so the sum of a fork bomb would be no peak.
        self.peak_bytes = max(self.peak_bytes, resident)
        return Usage(resident, tasks)


def _resident_bytes(pid: int) -> int:
    try:
        words = Path(f"/proc/{pid}/statm").read_bytes().split()
    except OSError:
        return 0
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") if words else 0
