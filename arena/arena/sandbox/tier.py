"""The isolation tiers, and which of them this machine could support."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from functools import cache
from pathlib import Path

_CAP_SYS_ADMIN = 21


class Tier(StrEnum):
    """The isolation of a bot, weakest first; the value is used in records and options."""

    T0 = "T0"
    """In the worker's process; for trusted bots only."""
    T1 = "T1"
    """A separate process group with a clean environment, a scratch folder and resource limits."""
    T2 = "T2"
    """T1, and the kernel refuses access to other files, sockets, programs, processes and signals (Linux)."""
    T3 = "T3"
    """T2 inside a container, without the host's files, processes, networks and queues (Linux)."""


@cache
def landlock_abi() -> int:
    """Return the version of the kernel's Landlock; 0 without Landlock."""
    if sys.platform != "linux":
        return 0
    from arena.sandbox.launch import landlock

    return landlock.abi()


@cache
def namespace_mode() -> str:
    """Return how a container is set up: `root` by privilege, or `user` by a user namespace."""
    if os.geteuid() != 0:
        return "user"
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        (line,) = (line for line in status.splitlines() if line.startswith("CapEff:"))
        return "root" if int(line.split()[1], 16) >> _CAP_SYS_ADMIN & 1 else "user"
    except (OSError, ValueError):
        return "user"


def tiers_to_try() -> list[Tier]:
    """Return the tiers this system could support, strongest first; attacks show whether they protect."""
    if os.name != "posix":
        return [Tier.T0]
    if sys.platform == "linux":
        from arena.sandbox.launch import landlock, seccomp

        if os.uname().machine in seccomp.ARCHITECTURES:
            # A container does not need Landlock, because it contains nothing to protect.
            return [Tier.T3, *([Tier.T2] if landlock_abi() >= landlock.MIN_ABI else []), Tier.T1]
    return [Tier.T1]


def weaknesses() -> list[str]:
    """Describe the isolation features that this system lacks, and what bots can do because of that."""
    if sys.platform == "linux":
        return _linux_lacks()
    if os.name != "posix":
        return [f"{sys.platform} has no tier for processes: bots run inside the arena, with all its rights"]
    lacks = {
        "Landlock, seccomp and namespaces": "no tier above T1: bots can read and change your files, use the "
        "network, and start and end programs",
        "/proc": "memory, threads and children of bots are not watched, and processes that a bot left in "
        "another session are not found",
        "signal for the death of a parent": "bots of a killed arena keep running until they next read",
    }
    return [f"{sys.platform} has no {means}: {so}" for means, so in lacks.items()]


def _linux_lacks() -> list[str]:
    from arena.sandbox.launch import landlock, seccomp

    found: list[str] = []
    if landlock_abi() < landlock.MIN_ABI:
        found.append(
            f"Landlock has ABI {landlock_abi()} here, and tiers above T1 need {landlock.MIN_ABI}, "
            "as Linux 6.12 has: bots can read and change your files, and end other processes"
        )
    machine = os.uname().machine
    if machine not in seccomp.ARCHITECTURES:
        found.append(f"there is no filter of system calls for {machine}, so no tier above T1")
    return found
