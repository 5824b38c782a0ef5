"""Keeps a bot from thinking while its opponent does: stops its processes, measures what they use anyway."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from arena.sandbox.family import members

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.sandbox.limits.cgroup import Leaf

_PROCESS_CLOCK = 2
"""CPUCLOCK_SCHED, "all threads, by the scheduler", the lowest bits of the id of a process's clock."""


class Pause:
    """Stops and resumes the group of one process; where a system has no such signals, it does nothing.

    A process can undo a signal, by a timer that sends SIGCONT for instance. A control group stays frozen.
    """

    def __init__(self, pid: int, *, is_allowed: bool = True, leaf: Leaf | None = None) -> None:
        """Take charge of a process, which runs.

        Args:
            pid: of the process, and of its group.
            is_allowed: False leaves it running all the time; its use of the CPU is still measured.
            leaf: the control group of all its processes, which is frozen too; None where it has none.
        """
        self.idle_cpu_s = 0.0
        """Seconds of CPU that the process used while it was to wait."""
        self._pid = pid
        self._leaf = leaf
        self._stops = is_allowed and os.name == "posix"
        self._waits_from: float | None = None
        self._clocks = _clocks_of([pid])

    def look_around(self) -> None:
        """Learn which processes the bot consists of: in some tiers what was started is not what plays."""
        self._clocks = _clocks_of(members(self._pid))

    def stop(self) -> None:
        """Stop the group."""
        if self._stops:
            self._send(signal.SIGSTOP)
            if self._leaf is not None:
                self._leaf.freeze()
        self._waits_from = self.cpu_s()

    def resume(self) -> float:
        """Let the group run, and give the seconds of CPU the process has used so far."""
        used = self.cpu_s()
        if self._waits_from is not None:
            if used > self._waits_from:
                self.idle_cpu_s += used - self._waits_from
            self._waits_from = None
        if self._stops:
            if self._leaf is not None:
                self._leaf.thaw()
            self._send(signal.SIGCONT)
        return used

    def cpu_s(self) -> float:
        """Give the seconds of CPU the bot has used; 0 where the system does not say."""
        if self._leaf is not None:
            return self._leaf.cpu_s()
        used = 0.0
        for clock in self._clocks:
            try:
                used += time.clock_gettime(clock)
            except OSError:  # its process is gone
                continue
        return used

    def _send(self, number: int) -> None:
        try:
            os.killpg(self._pid, number)
        except (ProcessLookupError, PermissionError):
            # A group that is gone is found out, and judged, when the bot is to move.
            return


def _clocks_of(pids: Iterable[int]) -> tuple[int, ...]:
    """Give the clocks of the processor time of processes; none where the system does not say."""
    if sys.platform != "linux":
        return ()
    # clock_getcpuclockid(3), which Python does not offer.
    return tuple(~pid << 3 | _PROCESS_CLOCK for pid in pids)
