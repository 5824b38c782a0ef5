"""One core for a worker and the bots it referees: they act in turn, and that is quicker within a core."""

from __future__ import annotations

import ctypes
import itertools
import os
import socket
import sys
from contextlib import suppress

_PLACES = 64
"""Workers that settle on one core; beyond that the system goes on choosing."""


class Core:
    """The core of this process, once it has settled on one."""

    def __init__(self, *, programs_roam: bool, family: str = "arena") -> None:
        """Change nothing yet.

        Args:
            programs_roam: whether programs, which may have threads of their own, keep all cores: those that
                are left over would else stand idle.
            family: processes of one family count each other.
        """
        self._programs_roam = programs_roam
        self._family = family
        self._allowed: frozenset[int] | None = None
        self._claim: socket.socket | None = None

    def settle(self) -> None:
        """Keep this process, and those it starts from now on, on a core with as few workers as any.

        The workers of all runs of this machine count. A second call does nothing.
        """
        if sys.platform != "linux" or self._allowed is not None:
            return
        self._allowed = frozenset(os.sched_getaffinity(0))
        # First the one it is on: the system chose it because little else is there.
        here = ctypes.CDLL(None).sched_getcpu()
        cores = sorted(self._allowed, key=lambda core: (core != here, core))
        for place, core in itertools.product(range(_PLACES), cores):
            self._claim = _claimed(f"\0{self._family}-core-{core}-{place}")
            if self._claim is not None:
                with suppress(OSError):  # the core may have gone meanwhile
                    os.sched_setaffinity(0, {core})
                return

    def for_program(self) -> frozenset[int] | None:
        """Give the cores of a bot that is a program, or has one; None for those of this process."""
        return self._allowed if self._programs_roam else None


def num_workers(concurrency: int, cores: int) -> int:
    """Turn `--concurrency` into a number: 0 is cores - 1 (at least 1), -k is k fewer than that."""
    return concurrency if concurrency > 0 else max(1, cores - 1 + concurrency)


def _claimed(name: str) -> socket.socket | None:
    """Take a name, which is one process's and is free again when that ends, however it does."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(name)
    except OSError:  # another process has it
        claim.close()
        return None
    return claim
