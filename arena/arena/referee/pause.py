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
"""CPUCLOCK_SCHED, "all threads, by the scheduler", the lowest bits of the id of a process's clock.

It goes on counting what threads used that have ended.
"""
_ALL = 0
"""Stands for the clocks of all processes where their control group is measured."""
_IDLE_S = 0.1
"""Seconds of CPU that are tolerated in every match."""
_IDLE_SHARE = 0.02
"""And this part of what the opponent thought."""
_IDLE_STOP_S = 0.002
"""And so much per wait: a bot with four busy threads took 0.85 ms to stop on a machine under heavy load."""


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
        """Seconds of CPU that the bot used while it had to wait, up to the last `settle`."""
        self._num_waits = 0
        self._pid = pid
        self._leaf = leaf
        self._stops = is_allowed and os.name == "posix"
        self._waits_from: dict[int, float] | None = None
        self._clocks = _clocks_of([pid])
        self.is_measured = bool(self._clocks)
        """Whether the system says how much CPU the bot uses."""

    def look_around(self) -> None:
        """Learn which processes the bot consists of: in some tiers what was started is not what plays."""
        self._clocks = _clocks_of(members(self._pid))

    def begin(self) -> None:
        """Begin to count anew, for another match."""
        self.idle_cpu_s = 0.0
        self._num_waits = 0

    def bound_s(self, opponent_s: float) -> float:
        """Return the seconds of CPU the bot may use in this match while it has to wait.

        An honest bot needs some: it may compute at the instant of SIGSTOP, and runs until the signal arrives.

        Args:
            opponent_s: how long its opponent has thought in this match.
        """
        return _IDLE_S + _IDLE_SHARE * opponent_s + _IDLE_STOP_S * self._num_waits

    def stop(self) -> None:
        """Stop the group."""
        if self._stops:
            self._send(signal.SIGSTOP)
            if self._leaf is not None:
                self._leaf.freeze()
        # Read after the signal: what the bot uses until it arrives is not held against it.
        self._waits_from = self._read()
        self._num_waits += 1

    def settle(self) -> None:
        """Add to `idle_cpu_s` what the bot has used since it had to wait; nothing if it runs."""
        self._settle(self._read())

    def resume(self) -> float:
        """Let the group run, and give the seconds of CPU the process has used so far."""
        used = self._read()
        self._settle(used)
        self._waits_from = None
        if self._stops:
            if self._leaf is not None:
                self._leaf.thaw()
            self._send(signal.SIGCONT)
        return sum(used.values())

    def end(self) -> None:
        """Forget the processes, which are to be killed: their numbers may become those of others."""
        self.settle()
        self._waits_from = None
        self._clocks = ()
        self._leaf = None

    def cpu_s(self) -> float:
        """Give the seconds of CPU the bot has used; 0 where the system does not say."""
        return sum(self._read().values())

    def _settle(self, used: dict[int, float]) -> None:
        before = self._waits_from
        if before is None:
            return
        for clock, seconds in used.items():
            self.idle_cpu_s += max(0.0, seconds - before.get(clock, seconds))
        # A process that is gone was not idle: what it used is not known.
        self._waits_from = before | used

    def _read(self) -> dict[int, float]:
        """Return the seconds of each process that still has a clock, or of all where their group has one."""
        if self._leaf is not None:
            return {_ALL: self._leaf.cpu_s()}
        used: dict[int, float] = {}
        for clock in self._clocks:
            try:
                used[clock] = time.clock_gettime(clock)
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
