"""Grants tiers: only what withstood attacks on this machine counts, and what they showed is kept on file."""

from __future__ import annotations

import hashlib
import importlib.metadata
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
from arena.own import interpreter, safe_path
from arena.sandbox.attacks.promises import ATTACKS, CONTROL, KEPT
from arena.sandbox.canaries.trial import ALL, QUICK, try_attacks
from arena.sandbox.tier import Tier, landlock_abi, tiers_to_try

if TYPE_CHECKING:
    from collections.abc import Sequence


def _must_block(tier: Tier) -> frozenset[int]:
    return frozenset({CONTROL, *(attack.number for attack in ATTACKS if attack.promise(tier) in KEPT)})


MUST_BLOCK: dict[Tier, frozenset[int]] = {
    Tier.T0: frozenset(),
    # The control alone: some systems do not keep every limit, and there is no weaker tier for a process.
    Tier.T1: frozenset({CONTROL}),
    Tier.T2: _must_block(Tier.T2),
    Tier.T3: _must_block(Tier.T3),
}
"""The attacks a tier must withstand to be granted, by number; 0 is the control."""


class Grade(msgspec.Struct, frozen=True, kw_only=True):
    """What attacks in a tier showed on this machine."""

    tier: Tier
    failed: tuple[int, ...]
    """The attacks that worked, by number as in `arena.sandbox.attacks.promises`; 0 if the control did not."""
    tried: tuple[int, ...] = ()
    """The attacks that were made; the quick ones before a tier is used, all of them by `arena doctor`."""
    cause: str = ""
    """Why the tier cannot be set up at all."""
    kernel: str
    landlock: int
    """The version of the kernel's Landlock; 0 if there is none."""
    uid_kept: bool
    """Bots are root as the arena is, without capabilities, since nobody else may read the interpreter."""

    @property
    def broken(self) -> list[int]:
        """The promises of this tier that do not hold, by the number of the attack."""
        return sorted(MUST_BLOCK[self.tier].intersection(self.failed))

    @property
    def is_granted(self) -> bool:
        """Whether it withstood all that this tier must."""
        return not self.cause and not self.broken

    def to_record(self) -> dict[str, object]:
        """Give what the record of a match keeps of it, for JSON."""
        return {
            "tier": self.tier.value,
            "failed": list(self.failed),
            "kernel": self.kernel,
            "landlock": self.landlock,
            "uid_kept": self.uid_kept,
        }


def default_tier() -> Tier:
    """Return the strongest tier that is granted here; the first call on a machine runs the attacks."""
    return next((tier for tier in tiers_to_try() if grade(tier).is_granted), Tier.T0)


def grade(tier: Tier) -> Grade:
    """Return what attacks in a tier showed, from the file of an earlier run if nothing has changed since.

    Without one the quick attacks are run, so that the first match of a machine does not wait for long.
    """
    return _grade(tier, str(_file()))


def run_attacks(tiers: Sequence[Tier]) -> list[Grade]:
    """Run all attacks in some tiers and keep on file what they showed, a grade for each tier.

    Those of the first tier run in a process of their own, beside the others: they mostly wait.
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
    """Run attacks in a tier and return what they showed.

    Args:
        tier: in which tier.
        numbers: which attacks, `trial.QUICK` or `trial.ALL`.
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
    """Give what is known of a tier, for the record of a match; no attacks are run for it."""
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
    """Name what a grade depends on: this start of this kernel, this user, this interpreter, this code."""
    boot = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    parts = [
        *(boot, *(os.uname() if hasattr(os, "uname") else ())),
        *(str(os.geteuid()) if hasattr(os, "geteuid") else "", interpreter(), sys.version),
        importlib.metadata.version("bot-arena"),
        *(f"{path.name} {path.stat().st_mtime_ns}" for path in sorted(Path(__file__).parent.rglob("*.py"))),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _load(file: Path) -> dict[str, Grade]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Grade])
    except (OSError, msgspec.DecodeError):
        return {}


def _save(result: Grade, file: Path) -> None:
    """Add to the file; who cannot write there pays with two tenths of a second at each start."""
    known: dict[str, Any] = {**_load(file), result.tier.value: result}
    spare = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        spare.write_bytes(msgspec.json.encode(known))
        spare.replace(file)
