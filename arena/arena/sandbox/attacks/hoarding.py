"""Attacks by holding more memory and files than allowed, or more than is counted."""

from __future__ import annotations

import ctypes
import mmap
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from arena.sandbox.attacks.control import HOME
from arena.sandbox.attacks.syscalls import syscall

if TYPE_CHECKING:
    from arena.sandbox.attacks.targets import Targets

_IPC_CREATE = 0o1000
_held: list[mmap.mmap] = []
"""Maps are undone with their objects."""


def attack_allocate(targets: Targets) -> object:
    """Return the size of a block of memory as large as the limit for all."""
    with mmap.mmap(-1, targets["address_bytes"], mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:
        block[-1] = 1
        return len(block)


def attack_large_file(targets: Targets) -> object:
    """Write past the largest size of a file."""
    with (HOME / "large").open("wb", buffering=0) as file:
        file.seek(targets["scratch_bytes"])
        file.write(b"x")
    return None


def attack_hidden_memory(targets: Targets) -> object:
    """Hold memory that is in no process's resident size, each kind whether the others succeed or not."""
    for hold in (_hold_memory_files, _hold_shared, _hold_system_v):
        with suppress(OSError):
            hold(targets)
    return None


def _hold_memory_files(targets: Targets) -> None:
    """Fill memory files, each as large as a file may be, and keep them open."""
    left = targets["hoard_bytes"]
    while left > 0:
        size = min(left, targets["scratch_bytes"])
        file = syscall("memfd_create", b"arena-hoard", 0)
        os.write(file, bytes(size))
        left -= size


def _hold_shared(targets: Targets) -> None:
    """Fill memory shared with nobody, and give its pages back, which does not free them."""
    block = mmap.mmap(-1, targets["hoard_bytes"], mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    _held.append(block)
    for place in range(0, len(block), mmap.PAGESIZE):
        block[place] = 1
    block.madvise(mmap.MADV_DONTNEED)


def _hold_system_v(targets: Targets) -> None:
    """Fill a segment that outlives every process."""
    size = targets["hoard_bytes"]
    segment = syscall("shmget", targets["memory_key"], size, _IPC_CREATE | 0o666)
    ctypes.memset(syscall("shmat", segment, 0, 0), 1, size)
