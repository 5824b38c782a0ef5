"""What attackers hold: memory, queues and scratch files, filled while the arena watches as in a match."""

from __future__ import annotations

import ctypes
import os
import secrets
import stat
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.sandbox.canaries.attackers import DEADLINE_S, RESOURCES, attacker, read_reports, send_order
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from arena.sandbox.attacks.filling import Filling, Swapping
    from arena.sandbox.attacks.targets import Targets
    from arena.sandbox.process import Process
    from arena.sandbox.resources import Resources

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


MEMORY_BYTES = 1 << 26
_PART = 1.2
"""Share of the memory limit that attack 36 tries to hold."""
_WATCH_S = 0.05
"""Seconds between two checks of an attacker, as of a thinking bot."""
_OPEN = 0o755


class Amounts(NamedTuple):
    """Amounts that attackers try to put into a scratch folder, and how long they swap its content."""

    folders: int = 300  # a container limits the depth only through the number of entries
    files: int = 600
    num_bytes: int = 3 << 20
    swap_s: float = 0.1
    resources: Resources = msgspec.structs.replace(RESOURCES, scratch_entries=256)
    """Their resource limits."""


QUICK_AMOUNTS = Amounts()
"""Amounts for `arena doctor`, with limits that are exceeded quickly."""


class Watch:
    """Watches an attacker like the arena watches a thinking bot; kills it when it exceeds a limit."""

    def __init__(self, process: Process, memory_bytes: int) -> None:
        self._process = process
        self._memory_bytes = memory_bytes
        self._next = 0.0
        self.has_killed = False

    def __call__(self) -> None:
        """Check the attacker if a check is due."""
        if self.has_killed or time.monotonic() < self._next:
            return
        if self._process.usage().memory_bytes > self._memory_bytes or self._process.scratch_excess():
            self.has_killed = True
            self._process.kill()
        self._next = time.monotonic() + _WATCH_S

    def look(self) -> None:
        """Check the attacker now, regardless of when it was last checked."""
        self._next = 0.0
        self()


def fills_scratch(tier: Tier, amounts: Amounts = QUICK_AMOUNTS) -> bool:
    """Return whether an attacker breaks a tier's promise about the scratch folder (attack 24).

    In every tier nothing of the folder may remain. In T2 and T3 the attacker must also be stopped at its
    limits, or be killed.

    Raises:
        OSError, ConfigError: the tier cannot be set up at all.
    """
    kinds = {"folders": amounts.folders, "files": amounts.files, "bytes": amounts.num_bytes}
    return any(_fills(tier, {"kind": kind, "amount": kinds[kind]}, amounts.resources) for kind in kinds)


def _fills(tier: Tier, filling: Filling, resources: Resources) -> bool:
    with attacker(tier, resources=resources) as process:
        watch = Watch(process, resources.memory_bytes)
        send_order(process, filling, [("24", "filling.attack_fill")])
        reports = read_reports(process, watch)
        watch.look()
        told = reports.get("24", {})
        has_all = told.get("got") == filling["amount"] or bool(told.get("error"))
        root = process.scratch.root
    return root.exists() or (tier is not Tier.T1 and has_all and not watch.has_killed)


def hides_memory(tier: Tier) -> bool:
    """Return whether an attacker holds more memory than allowed without being noticed (attack 36).

    Raises:
        OSError, ConfigError: the tier cannot be set up at all.
    """
    want = int(_PART * MEMORY_BYTES)
    resources = msgspec.structs.replace(RESOURCES, memory_bytes=MEMORY_BYTES)
    with attacker(tier, resources=resources) as process:
        watch = Watch(process, MEMORY_BYTES)
        send_order(process, {"hoard_bytes": want}, [("36", "hoarding.attack_limit")])
        reports = read_reports(process, watch)
        watch.look()
        held = reports.get("36", {}).get("got")
        # An attempt that failed with an error of its own proves nothing, so it counts as one that worked.
        return not watch.has_killed and (not isinstance(held, int) or held >= want)


def misleads_removal(tier: Tier, seconds: float = QUICK_AMOUNTS.swap_s) -> bool:
    """Return whether an attacker leads the arena to a foreign folder while its own is removed (attack 23).

    Args:
        tier: its isolation tier.
        seconds: how long it swaps a folder and a link while the arena keeps removing them.

    Raises:
        OSError, ConfigError: the tier cannot be set up at all.
    """
    with ExitStack() as stack:
        foreign = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-foreign-")))
        foreign.chmod(_OPEN)
        kept = foreign / secrets.token_hex(16)
        kept.mkdir(mode=_OPEN)
        process = stack.enter_context(attacker(tier))
        swapping: Swapping = {"foreign": str(foreign), "seconds": seconds}
        home = process.scratch.home

        def remove() -> None:
            # The folder is made again, so that there is something to remove until the attacker's time is up.
            process.scratch.remove()
            home.mkdir(parents=True, exist_ok=True)
            process.scratch.root.chmod(_OPEN)
            home.chmod(0o777)

        send_order(process, swapping, [("begun", "filling.attack_nothing"), ("23", "filling.attack_swap")])
        # Wait until the attacker has begun: it could not start in a folder that is already removed.
        read_reports(process, last="begun")
        reports = read_reports(process, remove, seconds + DEADLINE_S)
        process.kill()
        is_kept = kept.is_dir() and all(
            stat.S_IMODE(path.stat().st_mode) == _OPEN for path in (foreign, kept)
        )
    return not is_kept or "23" not in reports
