"""The processes a bot consists of: its memory, and what is left of them after it was killed."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC = Path("/proc")


class Usage(NamedTuple):
    """What a process and its descendants hold; 0 where the system does not say."""

    resident_bytes: int
    """Their memory."""
    tasks: int
    """Their number, each thread counted."""


def members(pid: int) -> Iterator[int]:
    """Give a process and its descendants; without those whose parent has ended, and on Linux only."""
    return (member for member, _ in _walk(pid))


def usage(pid: int, most_tasks: int) -> Usage:
    """Measure a process and its descendants, as far as `most_tasks`: beyond that the sums are too small.

    A bomb has so many of them that to look at each would take longer than to end it.
    """
    resident = tasks = 0
    for member, num_threads in _walk(pid):
        resident += _resident(member)
        tasks += num_threads
        if tasks > most_tasks:
            break
    return Usage(resident, tasks)


def sweep(home: str) -> int:
    """Kill the processes whose environment says that `home` is theirs; give how many there were.

    A bot's child that left the group of its parent is found like this as long as it kept its environment.
    """
    mark = os.fsencode(f"HOME={home}")
    num_killed = 0
    with suppress(OSError):
        for folder in _PROC.iterdir():
            if folder.name.isdigit() and mark in _read(f"/proc/{folder.name}/environ").split(b"\0"):
                with suppress(OSError):
                    os.kill(int(folder.name), signal.SIGKILL)
                    num_killed += 1
    return num_killed


def _walk(pid: int) -> Iterator[tuple[int, int]]:
    """Give the members with the number of threads of each, parents first."""
    tasks: list[str] = []
    with suppress(OSError):
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - asked for 20 times a second
    yield pid, len(tasks)
    for task in tasks:
        for child in _read(f"/proc/{pid}/task/{task}/children").split():
            yield from _walk(int(child))


def _resident(pid: int) -> int:
    words = _read(f"/proc/{pid}/statm").split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") if words else 0


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
