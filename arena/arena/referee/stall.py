"""Decides whether a late answer is the fault of the bot or of the machine, whose delays are given back."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from arena.sandbox.family import members
from arena.sandbox.waiting import Waiting, idle_s, tick_s

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_MARGINS, _LEAST_S = 2, 0.05
"""Delays are given back only near the deadline: the last two margins, but at least 0.05 seconds.

Earlier delays are not, because a bot has a clock and can see the time they cost.
"""
_MOST_TIMES = 20
"""Delays are given back up to this many times the length of the period near the deadline."""
SUSPENDED_S = 0.01
"""Seconds above which the difference of two clocks counts as a suspend: they are not read at the same
instant, and no suspend is shorter than this."""
_BUSY = 0.9
"""A bot that computed for this share of its time was not kept from computing."""
_MOST = 0.6
"""If a bot used more than this share of its cores while this process waited for one, the bot is the cause.

Under the load of others an honest bot gets less. Without other load it computes with one thread, sends its
answer and waits, and this process is scheduled at once.
"""


class AnswerTime(NamedTuple):
    """The period in which a bot had to answer."""

    began: float
    """Start of the period, by `time.monotonic`."""
    limit_ms: float
    margin_s: float
    cpu_s: float
    """CPU seconds that the bot had used at its start."""
    asleep_s: float
    """Total seconds the machine had been suspended at its start."""


def delays_itself(*, used_s: float, wall_s: float, num_cores: int) -> bool:
    """Return whether a bot itself delayed this process, by using too much of its cores.

    Without this test a bot could start many threads just before its deadline, blame the machine, and have a
    lost match replayed.

    Args:
        used_s: CPU seconds of all the bot's threads.
        wall_s: seconds of the period, delay included.
        num_cores: number of cores it may run on.
    """
    return used_s > _MOST * num_cores * wall_s


def kept_by_others_s(*, waited_s: float, wall_s: float, idle_s: Sequence[float], used_s: float) -> float:
    """Return the longest time for which other processes can have kept a thread of a bot from its cores.

    The waiting time of the threads alone proves nothing, because a bot with many threads can make it as long
    as it likes: a thread that waits while a core is idle does not wait for a processor, and threads that wait
    for each other wait while the bot itself has the cores.

    Args:
        waited_s: seconds that the bot's threads waited for a processor, by the kernel.
        wall_s: seconds of the period.
        idle_s: idle seconds of each of its cores in the period.
        used_s: CPU seconds of the bot, plus any others that are not to be blamed on other processes.
    """
    busy_s = [max(0.0, wall_s - seconds) for seconds in idle_s]
    # Bounded by three things: the wait itself, the busy time of each core, and the sum of the busy time that
    # is not the bot's own.
    return max(0.0, min(waited_s, *busy_s, sum(busy_s) - used_s))


def suspended_s() -> float:
    """Return the seconds this machine was suspended since it booted; 0 if the system does not report them."""
    if sys.platform != "linux":
        return 0.0
    # CLOCK_BOOTTIME includes the time in which the machine was suspended, CLOCK_MONOTONIC does not.
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()


def near_s(margin_s: float) -> float:
    """Return the length of the period before a deadline, margin included, in which delays are given back.

    Args:
        margin_s: the time margin, in seconds.
    """
    return max(_MARGINS * margin_s, _LEAST_S)


def most_given_back_s(margin_s: float) -> float:
    """Return the maximum number of seconds that an answer may be later because of the machine.

    A bot that is kept from its cores uses the time it is given back only as fast as it is scheduled: with n
    other processes on its core, its deadline moves by up to n times its original wait.

    Args:
        margin_s: the time margin, in seconds.
    """
    return _MOST_TIMES * near_s(margin_s)


def is_stall(*, window_s: float, asleep_s: float, computed_s: float, kept_s: float, most_s: float) -> bool:
    """Return whether an answer that is too late, even after time was given back, may be the machine's fault.

    Args:
        window_s: seconds from the question to the verdict.
        asleep_s: seconds of these in which the machine was suspended.
        computed_s: CPU seconds the bot used in the window.
        kept_s: seconds for which the bot was kept from answering near its deadline.
        most_s: the maximum that is given back.
    """
    return kept_s >= most_s > 0 or (asleep_s > SUSPENDED_S and computed_s < _BUSY * window_s)


class _Mark(NamedTuple):
    """The first measurement near a deadline, with which later ones are compared."""

    at: float
    idle_s: dict[int, float]
    used_s: float
    """CPU seconds of the bot and of this process together."""


class Starvation:
    """Adds up the waits of one bot near the deadline of one answer.

    An early answer costs nothing; a late answer that is still in time costs one measurement.
    """

    def __init__(self, pid: int, cores: Collection[int]) -> None:
        """Prepare to watch a bot.

        Args:
            pid: the id of its first process.
            cores: the cores it may run on.
        """
        self._pid = pid
        self._pids: tuple[int, ...] = ()
        self._cores = cores
        self._waiting: Waiting | None = None
        self._next_at = self._late_from = math.inf
        self._at = self._used_s = self._waited_s = 0.0
        self._mark = _Mark(0.0, {}, 0.0)

    def begin(self, deadline: float, margin_s: float) -> None:
        """Reset for a new answer; measuring starts when the answer is nearly late.

        Args:
            deadline: deadline of the answer, margin included, by `time.monotonic`.
            margin_s: the margin, in seconds.
        """
        self._waiting = None
        self._late_from = deadline - margin_s
        self._next_at = deadline - near_s(margin_s)

    def look(self, now: float, used_s: float) -> None:
        """Measure the bot if the deadline is near.

        Args:
            now: the time by `time.monotonic`.
            used_s: CPU seconds that the bot has used so far. Read them just before the call, because that
                updates the kernel's counters of running threads.
        """
        if now < self._next_at:
            return
        self._next_at = self._late_from
        if self._waiting is None:
            # Found only once: finding processes takes longer than measuring them, and in T2 and T3 no bot can
            # start further ones.
            self._pids = self._pids or tuple(members(self._pid))
            self._waiting = Waiting(self._pids)
            self._waited_s = 0.0
            self._mark = _Mark(now, idle_s(self._cores), used_s + time.process_time())
        progress = self._waiting.look(now)
        wall_s, spent_s = now - self._at, max(used_s - self._used_s, progress.ran_s)
        self._at, self._used_s = now, used_s
        if not delays_itself(used_s=spent_s, wall_s=wall_s, num_cores=len(self._cores)):
            self._waited_s += min(progress.waited_s, max(0.0, wall_s - spent_s))

    def waited_s(self, used_s: float) -> float:
        """Measure once more; return the maximum seconds for which others kept the bot from its cores.

        Args:
            used_s: CPU seconds that the bot has used so far, as for `look`.
        """
        now = time.monotonic()
        self.look(now, used_s)
        mark = self._mark
        if self._waiting is None or self._waited_s == 0:
            return 0.0
        idle = idle_s(self._cores)
        # Without idle times nothing bounds what the bot claims, so nothing is given back.
        if not idle or idle.keys() != mark.idle_s.keys():
            return 0.0
        return kept_by_others_s(
            waited_s=self._waited_s,
            wall_s=now - mark.at,
            # Idle time is counted in ticks, so it may be one tick too short.
            idle_s=[seconds - mark.idle_s[core] + tick_s() for core, seconds in idle.items()],
            # CPU time that the referee spends on watching the bot or reading its output counts as the bot's.
            used_s=used_s + time.process_time() - mark.used_s,
        )
