"""Tells a bot that was too slow from an arena, or a machine, that was."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAST_LAG_S = 0.005
"""A lag below this is none: without a margin every wait that is a hair too long would excuse a bot."""
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


def is_stall(  # noqa: PLR0913 - one keyword for each kind of evidence
    *,
    window_s: float,
    margin_s: float,
    lag_s: float,
    waited_s: float,
    asleep_s: float,
    computed_s: float,
) -> bool:
    """Return whether an answer that came too late may be the arena's fault.

    Args:
        window_s: seconds from the question to the verdict.
        margin_s: how late an answer may be.
        lag_s: how late, at the worst, this process was scheduled meanwhile, where the bot did not cause it.
        waited_s: for how long, shortly before its deadline, others kept the bot from its cores.
        asleep_s: for how long the machine was suspended meanwhile.
        computed_s: seconds of CPU the bot used meanwhile.
    """
    is_disturbed = max(lag_s, waited_s) > max(margin_s / 2, _LEAST_LAG_S) or asleep_s > SUSPENDED_S
    return is_disturbed and computed_s < _BUSY * window_s
