"""What a bot process may use, and the environment it sees."""

from __future__ import annotations

import os
import sys
from typing import Literal

import msgspec

from arena.sandbox.scratch import ScratchBounds

_ONE_THREAD = (
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

Withheld = Literal["attributes", "inodes", "procfs", "space"]
"""Something a container usually has; see `Resources.withheld`."""


def own_cores() -> frozenset[int]:
    """Return the numbers of the cores this process may use, and so the processes it starts."""
    if sys.platform == "linux":
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def num_cores() -> int:
    """Count the cores this process may use."""
    return len(own_cores())


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one bot process."""

    memory_bytes: int = 1 << 30
    """Resident memory; TensorFlow 2 takes 0.78 GB."""
    address_bytes: int = 4 << 30
    """Address space; TensorFlow 2 takes 2.2 GB, and OpenBLAS aborts below 0.5 GB."""
    scratch_bytes: int = 1 << 26
    """All that lies in its scratch folder, and the largest file."""
    scratch_entries: int = 4_096
    """Files, folders, links and whatever else lies there, together."""
    scratch_depth: int = 32
    """Folders in folders."""
    open_files: int = 256
    """File descriptors."""
    tasks: int = 128
    """Threads and processes together.

    The kernel keeps to it where the bot has a user (not root) or a user namespace of its own; everywhere else
    the arena counts, and kills a bot that has more.
    """
    procfs: bool = False
    """Whether it may read /proc, which TensorFlow needs to start."""
    allow: tuple[str, ...] = ()
    """Names of `launch.calls.ALLOWABLE` whose system calls it may make in T2, too."""
    withheld: tuple[Withheld, ...] = ()
    """What its container lacks, to try what a bot does without it; ignored in other tiers.

    `space`, `inodes`: its scratch folder is full from the start. `procfs`: /proc is empty. `attributes`: the
    mode and the times of files cannot be changed, as in T2.
    """
    compiled: str = ""
    """The folder of what its code compiled before, of which it gets a copy; empty for none."""
    keeps_compiled: bool = False
    """Whether what it compiles goes there when it has ended."""

    def scratch_bounds(self) -> ScratchBounds:
        """Return how much may lie in its scratch folder."""
        return ScratchBounds(self.scratch_bytes, self.scratch_entries, self.scratch_depth)

    def rlimits(self) -> list[str]:
        """Give the limits the kernel keeps, as `NAME=VALUE` with the names of RLIMIT constants."""
        return [
            f"AS={self.address_bytes}",
            f"FSIZE={self.scratch_bytes}",
            f"NOFILE={self.open_files}",
            "CORE=0",
        ]


def environment(home: str, cache: str) -> dict[str, str]:
    """Return all the environment variables of a bot process.

    Args:
        home: its scratch folder, as it sees it.
        cache: its folder for compiled code, as it sees it.
    """
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": home,
        "TMPDIR": home,
        "PYTHONHASHSEED": "0",
        "NUMBA_CACHE_DIR": cache,
        **dict.fromkeys(_ONE_THREAD, "1"),
    }
