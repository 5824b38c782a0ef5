"""How long the threads of a bot wait for a processor, and how long processors stand idle, as Linux counts it.

Sources: Documentation/scheduler/sched-stats.rst for `/proc/PID/schedstat`, proc_pid_stat(5), proc_stat(5).
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

_PROC = "/proc"
_SIZE = 1 << 16
"""Bytes of one read; `/proc/stat` begins with the lines of the processors."""
_NANOSECOND = 1e-9
_IDLE, _IOWAIT = 4, 5
"""Fields of a processor's line in `/proc/stat`."""


class Waited(NamedTuple):
    """What the threads of a bot did between two looks."""

    waited_s: float
    """For how long the one that waited longest could have run and did not."""
    ran_s: float
    """Seconds of CPU of all of them."""


class _Thread(NamedTuple):
    """One thread at the last look."""

    ran_ns: int
    runs: int
    """How often it was given a processor."""
    queued_from: float | None
    """When it was first seen able to run, if it has not run since; None if it could not run."""
    counted_s: float
    """Waiting that earlier looks have returned, or that was before the first of them."""


class Waiting:
    """Looks at the threads of one bot again and again.

    The kernel adds a wait to a thread's count when the wait is over. A wait that goes on is seen by the state
    of the thread: it could run, and has not run since the look before.

    A thread that made itself less urgent than the arena is left out: it would wait as long as it likes for
    everything else on the machine.
    """

    def __init__(self, pids: Collection[int], proc: str = _PROC) -> None:
        """Begin anew.

        Args:
            pids: the processes of the bot.
            proc: where the process file system is.
        """
        self._proc = proc
        self._pids = pids if sys.platform == "linux" else ()
        self._threads: dict[int, _Thread] | None = None
        self._rank = _rank(0) if self._pids else None

    def look(self, now: float) -> Waited:
        """Return what was between the last look and this one; zeros at the first look, or if nobody knows.

        Args:
            now: seconds by any clock, the same at each call.
        """
        before, waited_s, ran_ns = self._threads, 0.0, 0
        threads: dict[int, _Thread] = {}
        for folder in (f"{self._proc}/{pid}/task" for pid in self._pids):
            tasks: list[str] = []
            with suppress(OSError):
                tasks = os.listdir(folder)  # noqa: PTH208 - asked for at every beat
            for task in tasks:
                words = _read(f"{folder}/{task}/schedstat").split()
                # Without the count of runs the kernel counts nothing.
                if len(words) < 3 or words[2] == b"0":  # noqa: PLR2004 - its three fields
                    continue
                tid, ran, count_s = int(task), int(words[0]), int(words[1]) * _NANOSECOND
                last = None if before is None else before.get(tid)
                queued_from = self._queued_from(f"{folder}/{task}", last, ran, int(words[2]), now)
                total_s = count_s + (0.0 if queued_from is None else now - queued_from)
                counted_s = total_s if last is None else max(last.counted_s, total_s)
                if last is not None:
                    gained_s = counted_s - last.counted_s
                    if gained_s > waited_s and _rank(tid) == self._rank:
                        waited_s = gained_s
                    ran_ns += ran - last.ran_ns
                elif before is not None:
                    ran_ns += ran
                threads[tid] = _Thread(ran, int(words[2]), queued_from, counted_s)
        self._threads = threads
        return Waited(waited_s, ran_ns * _NANOSECOND)

    @staticmethod
    def _queued_from(task: str, last: _Thread | None, ran: int, runs: int, now: float) -> float | None:
        state = _read(f"{task}/stat").rpartition(b")")[2].split()[:1]
        if state != [b"R"]:
            return None
        if last is None or last.queued_from is None or (last.ran_ns, last.runs) != (ran, runs):
            return now
        return last.queued_from


def idle_s(cores: Collection[int], proc: str = _PROC) -> dict[int, float]:
    """Return for how many seconds each of these cores has had nothing to do since the boot.

    A core that the system says nothing about is left out. The values come in ticks, see `tick_s`.
    """
    if sys.platform != "linux":
        return {}
    found: dict[int, float] = {}
    for line in _read(f"{proc}/stat").split(b"\n"):
        words = line.split()
        if not words or not words[0].startswith(b"cpu"):
            break
        name = words[0].removeprefix(b"cpu")
        if name and int(name) in cores:
            found[int(name)] = (int(words[_IDLE]) + int(words[_IOWAIT])) * tick_s()
    return found


def tick_s() -> float:
    """Return the seconds in which `/proc/stat` counts."""
    return 1 / os.sysconf("SC_CLK_TCK")


def _rank(tid: int) -> tuple[int, int] | None:
    """Return what the scheduler goes by, niceness and policy; None for a thread that is gone."""
    if sys.platform == "linux":
        with suppress(OSError):
            return os.getpriority(os.PRIO_PROCESS, tid), os.sched_getscheduler(tid)
    return None


def _read(path: str) -> bytes:
    """Return the beginning of a file of the process file system; empty if it is gone."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, _SIZE)
    except OSError:  # the process ended meanwhile
        return b""
    finally:
        os.close(fd)
