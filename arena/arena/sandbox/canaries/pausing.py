"""Stops an attacker as bots are stopped in the opponent's turn, and measures the CPU time it still uses."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from arena.sandbox.attacks.waking import BEGIN_S
from arena.sandbox.canaries.attackers import attacker, read_reports, send_order
from arena.sandbox.family import members
from arena.sandbox.resources import Resources

if TYPE_CHECKING:
    from arena.sandbox.process import Process
    from arena.sandbox.tier import Tier

PAUSE_S = 0.15
"""Seconds for which `arena doctor` stops an attacker."""
STOP = getattr(signal, "SIGSTOP", 0)
ALLOWED_S = 0.02
"""CPU seconds that are tolerated."""
_STOP_S = 0.05
"""Seconds that the threads of a process may take to stop."""
_PROCESS_CLOCK = 2
"""CPUCLOCK_SCHED, as in `arena.referee.pause`."""


def idle_cpu_s(tier: Tier, pause_s: float = PAUSE_S) -> float | None:
    """Return the CPU seconds an attacker uses while it is stopped; None if it did not attack.

    Args:
        tier: its isolation tier.
        pause_s: how long it is stopped, in seconds.

    Raises:
        OSError, ConfigError: the tier cannot be set up at all.
    """
    # The default limits, because each of the attacker's threads reserves address space.
    with attacker(tier, resources=Resources()) as process:
        send_order(process, {}, [("29", "waking.attack_wake")])
        reports = read_reports(process)
        time.sleep(2 * BEGIN_S)
        os.killpg(process.pid, STOP)
        # On a busy machine a process with many threads takes a while to stop, which is not to be measured.
        time.sleep(_STOP_S)
        before = _cpu_s(process)
        time.sleep(pause_s / 2)
        # As in a match, in which the question is sent before the process is resumed.
        with suppress(OSError):
            os.write(process.stdin, b"\n")
        time.sleep(pause_s / 2)
        used = _cpu_s(process) - before
    return used if "29" in reports else None


def _cpu_s(process: Process) -> float:
    used = 0.0
    for pid in members(process.pid) if sys.platform == "linux" else ():
        with suppress(OSError):
            used += time.clock_gettime(~pid << 3 | _PROCESS_CLOCK)
    return used
