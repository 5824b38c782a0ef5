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


def suspended_s() -> float:
    """Give the seconds this machine has been suspended since it booted; 0 where the system does not say."""
    if sys.platform != "linux":
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()


def is_stall(*, window_s: float, margin_s: float, lag_s: float, asleep_s: float, computed_s: float) -> bool:
    """Tell whether an answer that came too late may be the arena's fault.

    Args:
        window_s: seconds from the question to the verdict.
        margin_s: how late an answer may be.
        lag_s: how late, at the worst, this process was scheduled meanwhile.
        asleep_s: for how long the machine was suspended meanwhile.
        computed_s: seconds of CPU the bot used meanwhile.
    """
    is_disturbed = lag_s > max(margin_s / 2, _LEAST_LAG_S) or asleep_s > SUSPENDED_S
    return is_disturbed and computed_s < _BUSY * window_s
