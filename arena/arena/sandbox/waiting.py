"""Measures how long a bot's threads wait for a processor, and how long processors are idle, on Linux.

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
"""Bytes of one read; the lines of the processors are at the beginning of `/proc/stat`."""
_NANOSECOND = 1e-9
_IDLE, _IOWAIT = 4, 5
"""Indices of fields in a processor's line of `/proc/stat`."""


class Waited(NamedTuple):
    """What the threads of a bot did between two measurements."""

    waited_s: float
    """Seconds for which the longest-waiting thread was runnable but did not run."""
    ran_s: float
    """CPU seconds of all threads together."""


class _Thread(NamedTuple):
    """The state of one thread at the last measurement."""

    ran_ns: int
    runs: int
    """Number of times it was scheduled."""
    queued_from: float | None
    """When it was first seen runnable, if it has not run since; None if it was not runnable."""
    counted_s: float
    """Seconds of waiting that earlier measurements have reported, or that passed before the first one."""


class Waiting:
    """Measures the threads of one bot repeatedly.

    The kernel adds a wait to a thread's counter only when the wait ends. A wait in progress is recognised by
    the state of the thread: it is runnable, and has not run since the previous measurement.

    A thread that gave itself a lower priority than the arena's is left out, because it would wait for
    everything else on the machine for as long as it likes.
    """

    def __init__(self, pids: Collection[int], proc: str = _PROC) -> None:
        """Start measuring.

        Args:
            pids: the processes of the bot.
            proc: the path of procfs.
        """
        self._proc = proc
        self._pids = pids if sys.platform == "linux" else ()
        self._threads: dict[int, _Thread] | None = None
        self._rank = _rank(0) if self._pids else None

    def look(self, now: float) -> Waited:
        """Return what happened since the previous call; zeros at the first call, or if nothing is known.

        Args:
            now: time in seconds by any clock, the same one at each call.
        """
        before, waited_s, ran_ns = self._threads, 0.0, 0
        threads: dict[int, _Thread] = {}
        for folder in (f"{self._proc}/{pid}/task" for pid in self._pids):
            tasks: list[str] = []
            with suppress(OSError):
                tasks = os.listdir(folder)  # noqa: PTH208 - called at every beat
            for task in tasks:
                words = _read(f"{folder}/{task}/schedstat").split()
                # If the number of runs is 0 or missing, the kernel does not count.
                if len(words) < 3 or words[2] == b"0":  # noqa: PLR2004 - the file has three fields
                    continue
                tid, ran, count_s = int(task), int(words[0]), int(words[1]) * _NANOSECOND
                last = None if before is None else before.get(tid)
                queued_from = self._queued_from(f"{folder}/{task}", last, ran, int(words[2]), now)
                total_s = count_s + (0.0 if queued_from is None else now - queued_from)
                # Never lower: the estimate of a running wait may exceed what the kernel adds when it ends.
                counted_s = total_s if last is None else max(last.counted_s, total_s)
                if last is not None:
                    gained_s = counted_s - last.counted_s
                    if gained_s > waited_s and _rank(tid) == self._rank:
                        waited_s = gained_s
                    ran_ns += ran - last.ran_ns
                # A thread that began since the last measurement: all of its time belongs to this one.
                elif before is not None:
                    ran_ns += ran
                threads[tid] = _Thread(ran, int(words[2]), queued_from, counted_s)
        self._threads = threads
        return Waited(waited_s, ran_ns * _NANOSECOND)

    @staticmethod
    def _queued_from(task: str, last: _Thread | None, ran: int, runs: int, now: float) -> float | None:
        # The name of the program is in parentheses and may contain spaces and parentheses itself.
        state = _read(f"{task}/stat").rpartition(b")")[2].split()[:1]
        if state != [b"R"]:
            return None
        if last is None or last.queued_from is None or (last.ran_ns, last.runs) != (ran, runs):
            return now
        return last.queued_from


def idle_s(cores: Collection[int], proc: str = _PROC) -> dict[int, float]:
    """Return the seconds for which each of these cores has been idle since boot.

    Cores that the system does not report are left out. The resolution is one tick, see `tick_s`.
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
            # A processor whose tasks wait for a disk is free for other tasks, so this counts as idle.
            found[int(name)] = (int(words[_IDLE]) + int(words[_IOWAIT])) * tick_s()
    return found


def tick_s() -> float:
    """Return the length of a tick in `/proc/stat`, in seconds."""
    return 1 / os.sysconf("SC_CLK_TCK")


def _rank(tid: int) -> tuple[int, int] | None:
    """Return the thread's niceness and scheduling policy; None if the thread has ended."""
    if sys.platform == "linux":
        with suppress(OSError):
            return os.getpriority(os.PRIO_PROCESS, tid), os.sched_getscheduler(tid)
    return None


def _read(path: str) -> bytes:
    """Return the beginning of a file in procfs; empty if it no longer exists."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, _SIZE)
    except OSError:  # the process has ended meanwhile
        return b""
    finally:
        os.close(fd)
