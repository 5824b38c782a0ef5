"""The resource limits and the environment of a bot process."""

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
"""A feature of containers that can be withheld; see `Resources.withheld`."""


def own_cores() -> frozenset[int]:
    """Return the numbers of the cores that this process, and therefore its children, may use."""
    if sys.platform == "linux":
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def num_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(own_cores())


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one bot process."""

    memory_bytes: int = 1 << 30
    """Bytes of resident memory; TensorFlow 2 takes 0.78 GB."""
    address_bytes: int = 4 << 30
    """Bytes of address space; TensorFlow 2 takes 2.2 GB, and OpenBLAS aborts below 0.5 GB."""
    scratch_bytes: int = 1 << 26
    """Bytes in its scratch folder, in total and per file."""
    scratch_entries: int = 4_096
    """Files, folders, links and other entries in its scratch folder."""
    scratch_depth: int = 32
    """Depth of nested folders in its scratch folder."""
    open_files: int = 256
    """File descriptors."""
    tasks: int = 128
    """Threads and processes together.

    The kernel enforces it if the bot has its own user (not root) or its own user namespace; otherwise the
    arena counts, and kills a bot that has more.
    """
    procfs: bool = False
    """Whether it may read /proc, which TensorFlow needs to start."""
    allow: tuple[str, ...] = ()
    """Names in `launch.calls.ALLOWABLE` whose system calls it may make in T2 as well."""
    withheld: tuple[Withheld, ...] = ()
    """Features its container lacks, to test how a bot copes without them; ignored in other tiers.

    `space`, `inodes`: the scratch folder is full from the start. `procfs`: /proc is empty. `attributes`: the
    mode and the times of files cannot be changed, as in T2.
    """
    compiled: str = ""
    """A folder of previously compiled code, of which it gets a copy; empty for none."""
    keeps_compiled: bool = False
    """Whether code it compiles is stored in `compiled` after it has ended."""

    def scratch_bounds(self) -> ScratchBounds:
        """Return the limits of its scratch folder."""
        return ScratchBounds(self.scratch_bytes, self.scratch_entries, self.scratch_depth)

    def rlimits(self) -> list[str]:
        """Return the limits the kernel enforces, as `NAME=VALUE` with the names of RLIMIT constants."""
        return [
            f"AS={self.address_bytes}",
            f"FSIZE={self.scratch_bytes}",
            f"NOFILE={self.open_files}",
            "CORE=0",
        ]


def environment(home: str, cache: str) -> dict[str, str]:
    """Return all environment variables of a bot process.

    Args:
        home: path of its scratch folder as the bot sees it.
        cache: path of its folder for compiled code as the bot sees it.
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
