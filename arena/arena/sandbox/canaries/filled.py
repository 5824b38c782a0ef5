"""Lets attackers fill their scratch folder and hold memory, while the arena looks as it does in a match."""

from __future__ import annotations

import secrets
import stat
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.sandbox.canaries.attackers import DEADLINE_S, RESOURCES, attacker, read_reports, send_order
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from arena.sandbox.attacks.filling import Filling, Swapping
    from arena.sandbox.process import Process
    from arena.sandbox.resources import Resources

MEMORY_BYTES = 1 << 26
_PART = 1.2
"""Of the limit of memory, what attack 36 wants to hold."""
_WATCH_S = 0.05
"""How often the arena looks at a bot that thinks."""
_OPEN = 0o755


class Amounts(NamedTuple):
    """How much attackers try to put into a scratch folder, and how long they swap what is in it."""

    folders: int = 300  # a container bounds the depth by the number of entries alone
    files: int = 600
    num_bytes: int = 3 << 20
    swap_s: float = 0.1
    resources: Resources = msgspec.structs.replace(RESOURCES, scratch_entries=256)
    """Their limits."""


QUICK_AMOUNTS = Amounts()
"""For the doctor, with limits that are soon passed."""


class Watch:
    """Looks at an attacker as the arena does while a bot thinks, and kills it if it passes a limit."""

    def __init__(self, process: Process, memory_bytes: int) -> None:
        self._process = process
        self._memory_bytes = memory_bytes
        self._next = 0.0
        self.has_killed = False

    def __call__(self) -> None:
        """Look, if it is time to."""
        if self.has_killed or time.monotonic() < self._next:
            return
        if self._process.usage().memory_bytes > self._memory_bytes or self._process.scratch_excess():
            self.has_killed = True
            self._process.kill()
        self._next = time.monotonic() + _WATCH_S

    def look(self) -> None:
        """Look once more, whenever the last time was."""
        self._next = 0.0
        self()


def fills_scratch(tier: Tier, amounts: Amounts = QUICK_AMOUNTS) -> bool:
    """Return whether an attacker fills its scratch folder against the promise of a tier (attack 24).

    In every tier nothing of the folder may be left; from T2 on the attacker gets no more than its limits, or
    is killed.

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
    """Return whether an attacker holds more memory than it may without being seen (attack 36).

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
        # An attempt that ended in an error of its own shows nothing, and counts as one that worked.
        return not watch.has_killed and (not isinstance(held, int) or held >= want)


def misleads_removal(tier: Tier, seconds: float = QUICK_AMOUNTS.swap_s) -> bool:
    """Return whether an attacker leads the arena to a foreign folder while that removes its own (attack 23).

    Args:
        tier: how it is kept apart.
        seconds: how long it swaps a folder and a link while the arena removes them.

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
            # Again and again, since it is over after the first time.
            process.scratch.remove()
            home.mkdir(parents=True, exist_ok=True)
            process.scratch.root.chmod(_OPEN)
            home.chmod(0o777)

        send_order(process, swapping, [("begun", "filling.attack_nothing"), ("23", "filling.attack_swap")])
        # A folder that is removed before the attacker has entered it would keep the attacker from starting.
        read_reports(process, last="begun")
        reports = read_reports(process, remove, seconds + DEADLINE_S)
        process.kill()
        is_kept = kept.is_dir() and all(
            stat.S_IMODE(path.stat().st_mode) == _OPEN for path in (foreign, kept)
        )
    return not is_kept or "23" not in reports
