"""Stops a bot while its opponent thinks, and measures the CPU time it uses nevertheless."""

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
"""CPUCLOCK_SCHED, the lowest bits of the id of a process's CPU clock: scheduler time of all threads.

It includes threads that have ended.
"""
_ALL = 0
"""Key that stands for all processes when CPU time is measured by control group."""
_IDLE_S = 0.1
"""CPU seconds tolerated in every match."""
_IDLE_SHARE = 0.02
"""Additional tolerance, as a share of the opponent's thinking time."""
_IDLE_STOP_S = 0.002
"""Further seconds per wait: a bot with four busy threads took 0.85 ms to stop under heavy load."""


class Pause:
    """Stops and resumes a process group; does nothing on systems without the signals.

    A process can undo SIGSTOP, for example with a timer that sends SIGCONT. A frozen control group cannot be
    undone from within.
    """

    def __init__(self, pid: int, *, is_allowed: bool = True, leaf: Leaf | None = None) -> None:
        """Take control of a running process.

        Args:
            pid: the id of the process and of its group.
            is_allowed: whether it may be stopped; if False it always runs, and its CPU time is still
                measured.
            leaf: the control group of all its processes, which is frozen as well; None without one.
        """
        self.idle_cpu_s = 0.0
        """CPU seconds that the bot used while it had to wait, up to the last `settle`."""
        self._num_waits = 0
        self._pid = pid
        self._leaf = leaf
        self._stops = is_allowed and os.name == "posix"
        self._waits_from: dict[int, float] | None = None
        self._clocks = _clocks_of([pid])
        self.is_measured = bool(self._clocks)
        """Whether the system reports the bot's CPU time."""

    def look_around(self) -> None:
        """Find the bot's processes; in some tiers the process that was started is not the one that plays."""
        self._clocks = _clocks_of(members(self._pid))

    def begin(self) -> None:
        """Reset the measurement for a new match."""
        self.idle_cpu_s = 0.0
        self._num_waits = 0

    def bound_s(self, opponent_s: float) -> float:
        """Return the CPU seconds the bot may use in this match while it has to wait.

        An honest bot needs some: it may be computing when SIGSTOP is sent, and runs until the signal arrives.

        Args:
            opponent_s: seconds that its opponent has thought in this match.
        """
        return _IDLE_S + _IDLE_SHARE * opponent_s + _IDLE_STOP_S * self._num_waits

    def stop(self) -> None:
        """Stop the process group."""
        if self._stops:
            self._send(signal.SIGSTOP)
            if self._leaf is not None:
                # In addition to the signal, which a process can undo, or avoid by leaving the process group.
                self._leaf.freeze()
        # Read after the signal: CPU time used before it arrives is not held against the bot.
        self._waits_from = self._read()
        self._num_waits += 1

    def settle(self) -> None:
        """Add the CPU time used since `stop` to `idle_cpu_s`; does nothing while the bot may run."""
        self._settle(self._read())

    def resume(self) -> float:
        """Resume the process group; return the CPU seconds the process has used so far."""
        used = self._read()
        self._settle(used)
        self._waits_from = None
        if self._stops:
            if self._leaf is not None:
                # In the reverse order: a frozen process would get the signal only after it is thawed.
                self._leaf.thaw()
            self._send(signal.SIGCONT)
        return sum(used.values())

    def end(self) -> None:
        """Forget the processes before they are killed, because their ids may then be reused."""
        self.settle()
        self._waits_from = None
        self._clocks = ()
        # The control group is removed together with its processes, so its files must not be read any more.
        self._leaf = None

    def cpu_s(self) -> float:
        """Return the CPU seconds the bot has used; 0 if the system does not report them."""
        return sum(self._read().values())

    def _settle(self, used: dict[int, float]) -> None:
        before = self._waits_from
        if before is None:
            return
        for clock, seconds in used.items():
            self.idle_cpu_s += max(0.0, seconds - before.get(clock, seconds))
        # A process that has ended is left out, because its CPU time is unknown.
        self._waits_from = before | used

    def _read(self) -> dict[int, float]:
        """Return the CPU seconds of each process that still has a clock, or of the whole control group."""
        if self._leaf is not None:
            return {_ALL: self._leaf.cpu_s()}
        used: dict[int, float] = {}
        for clock in self._clocks:
            try:
                used[clock] = time.clock_gettime(clock)
            except OSError:  # the process has ended
                continue
        return used

    def _send(self, number: int) -> None:
        try:
            os.killpg(self._pid, number)
        except (ProcessLookupError, PermissionError):
            # The group has ended, which is noticed and judged when it is the bot's turn.
            return


def _clocks_of(pids: Iterable[int]) -> tuple[int, ...]:
    """Return the CPU clock ids of processes; empty if the system has no such clocks."""
    if sys.platform != "linux":
        return ()
    # The formula of clock_getcpuclockid(3), which Python does not offer for other processes.
    return tuple(~pid << 3 | _PROCESS_CLOCK for pid in pids)
