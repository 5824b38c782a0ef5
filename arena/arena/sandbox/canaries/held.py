"""Memory and queues held by attackers: measuring them, finding what outlives a process, removing it."""

from __future__ import annotations

import ctypes
import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.sandbox.attacks.targets import Targets

_SEGMENTS = Path("/proc/sysvipc/shm")
_LOCKS = Path("/proc/locks")
_SHARED_FILES = Path("/dev/shm")  # noqa: S108 - only read and cleaned up
_IPC_REMOVE = 0
_BLOCK = 512
"""Bytes in the unit of `st_blocks`."""


def draw_key() -> int:
    """Return a random System V key other than 0, which would mean a private segment."""
    return 1 + secrets.randbelow((1 << 31) - 2)


def segment_bytes(key: int) -> int:
    """Return the size in bytes of the System V segment with this key; 0 if there is none."""
    return sum(size for _, size in _segments(key))


def memory_file_bytes(pid: int) -> int:
    """Return the number of bytes in the memory files that a process has open."""
    found = 0
    with suppress(OSError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                # Memory files have no path, only this name in /proc.
                if os.readlink(file).startswith("/memfd:"):  # noqa: PTH115 - the text is not a path
                    found += file.stat().st_blocks * _BLOCK
    return found


def shared_map_bytes(pid: int) -> int:
    """Return the size in bytes of the largest shared map of a process that has no file."""
    found = 0
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines():
            # The name under which the kernel lists memory that is shared without a file.
            if line.endswith("/dev/zero (deleted)"):
                begin, end = (int(part, 16) for part in line.split(maxsplit=1)[0].split("-"))
                found = max(found, end - begin)
    return found


def num_locks(pid: int, path: str = "") -> int:
    """Return the number of file locks a process holds, in total or on one file; 0 if unknown."""
    try:
        lines = _LOCKS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    # Fields: number, kind, "ADVISORY", "READ" or "WRITE", process, device and inode, first byte, last byte.
    rows = [line.split() for line in lines if "->" not in line]
    number = f":{Path(path).stat().st_ino}" if path else ""
    return sum(row[4] == str(pid) and row[5].endswith(number) for row in rows)


def peak_bytes(pid: int) -> int:
    """Return the peak of a process's address space in bytes; 0 if the system does not report it."""
    with suppress(OSError, ValueError):
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
        return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmPeak:")), 0)
    return 0


def remove(targets: Targets) -> None:
    """Remove everything that attackers may have left."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    for key in (targets["memory_key"], targets["note_key"]):
        for segment, _ in _segments(key):
            libc.shmctl(segment, _IPC_REMOVE, None)
    libc.mq_unlink(f"/{targets['note_queue']}".encode())
    with suppress(OSError):
        (_SHARED_FILES / targets["note_queue"]).unlink()


def _segments(key: int) -> list[tuple[int, int]]:
    """Return (number, size) of the segments with a key."""
    try:
        lines = _SEGMENTS.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []
    rows = [line.split() for line in lines]
    return [(int(row[1]), int(row[3])) for row in rows if int(row[0]) == key]
