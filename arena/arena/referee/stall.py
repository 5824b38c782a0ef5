"""Tells a bot that was too slow from an arena, or a machine, that was."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARGINS, _LEAST_S = 2, 0.05
"""For so many margins before a deadline, and at least so many seconds, delays are given back.

Not from the question on: a bot has a clock, and sees what a delay in the middle of its thinking left it.
"""
_MOST_TIMES = 20
"""So many times as long as that is the most that a bot is given back."""
SUSPENDED_S = 0.01
"""The two clocks are not read at once; a suspend is never this short."""
_BUSY = 0.9
"""A bot that computed for this part of its time was not kept from it."""
_MOST = 0.6
"""A bot that used more than this part of its cores while this process waited for one is why it waited.

Under other load an honest bot gets less. Without other load it computes with one thread, sends its answer and
waits, and this process is scheduled at once.
"""


class AnswerTime(NamedTuple):
    """A time in which a bot was to answer."""

    began: float
    """By `time.monotonic`."""
    limit_ms: float
    margin_s: float
    cpu_s: float
    """What the bot had used of the CPU when it began."""
    asleep_s: float
    """How long the machine had been suspended when it began."""


def delays_itself(*, used_s: float, wall_s: float, num_cores: int) -> bool:
    """Return whether a bot had so much of its cores that a delay of this process is the bot's own doing.

    Otherwise a bot could start many threads just before its deadline and have a lost match played again.

    Args:
        used_s: seconds of CPU the bot used, all threads.
        wall_s: the seconds in which it did so, which include the delay.
        num_cores: how many cores it may run on.
    """
    return used_s > _MOST * num_cores * wall_s


def kept_by_others_s(*, waited_s: float, wall_s: float, idle_s: Sequence[float], used_s: float) -> float:
    """Return for how long at the most others kept a bot from its cores while one of its threads waited.

    A thread that waits while a core is idle waits for no processor, or not for long; and threads that wait
    for each other wait while the bot itself has the cores. So what the threads of a bot waited says nothing
    alone: a bot with many of them can make it as long as it likes.

    Args:
        waited_s: for how long the bot waited, by the kernel.
        wall_s: the seconds in which it did so.
        idle_s: for how many of them each of its cores was idle.
        used_s: seconds of CPU the bot used, and whatever else is not others' doing.
    """
    busy_s = [max(0.0, wall_s - seconds) for seconds in idle_s]
    return max(0.0, min(waited_s, *busy_s, sum(busy_s) - used_s))


def suspended_s() -> float:
    """Return the seconds this machine has been suspended since it booted; 0 where the system does not say."""
    if sys.platform != "linux":
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()


def near_s(margin_s: float) -> float:
    """Return for how many seconds before a deadline, margin included, delays of a bot are given back.

    Args:
        margin_s: how late an answer may be.
    """
    return max(_MARGINS * margin_s, _LEAST_S)


def most_given_back_s(margin_s: float) -> float:
    """Return the most seconds that an answer may come later because of the machine.

    A bot that is kept from its cores gets its time back only as fast as it is let run: with n others on its
    core its deadline moves by up to n times what it waited before.

    Args:
        margin_s: how late an answer may be.
    """
    return _MOST_TIMES * near_s(margin_s)


def is_stall(*, window_s: float, asleep_s: float, computed_s: float, kept_s: float, most_s: float) -> bool:
    """Return whether an answer that came too late, also with the time given back, may be the machine's fault.

    Args:
        window_s: seconds from the question to the verdict.
        asleep_s: for how long the machine was suspended meanwhile.
        computed_s: seconds of CPU the bot used meanwhile.
        kept_s: for how long the bot was kept from answering, near its deadline.
        most_s: how much of that was given back at the most.
    """
    return kept_s >= most_s > 0 or (asleep_s > SUSPENDED_S and computed_s < _BUSY * window_s)
