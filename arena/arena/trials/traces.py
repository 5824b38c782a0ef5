"""Finds what bots leave behind: processes, descriptors, files, memory."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path

_GONE_S = 2.0
"""Seconds that the kernel may take to remove a killed process."""
_KEY_DIGITS = 7
"""Hex digits of a mark that form the key of a segment, as in `arena_plugins.hostile`."""
_REMOVE = 0
"""IPC_RMID."""


def surviving(token: str) -> list[int]:
    """Return the processes with `token` among their arguments, after a grace period; Linux only."""
    deadline = time.monotonic() + _GONE_S
    while (found := _with_argument(token)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def leftovers(mark: str) -> list[str]:
    """Return what a bot left in the kernel under a mark, and remove all but mounts; Linux only."""
    found: list[str] = []
    libc, key = ctypes.CDLL(None), int(mark[:_KEY_DIGITS], 16)
    for words in map(str.split, _lines("/proc/sysvipc/shm")):
        if words[0] == str(key):
            libc.shmctl(int(words[1]), _REMOVE, None)
            found.append("a segment of System V shared memory")
    # Message queues are not listed everywhere; a successful removal shows that one existed.
    remove_queue = getattr(libc, "mq_unlink", None)
    if remove_queue is not None and remove_queue(f"/{mark}".encode()) == 0:
        found.append("a POSIX message queue")
    file = Path("/dev/shm", mark)  # noqa: S108 - nothing is created there
    if file.exists():
        file.unlink()
        found.append("a file in /dev/shm")
    if any(mark in line for line in _lines("/proc/self/mountinfo")):
        found.append("a mount")
    return found


def num_descriptors() -> int:
    """Return the number of open descriptors of this process; 0 if the system does not report it."""
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.is_dir() else 0  # noqa: PTH208 - a generator would count its own


def rss_bytes() -> int:
    """Return the resident memory of this process in bytes; 0 if the system does not report it."""
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
