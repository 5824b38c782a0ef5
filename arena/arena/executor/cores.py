"""Pins a worker and the bots it referees to one core: they act in turn, which is faster on a shared core."""

from __future__ import annotations

import ctypes
import itertools
import os
import socket
import sys
from contextlib import suppress

_PLACES = 64
"""Workers that can claim the same core; beyond that the system chooses cores."""


class Core:
    """The core to which this process is pinned, once `settle` has chosen one."""

    def __init__(self, *, programs_roam: bool, family: str = "arena") -> None:
        """Change nothing yet.

        Args:
            programs_roam: whether programs, which may have several threads, may use all cores; otherwise
                spare cores would be idle.
            family: only processes of the same family are counted when a core is chosen.
        """
        self._programs_roam = programs_roam
        self._family = family
        self._allowed: frozenset[int] | None = None
        self._claim: socket.socket | None = None

    def settle(self) -> None:
        """Pin this process, and those it starts from now on, to one of the cores with the fewest workers.

        Workers of all runs on this machine are counted. A second call does nothing.
        """
        if sys.platform != "linux" or self._allowed is not None:
            return
        self._allowed = frozenset(os.sched_getaffinity(0))
        # Try the current core first: the system placed this process there because the core has little load.
        here = ctypes.CDLL(None).sched_getcpu()
        cores = sorted(self._allowed, key=lambda core: (core != here, core))
        # All cores get a first worker before any gets a second one.
        for place, core in itertools.product(range(_PLACES), cores):
            self._claim = _claimed(f"\0{self._family}-core-{core}-{place}")
            if self._claim is not None:
                with suppress(OSError):  # the core may have gone meanwhile
                    os.sched_setaffinity(0, {core})
                return

    def for_program(self) -> frozenset[int] | None:
        """Return the cores of a bot that is, or starts, a program; None for the cores of this process."""
        return self._allowed if self._programs_roam else None


def num_workers(concurrency: int, cores: int) -> int:
    """Return the workers for `--concurrency`: 0 is cores - 1 (at least 1), -k is k fewer than that."""
    return concurrency if concurrency > 0 else max(1, cores - 1 + concurrency)


def _claimed(name: str) -> socket.socket | None:
    """Bind an abstract socket name, freed at process end; return None if another process has it."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(name)
    except OSError:  # another process has it
        claim.close()
        return None
    return claim
