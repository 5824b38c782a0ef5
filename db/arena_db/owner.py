"""Which process this is, and whether another one of this machine still lives."""

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
"""Seconds without a write after which a process that holds a lease may be replaced on request; it writes
every ten seconds at least."""
_ENDED: Final = "ZX"
"""States of a process that runs no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process that may hold the lease of a tournament."""

    uuid: str
    """Drawn once per process."""
    host: str
    """Host name, and the process namespace where there is one."""
    boot_id: str
    """Changes with every start of the machine; empty where unknown."""
    pid: int
    pid_start: int
    """When the process started, in ticks of its machine; tells it from a later one of that id."""

    @property
    def host_name(self) -> str:
        """The machine alone."""
        return self.host.split(" ", maxsplit=1)[0] or "an unknown machine"

    @property
    def called(self) -> str:
        """What people call it: `pid 4711 on lab3`."""
        return f"pid {self.pid} on {self.host_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord:
    """The process that runs a tournament."""

    owner: Owner
    epoch: int
    """Number of the claim by which it got the lease, from 1."""
    beat_at: float
    """When it last wrote, UTC seconds by the clock of the database; it does so every ten seconds at least."""
    silent_s: float
    """Seconds since then."""
    expires_at: float
    """When another machine may take the lease, UTC seconds; each write puts it off."""
    is_alive: bool
    """Whether the owner still runs: for sure on this machine, elsewhere as far as the lease tells."""

    @property
    def is_silent(self) -> bool:
        """Whether it has missed so many beats that it may be replaced on request, though it lives."""
        return self.silent_s >= SILENT_S


@cache
def current_owner() -> Owner:
    """Return this process; the same value every time."""
    return replace(process(os.getpid()), uuid=uuid4().hex)


def process(pid: int) -> Owner:
    """Return a process of this machine, as far as others can tell: its `uuid` is empty."""
    return Owner(uuid="", host=_host(), boot_id=_boot_id(), pid=pid, pid_start=_start(pid) or 0)


def is_alive(owner: Owner) -> bool | None:
    """Return whether a process of this machine still runs.

    None of another machine, and where the system has no `/proc`: nothing is known then.
    """
    boot_id = _boot_id()
    if owner.host != _host() or not boot_id:
        return None
    return owner.boot_id == boot_id and _start(owner.pid) == owner.pid_start


def _host() -> str:
    # Two containers can share a host name; then their process ids mean different processes.
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
    """Return when a process started, in clock ticks since the start of the machine (field 22, man 5 proc).

    None where it has ended, though whoever started it may not have asked yet how it did.
    """
    with suppress(OSError):
        # The name of the program stands in parentheses and may hold any character.
        state, *fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return None if state in _ENDED else int(fields[18])
    return None
