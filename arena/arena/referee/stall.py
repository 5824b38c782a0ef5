"""Tells a bot that was too slow from an arena, or a machine, that was."""

from __future__ import annotations

import sys
import time

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


def delays_itself(*, used_s: float, wall_s: float, num_cores: int) -> bool:
    """Return whether a bot had so much of its cores that a delay of this process is the bot's own doing.

    Otherwise a bot could start many threads just before its deadline and have a lost match played again.

    Args:
        used_s: seconds of CPU the bot used, all threads.
        wall_s: the seconds in which it did so, which include the delay.
        num_cores: how many cores it may run on.
    """
    return used_s > _MOST * num_cores * wall_s


def suspended_s() -> float:
    """Return the seconds this machine has been suspended since it booted; 0 where the system does not say."""
    if sys.platform != "linux":
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()


def is_stall(*, window_s: float, margin_s: float, lag_s: float, asleep_s: float, computed_s: float) -> bool:
    """Return whether an answer that came too late may be the arena's fault.

    Args:
        window_s: seconds from the question to the verdict.
        margin_s: how late an answer may be.
        lag_s: how late, at the worst, this process was scheduled meanwhile, where the bot did not cause it.
        asleep_s: for how long the machine was suspended meanwhile.
        computed_s: seconds of CPU the bot used meanwhile.
    """
    is_disturbed = lag_s > max(margin_s / 2, _LEAST_LAG_S) or asleep_s > SUSPENDED_S
    return is_disturbed and computed_s < _BUSY * window_s
