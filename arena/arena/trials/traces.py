"""What a bot can leave behind: processes, descriptors, files, memory."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path

_GONE_S = 2.0
"""Seconds the kernel may take to clear a killed process away."""
_KEY_DIGITS = 7
"""Hex digits of a mark that are the key of a segment, as `arena_plugins.hostile` takes it."""
_REMOVE = 0
"""IPC_RMID."""


def surviving(token: str) -> list[int]:
    """Give the processes that have `token` among their arguments, after a moment to go; Linux only."""
    deadline = time.monotonic() + _GONE_S
    while (found := _with_argument(token)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def leftovers(mark: str) -> list[str]:
    """Name what a bot left in the kernel by a mark, and remove all but mounts; Linux only."""
    found: list[str] = []
    libc, key = ctypes.CDLL(None), int(mark[:_KEY_DIGITS], 16)
    for words in map(str.split, _lines("/proc/sysvipc/shm")):
        if words[0] == str(key):
            libc.shmctl(int(words[1]), _REMOVE, None)
            found.append("a segment of System V shared memory")
    # Wherever queues are shown, or nowhere: to remove one tells whether it was there.
    remove_queue = getattr(libc, "mq_unlink", None)
    if remove_queue is not None and remove_queue(f"/{mark}".encode()) == 0:
        found.append("a POSIX message queue")
    file = Path("/dev/shm", mark)  # noqa: S108 - nothing is made there
    if file.exists():
        file.unlink()
        found.append("a file in /dev/shm")
    if any(mark in line for line in _lines("/proc/self/mountinfo")):
        found.append("a mount")
    return found


def num_descriptors() -> int:
    """Give how many descriptors this process has open; 0 where the system does not say."""
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.is_dir() else 0  # noqa: PTH208 - a generator would count its own


def rss_bytes() -> int:
    """Give the resident memory of this process; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _with_argument(token: str) -> list[int]:
    mark, found = token.encode(), list[int]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if mark in arguments:
            found.append(int(folder.name))
    return found
