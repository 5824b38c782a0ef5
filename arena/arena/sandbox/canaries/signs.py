"""Examines the targets after the attacks: what was left behind or obtained shows which attacks worked."""

from __future__ import annotations

import os
import select
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from arena.sandbox.attacks.other_processes import NUM_FORKS
from arena.sandbox.canaries import held
from arena.sandbox.canaries.attackers import RESOURCES
from arena.sandbox.canaries.bait import DEVICE, HOARD_BYTES, MANY_LOCKS, OWN_MODES, SHARED, cores_of

if TYPE_CHECKING:
    from arena.sandbox.canaries.attackers import Reports
    from arena.sandbox.canaries.bait import Canaries
    from arena.sandbox.process import Process

_PROCESS_CLOCK = 2
"""CPUCLOCK_SCHED, as in `arena.referee.pause`."""
_EFFECTS = {
    2: "store", 5: "outside", 18: "others", 19: "own_file", 20: "own_program", 21: "own_folder",
    22: "attributes", 35: "cores", 37: "device",
}  # fmt: skip
"""For each attack with a lasting effect, the part of the state that it changes."""
SHARED_CANARIES = frozenset({37})
"""Attacks on targets shared by the whole machine, which another program may have changed meanwhile."""


class Signs:
    """The evidence of attacks: created before them, ended with `end`, then asked which ones worked."""

    def __init__(self, canaries: Canaries) -> None:
        self._canaries = canaries
        self._before = self._after = _state(canaries)
        self._clock = _cpu_ns(canaries.victim.pid)
        self._hoards = self._is_large = self._locks_shared = self._locks_many = False

    def end(self) -> None:
        """Collect the evidence that exists only while the attacker lives, then kill the attacker."""
        canaries = self._canaries
        pid = canaries.attacker.main_pid
        self._after = _state(canaries)
        self._hoards = max(held.memory_file_bytes(pid), held.shared_map_bytes(pid)) >= HOARD_BYTES
        self._is_large = held.peak_bytes(pid) >= canaries.targets["address_bytes"]
        self._locks_shared = held.num_locks(pid, SHARED) > 0
        self._locks_many = held.num_locks(pid) >= MANY_LOCKS
        canaries.attacker.kill()

    def of_attacks(self, reports: Reports) -> set[int]:
        """Return the numbers of the attacks that worked, given an attacker's reports by number."""
        canaries, got = self._canaries, {key: str(report["got"]) for key, report in reports.items()}
        signs = {
            0: _left(canaries.attacker, "control") != canaries.targets["text"].encode(),
            **{number: text in got.get(str(number), "") for number, text in canaries.secrets.items()},
            # If the system cannot tell, the attacker's word counts.
            15: self._is_large or got.get("15") == str(canaries.targets["address_bytes"]),
            33: self._is_clock(got.get("33", "")),
        }
        # An attempt that was refused cannot have changed a shared target; another program did.
        refused = {number for number in SHARED_CANARIES if reports.get(str(number), {}).get("error")}
        return {number for number, sign in signs.items() if sign} | self._effects() - refused

    def of_text(self, text: str) -> set[int]:
        """Return the numbers of the attacks whose effect is visible, or whose secret occurs in a text."""
        found = {number for number, secret in self._canaries.secrets.items() if secret in text}
        return found | self._effects()

    def _effects(self) -> set[int]:
        canaries, process = self._canaries, self._canaries.attacker
        signs = {
            **{number: self._before[name] != self._after[name] for number, name in _EFFECTS.items()},
            9: canaries.victim.poll() is not None or canaries.opponent.has_exited(),
            14: _left(process, "ran") is not None,
            16: len(_left(process, "forks") or b"") == NUM_FORKS,
            17: len(_left(process, "large") or b"") > RESOURCES.scratch_bytes,
            25: self._hoards or held.segment_bytes(canaries.targets["memory_key"]) >= HOARD_BYTES,
            38: self._locks_shared,
            39: self._locks_many,
            **{
                number: bool(select.select([channel], [], [], 0)[0])
                for number, channel in canaries.sockets.items()
            },
        }
        return {number for number, sign in signs.items() if sign}

    def _is_clock(self, text: str) -> bool:
        """Return whether a text is a time that the CPU clock of the stand-in process showed meanwhile."""
        now = _cpu_ns(self._canaries.victim.pid)
        return text.isdecimal() and self._clock <= int(text) <= max(self._clock, now)


def _state(canaries: Canaries) -> dict[str, object]:
    """Return the state that attacks could change, except what cannot be read from a dead process."""
    targets = canaries.targets
    file = Path(targets["own_file"])
    paths = {name: Path(targets["folder"], name) for name in OWN_MODES}
    victim, opponent = canaries.victim.pid, canaries.opponent.pid
    return {
        "store": _content(Path(targets["store"])),
        "outside": Path(targets["outside"]).exists(),
        **{name: path.stat().st_mode for name, path in paths.items()},
        "attributes": (file.stat().st_mtime_ns, os.listxattr(file) if hasattr(os, "listxattr") else []),
        "device": _times(Path(DEVICE)),
        "others": (_descriptors(victim), os.getpriority(os.PRIO_PROCESS, opponent)),
        "cores": (cores_of(canaries.attacker.main_pid), cores_of(opponent)),
    }


def _times(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _descriptors(pid: int) -> tuple[int, int]:
    """Return the file descriptor limits of another process, if the system reports them."""
    if sys.platform != "linux":
        return (0, 0)
    import resource

    return resource.prlimit(pid, resource.RLIMIT_NOFILE)


def _cpu_ns(pid: int) -> int:
    """Return the CPU time of a process in ns; 0 if it has ended or the system does not report it."""
    if sys.platform == "linux":
        with suppress(OSError):
            return time.clock_gettime_ns(~pid << 3 | _PROCESS_CLOCK)
    return 0


def _left(attacker: Process, name: str) -> bytes | None:
    """Return the beginning of a file that the attacker left in its scratch folder, or None."""
    try:
        with os.fdopen(attacker.open_scratch(name), "rb") as file:
            return file.read(2 * RESOURCES.scratch_bytes)
    except OSError:
        return None


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
