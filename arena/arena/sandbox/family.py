"""The processes of a bot, and those that remain after it was killed."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC = Path("/proc")


def members(pid: int) -> Iterator[int]:
    """Yield a process and its descendants, except those whose parent has ended; works on Linux only."""
    return (member for member, _ in walk(pid))


def walk(pid: int) -> Iterator[tuple[int, int]]:
    """Yield (process, number of its threads) for the same processes as `members`, parents first."""
    tasks: list[str] = []
    with suppress(OSError):
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - called 20 times a second
    yield pid, len(tasks)
    for task in tasks:
        # The kernel lists a child with the thread that created it, so each thread must be asked.
        for child in _read(f"/proc/{pid}/task/{task}/children").split():
            yield from walk(int(child))


def sweep(home: str) -> int:
    """Kill all processes whose environment has `HOME={home}`; return their number.

    This finds a bot's child that left its parent's process group, as long as it kept its environment.
    """
    mark = os.fsencode(f"HOME={home}")
    num_killed = 0
    with suppress(OSError):
        for folder in _PROC.iterdir():
            # Each bot has a scratch folder of its own, so no process of another bot can have the same entry.
            if folder.name.isdigit() and mark in _read(f"/proc/{folder.name}/environ").split(b"\0"):
                with suppress(OSError):
                    os.kill(int(folder.name), signal.SIGKILL)
                    num_killed += 1
    return num_killed


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
