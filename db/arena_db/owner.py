"""Identifies this process, and finds out whether another process of this machine still runs."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from typing import Final

_PROC: Final = Path("/proc")
SILENT_S: Final = 30.0
"""Seconds without a write after which the holder of a lease may be replaced on request; a live holder writes
at least every ten seconds."""
_START: Final = 18
"""Index of the start time (field 22 of `/proc/PID/stat`) among the fields after the state (field 3)."""
_ENDED: Final = "ZX"
"""Process states of `/proc/PID/stat` in which a process no longer runs: zombie and dead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process that may hold the lease of a tournament."""

    uuid: str
    """Random; drawn once per process."""
    host: str
    """Host name, and the PID namespace if there is one."""
    boot_id: str
    """Changes with every boot of the machine; empty if unknown."""
    pid: int
    pid_start: int
    """Start time of the process in clock ticks since boot; distinguishes it from a later process with its
    id."""

    @property
    def host_name(self) -> str:
        """Name of the machine, without the PID namespace."""
        return self.host.split(" ", maxsplit=1)[0] or "an unknown machine"

    @property
    def called(self) -> str:
        """Name for people: `pid 4711 on lab3`."""
        return f"pid {self.pid} on {self.host_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord:
    """The lease of the process that runs a tournament."""

    owner: Owner
    epoch: int
    """Number of the claim that acquired the lease, from 1."""
    beat_at: float
    """Time of its last write, UTC seconds by the clock of the database; it writes at least every ten
    seconds."""
    silent_s: float
    """Seconds since its last write."""
    expires_at: float
    """Time after which another machine may claim the lease, UTC seconds; each renewal extends it."""
    is_alive: bool
    """Whether the owner still runs: known for certain on this machine, elsewhere inferred from the lease."""

    @property
    def is_silent(self) -> bool:
        """Whether the owner lives, but has been silent for so long that it may be replaced on request."""
        return self.silent_s >= SILENT_S


@cache
def current_owner() -> Owner:
    """Return the owner that stands for this process; the same value every time."""
    return replace(process(os.getpid()), uuid=uuid4().hex)


def process(pid: int) -> Owner:
    """Return the owner that stands for a process of this machine, as others see it: its `uuid` is empty."""
    return Owner(uuid="", host=_host(), boot_id=_boot_id(), pid=pid, pid_start=_start(pid) or 0)


def is_alive(owner: Owner) -> bool | None:
    """Return whether a process of this machine still runs.

    Returns:
        None if that is unknown: a process of another machine, or a system without `/proc`.
    """
    boot_id = _boot_id()
    if owner.host != _host() or not boot_id:
        return None
    # Ids of processes are used again, but not with the same start on the same boot.
    return owner.boot_id == boot_id and _start(owner.pid) == owner.pid_start


def _host() -> str:
    # Two containers can share a host name while the same process id means different processes in each, so the
    # PID namespace is part of the name.
    try:
        return f"{platform.node()} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return platform.node()


def _boot_id() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _start(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot (field 22 of `stat`, man 5 proc).

    Returns:
        None if it has ended, even if its parent has not reaped it yet.
    """
    with suppress(OSError):
        # The name of the program is in parentheses and may contain any character, so split after the last
        # one.
        state, *fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return None if state in _ENDED else int(fields[_START])
    return None
