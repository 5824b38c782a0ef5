"""Attacks that hold more memory and files than allowed, or hold them where they are not counted."""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from arena.sandbox.attacks.control import HOME
from arena.sandbox.attacks.syscalls import syscall

if TYPE_CHECKING:
    from arena.sandbox.attacks.targets import Targets

_IPC_CREATE = 0o1000
_F_SETPIPE_SZ = 1031
_PIPE_BYTES = 1 << 20
_NUM_PIPES = 60
_CHUNK = 1 << 12
_FILE_BYTES = 1 << 19
_open: list[int] = []
"""Descriptors to keep open."""
_held: list[mmap.mmap] = []
"""Maps to keep; a map is released together with its object."""


def attack_allocate(targets: Targets) -> object:
    """Allocate a block of memory of the size of the limit; return its size."""
    with mmap.mmap(-1, targets["address_bytes"], mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:
        block[-1] = 1
        return len(block)


def attack_large_file(targets: Targets) -> object:
    """Write beyond the maximum size of a file."""
    with (HOME / "large").open("wb", buffering=0) as file:
        file.seek(targets["scratch_bytes"])
        file.write(b"x")
    return None


def attack_locks(targets: Targets) -> object:
    """Hold many locks on single bytes of a file in the scratch folder; each takes memory of the kernel."""
    import fcntl  # missing on some systems on which this module is imported

    file = os.open(HOME / "locked", os.O_RDWR | os.O_CREAT)
    for number in range(targets["num_locks"]):
        # Every second byte, because locks on neighbouring bytes would be merged.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2 * number)
    return None


def attack_hidden_memory(targets: Targets) -> object:
    """Hold memory that no process's resident size contains; one kind failing does not prevent the others."""
    for hold in (_hold_memory_files, _hold_shared, _hold_system_v):
        with suppress(OSError):
            hold(targets)
    return None


def _hold_memory_files(targets: Targets) -> None:
    """Fill memory files of the maximum file size, and keep them open."""
    left = targets["hoard_bytes"]
    while left > 0:
        size = min(left, targets["scratch_bytes"])
        file = syscall("memfd_create", b"arena-hoard", 0)
        os.write(file, bytes(size))
        left -= size


def _hold_shared(targets: Targets) -> None:
    """Hold shared memory that no other process shares."""
    _share(targets["hoard_bytes"])


def _hold_system_v(targets: Targets) -> None:
    """Fill a System V segment, which outlives every process."""
    size = targets["hoard_bytes"]
    segment = syscall("shmget", targets["memory_key"], size, _IPC_CREATE | 0o666)
    ctypes.memset(syscall("shmat", segment, 0, 0), 1, size)


def attack_limit(targets: Targets) -> object:
    """Hold up to `hoard_bytes` of memory that no resident size contains; return how many bytes are held."""
    want = targets["hoard_bytes"]
    held = 0
    for hold in (_fill_pipes, _fill_sockets, _fill_files, _share):
        with suppress(OSError):
            held += hold(want - held)
        if held >= want:
            break
    return held


def _fill_pipes(want: int) -> int:
    """Fill pipes of maximum capacity until half of the descriptors are used."""
    import fcntl  # missing on some systems on which this module is imported

    held = 0
    for _number in range(_NUM_PIPES):
        if held >= want:
            break
        read, write = os.pipe()
        with suppress(OSError):
            fcntl.fcntl(write, _F_SETPIPE_SZ, _PIPE_BYTES)
        os.set_blocking(write, False)
        held += _fill(write)
        _open.append(read)
    return held


def _fill_sockets(want: int) -> int:
    held = 0
    with suppress(OSError):
        while held < want:
            pair = socket.socketpair()
            _open.extend(end.detach() for end in pair)
            for descriptor in _open[-2:]:
                os.set_blocking(descriptor, False)
                held += _fill(descriptor)
    return held


def _fill(descriptor: int) -> int:
    """Write until the descriptor accepts no more; return the number of bytes."""
    held, chunk = 0, bytes(_CHUNK)
    with suppress(BlockingIOError):
        while True:
            held += os.write(descriptor, chunk)
    return held


def _fill_files(want: int) -> int:
    """Fill files in the scratch folder, which may be a file system in memory."""
    held = 0
    with suppress(OSError):
        while held < want:
            with (HOME / f"hoard-{held}").open("wb", buffering=0) as file:
                for _number in range(_FILE_BYTES // _CHUNK):
                    held += file.write(bytes(_CHUNK))
    return held


def _share(want: int) -> int:
    """Fill unshared shared memory, then madvise its pages away, which does not free them."""
    block = mmap.mmap(-1, want, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    _held.append(block)
    for place in range(0, len(block), mmap.PAGESIZE):
        block[place] = 1
    block.madvise(mmap.MADV_DONTNEED)
    return want
