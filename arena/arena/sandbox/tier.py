"""The tiers of isolation a bot can be run in, and what of them this machine could have."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from functools import cache


class Tier(StrEnum):
    """How a bot is kept apart, weakest first; the value is what records and options say."""

    T0 = "T0"
    """In the process of the worker: trusted bots only."""
    T1 = "T1"
    """A process group of its own with a clean environment, a scratch folder and resource limits."""
    T2 = "T2"
    """And the kernel refuses other files, sockets, programs, processes and signals (Linux)."""
    T3 = "T3"
    """And it sees no processes, networks and shared memory but its own (Linux)."""


@cache
def landlock_abi() -> int:
    """Give the version of the kernel's Landlock; 0 if there is none."""
    if sys.platform != "linux":
        return 0
    from arena.sandbox.launch import landlock

    return landlock.abi()


def tiers_to_try() -> list[Tier]:
    """Give the tiers this system has the means for, strongest first; attacks show whether they hold."""
    if os.name != "posix":
        return [Tier.T0]
    if sys.platform == "linux":
        from arena.sandbox.launch import landlock, seccomp

        if landlock_abi() >= landlock.MIN_ABI and os.uname().machine in seccomp.ARCHITECTURES:
            return [Tier.T3, Tier.T2, Tier.T1]
    return [Tier.T1]


def strongest_tier() -> Tier:
    """Give the strongest tier this machine is proven to have."""
    return Tier.T1 if os.name == "posix" else Tier.T0
