"""What a bot can leave behind: processes, descriptors, files, memory."""

from __future__ import annotations

import os
import time
from pathlib import Path

_GONE_S = 2.0
"""Seconds the kernel may take to clear a killed process away."""


def surviving(token: str) -> list[int]:
    """Give the processes that have `token` among their arguments, after a moment to go; Linux only."""
    deadline = time.monotonic() + _GONE_S
    while (found := _with_argument(token)) and time.monotonic() < deadline:
        time.sleep(0.01)
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
