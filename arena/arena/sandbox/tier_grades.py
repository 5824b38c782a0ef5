"""Grants tiers that withstood attacks on this machine; advises on those that cannot be set up."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import secrets
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from arena import home
from arena.errors import ConfigError
from arena.own_python import interpreter, safe_path
from arena.sandbox.attacks.promises import ATTACKS, CONTROL, KEPT
from arena.sandbox.canaries.tier_trial import ALL, QUICK, try_attacks
from arena.sandbox.tier import Tier, landlock_abi, tiers_to_try
from arena_plugins.entries import version_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def _must_block(tier: Tier) -> frozenset[int]:
    return frozenset({CONTROL, *(attack.number for attack in ATTACKS if attack.promise(tier) in KEPT)})


MUST_BLOCK: dict[Tier, frozenset[int]] = {
    Tier.T0: frozenset(),
    # Only the control: some systems do not enforce every limit, and no weaker tier for processes exists.
    Tier.T1: frozenset({CONTROL}),
    Tier.T2: _must_block(Tier.T2),
    Tier.T3: _must_block(Tier.T3),
}
"""The attacks that a tier must withstand to be granted, by number; 0 is the control."""


class Grade(msgspec.Struct, frozen=True, kw_only=True):
    """The results of the attacks in a tier on this machine."""

    tier: Tier
    failed: tuple[int, ...]
    """The attacks that worked, numbered as in `arena.sandbox.attacks.promises`; 0 if the control failed."""
    tried: tuple[int, ...] = ()
    """The attacks that were made: the quick ones before a tier's first use, all of them in `arena doctor`."""
    cause: str = ""
    """The reason why the tier cannot be set up at all; empty if it can."""
    kernel: str
    landlock: int
    """The version of the kernel's Landlock; 0 without Landlock."""
    uid_kept: bool
    """Whether bots run as root, without capabilities, because only root may read the interpreter."""

    @property
    def broken(self) -> list[int]:
        """The numbers of the attacks about which a promise of this tier was broken."""
        return sorted(MUST_BLOCK[self.tier].intersection(self.failed))

    @property
    def is_granted(self) -> bool:
        """Whether the tier withstood all the attacks it must withstand."""
        return not self.cause and not self.broken

    def to_record(self) -> dict[str, object]:
        """Return the part of the grade that a match's record keeps, as JSON data."""
        return {
            "tier": self.tier.value,
            "failed": list(self.failed),
            "kernel": self.kernel,
            "landlock": self.landlock,
            "uid_kept": self.uid_kept,
        }


def default_tier() -> Tier:
    """Return the strongest granted tier; the first call on a machine runs the attacks."""
    return next((tier for tier in tiers_to_try() if grade(tier).is_granted), Tier.T0)


def grade(tier: Tier) -> Grade:
    """Return the grade of a tier, from the file of an earlier run if nothing relevant has changed.

    Otherwise only the quick attacks are run, to keep the wait before a machine's first match short.
    """
    return _grade(tier, str(_file()))


def run_attacks(tiers: Sequence[Tier]) -> list[Grade]:
    """Run all attacks in some tiers; store and return one grade for each tier.

    The first tier's attacks run in a separate process at the same time, because they mostly wait.
    """
    with safe_path(), ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as beside:
        first = beside.submit(examine, tiers[0], ALL)
        others = [examine(tier, ALL) for tier in tiers[1:]]
        grades = [first.result(), *others]
    for result in grades:
        _save(result, _file())
    _grade.cache_clear()
    return grades


def examine(tier: Tier, numbers: frozenset[int]) -> Grade:
    """Run attacks in a tier and return its grade, which is neither read from the file nor stored.

    Args:
        tier: the isolation tier.
        numbers: the attacks to run, `trial.QUICK` or `trial.ALL`.
    """
    failed, cause, uid_kept = _attack(tier, numbers)
    return Grade(
        tier=tier,
        failed=failed,
        tried=tuple(sorted(numbers)),
        cause=cause,
        kernel=" ".join(os.uname()[i] for i in (0, 2, 4)) if hasattr(os, "uname") else sys.platform,
        landlock=landlock_abi(),
        uid_kept=uid_kept,
    )


def record(tier: str) -> dict[str, object]:
    """Return what is known about a tier, for the record of a match, without running attacks."""
    known = _load(_file()).get(tier) if tier != Tier.T0 else None
    return {"tier": tier} if known is None else known.to_record()


@cache
def _grade(tier: Tier, file: str) -> Grade:
    if known := _load(Path(file)).get(tier.value):
        return known
    result = examine(tier, QUICK)
    _save(result, _file())
    return result


def _attack(tier: Tier, numbers: frozenset[int]) -> tuple[tuple[int, ...], str, bool]:
    # A bot in the arena's own process has all the arena's rights, so every attack counts as one that works.
    if tier is Tier.T0:
        return tuple(sorted(numbers - {CONTROL})), "", False
    try:
        trial = try_attacks(tier, numbers)
    except (ConfigError, OSError, ValueError) as error:
        return tuple(sorted(numbers)), str(error), False
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return tuple(sorted(trial.worked)), "", is_root and trial.user is None


def _file() -> Path:
    return home.cache() / "isolation" / f"{_circumstances()}.json"


@cache
def _circumstances() -> str:
    """Return a digest of what a grade depends on: boot, kernel, user, interpreter and this code."""
    boot = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    # A changed part changes the file name, so that old grades are not found. The parts include the times of
    # the files, because the version stays the same when a checkout is edited.
    parts = [
        *(boot, *(os.uname() if hasattr(os, "uname") else ())),
        *(str(os.geteuid()) if hasattr(os, "geteuid") else "", interpreter(), sys.version),
        version_of("bot-arena"),
        *(f"{path.name} {path.stat().st_mtime_ns}" for path in sorted(Path(__file__).parent.rglob("*.py"))),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _load(file: Path) -> dict[str, Grade]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Grade])
    except (OSError, msgspec.DecodeError):
        return {}


def _save(result: Grade, file: Path) -> None:
    """Add a grade to the file; if it cannot be written, each start repeats the attacks (0.2 seconds)."""
    # If two processes do this at once, one grade may be lost; the next process repeats the attacks.
    known: dict[str, Any] = {**_load(file), result.tier.value: result}
    spare = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        spare.write_bytes(msgspec.json.encode(known))
        spare.replace(file)


_RESTRICTED = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_CLONE = Path("/proc/sys/kernel/unprivileged_userns_clone")
_MOST = Path("/proc/sys/user/max_user_namespaces")
_CALLS = ("clone", "mount", "pivot_root", "uid_map", "gid_map", "setgroups")
"""Calls and files with which namespaces are created and filled."""


def cure(cause: str) -> str:
    """Return what an administrator can do so that a tier can be set up; empty if unknown.

    Args:
        cause: the launcher's error, which names the refused call.
    """
    if "landlock" in cause:
        return 'add "landlock" to the kernel parameter lsm=, or use Linux 6.12 or later'
    if any(word in cause for word in _CALLS) and sys.platform == "linux":
        return _cure_namespaces()
    return ""


def _cure_namespaces() -> str:
    if _number(_RESTRICTED) == 1:
        return (
            "AppArmor restricts user namespaces on this machine (Ubuntu 23.10 and later, see "
            "https://github.com/containers/bubblewrap/issues/632): install a profile with `userns,` for this "
            f"interpreter, or set {_sysctl(_RESTRICTED)}=0"
        )
    for path, value in ((_CLONE, 1), (_MOST, 10_000)):
        if _number(path) == 0:
            return f"unprivileged user namespaces are disabled on this machine: set {_sysctl(path)}={value}"
    return (
        "Docker's default filter of system calls forbids namespaces: start the container with "
        "--security-opt seccomp=unconfined, or run the arena as root with CAP_SYS_ADMIN"
    )


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _sysctl(path: Path) -> str:
    return ".".join(path.parts[3:])
