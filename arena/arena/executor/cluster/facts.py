"""What a worker machine offers, and whether it can play the matches of a run."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import secrets
import socket
import statistics
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.content.packages import OURS
from arena.errors import ArenaError, ConfigError
from arena.executor.cluster.hardware import arithmetic
from arena.executor.slots import SpeedRule
from arena.home import home
from arena.sandbox.resources import num_cores
from arena_db.files import written_durably
from arena_plugins.command import host_path
from arena_plugins.entries import GAMES, TRAINERS, offers
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

TOLERANCE = 0.10
"""Largest relative difference from the median speed with which a machine counts as equally fast."""
MAX_SCALE = 4.0
"""Largest factor, and reciprocal of the smallest, by which the seconds of bots are scaled."""


class WorkerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Properties of a machine, sent whenever one of its slots joins."""

    name: str
    """Host name, shown to people."""
    slots: int
    """Matches that it plays at once."""
    cores: int
    memory: int
    """Bytes of main memory; 0 if unknown."""
    cpu: str
    tiers: tuple[str, ...]
    """Isolation tiers that are granted on the machine."""
    arena: str
    """SHA-256 of the arena's own code."""
    version: str
    """Version of the arena."""
    games: dict[str, str]
    """SHA-256 of each game's code, by name."""
    runs: str
    """Target of compiled code: interpreter, system and processor."""
    speed: float
    """Speed with all slots busy, as a multiple of `speed.REFERENCE`; 0 if it was not measured."""
    trainers: dict[str, str] = {}
    """SHA-256 of the code of each trainer's package, by name."""
    arithmetic: str = ""
    """How the machine computes; see `arena.executor.cluster.hardware`."""
    gpus: tuple[str, ...] = ()
    """Names of the GPUs of the first slots, one each; further slots have none."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a run requires of worker machines."""

    tier: str
    game: str
    """Name of the game."""
    game_hash: str
    arena: str
    version: str
    runs: str
    speed: SpeedRule
    """What the run does about the speed of machines."""
    trainer: str = ""
    """Name of the trainer whose shards are computed; empty for matches."""
    trainer_hash: str = ""
    arithmetic: str = ""
    """How admitted machines must compute (see `WorkerFacts.arithmetic`); empty admits all."""
    needs_gpu: bool = False
    """Whether only slots with a GPU take part."""

    def admits(self, facts: WorkerFacts, number: int) -> bool:
        """Return whether slot `number` of a machine that lacks nothing can take part."""
        return not self.needs_gpu or number < len(facts.gpus)


def wanted_of(tier: str, game: str, speed: SpeedRule) -> Wanted:
    """Return what a run that is planned on this machine requires of worker machines.

    Args:
        tier: isolation tier of its bots.
        game: spec of the game.
        speed: what the run does about the speed of machines.
    """
    name = Spec.parse(game).name
    return Wanted(
        tier=tier,
        game=name,
        game_hash=game_hashes().get(name, ""),
        arena=arena_hash(),
        version=importlib.metadata.version(OURS),
        runs=runs_code(),
        speed=speed,
    )


def wanted_of_shards(trainer: str, game: str, device: str) -> Wanted:
    """Return what a training that runs on this machine requires of worker machines.

    Args:
        trainer: name of the trainer.
        game: spec of the game.
        device: `cpu` admits only machines that compute as this one, `cuda` only slots with a GPU.
    """
    return msgspec.structs.replace(
        # A shard is computed in the slot's own process and against no clock, so tier and speed do not matter.
        wanted_of("T0", game, "ignore"),
        trainer=trainer,
        trainer_hash=trainer_hashes().get(trainer, ""),
        arithmetic=arithmetic() if device == "cpu" else "",
        needs_gpu=device == "cuda",
    )


class Lack(NamedTuple):
    """The first requirement of a run that a machine does not meet."""

    step: int
    """Number of requirements met before this one; the machine with the most is closest to taking part."""
    why: str


def find_lack(facts: WorkerFacts, wanted: Wanted, median: float) -> Lack | None:
    """Return the first requirement that a machine does not meet; None if it can take part.

    Args:
        facts: properties of the machine.
        wanted: requirements of the run.
        median: speed to compare with; 0 skips the comparison.
    """
    for step, lack in enumerate(_LACKS):
        why = lack(facts, wanted)
        if why:
            return Lack(step, why)
    why = _speed_lack(facts, wanted, median)
    return Lack(len(_LACKS), why) if why else None


def _arena_lack(facts: WorkerFacts, wanted: Wanted) -> str:
    if facts.arena == wanted.arena:
        return ""
    other = ", other code" if facts.version == wanted.version else f", not {wanted.version}"
    return f"bot-arena {facts.version}{other}; install the same version on all machines"


def _game_lack(facts: WorkerFacts, wanted: Wanted) -> str:
    if facts.games.get(wanted.game) == wanted.game_hash:
        return ""
    lacks = "other code of" if wanted.game in facts.games else "no"
    return f"{lacks} game {wanted.game}; install the same package there, then start arena worker again"


def _tier_lack(facts: WorkerFacts, wanted: Wanted) -> str:
    if wanted.tier == "T0" or wanted.tier in facts.tiers:
        return ""
    return f"tier {wanted.tier} is not granted there; run arena doctor there to see why"


def _code_lack(facts: WorkerFacts, wanted: Wanted) -> str:
    return "" if facts.runs == wanted.runs else f"{facts.runs}, but the bots are built for {wanted.runs}"


def _speed_lack(facts: WorkerFacts, wanted: Wanted, median: float) -> str:
    if wanted.speed == "scale" and median and time_scale(facts.speed) is None:
        return (
            f"speed {facts.speed:.2f} of the reference, and times are scaled from {1 / MAX_SCALE:g} to "
            f"{MAX_SCALE:g} only; --speed ignore admits it"
        )
    if wanted.speed == "pin" and median and abs(facts.speed / median - 1) > TOLERANCE:
        way = "slower" if facts.speed < median else "faster"
        return (
            f"{abs(facts.speed / median - 1):.0%} {way} than the median; --speed scale or ignore admits it, "
            "and so does --nodes N alone"
        )
    return ""


def time_scale(speed: float) -> float | None:
    """Return the factor for the seconds of bots on a machine, the same for both bots of a match.

    Args:
        speed: multiple of the reference speed; 0 if it was not measured.

    Returns:
        The reciprocal of the speed; None if it was not measured or is not from 1/4 to 4.
    """
    if not speed or not 1 / MAX_SCALE <= speed <= MAX_SCALE:
        return None
    return 1 / speed


def _trainer_lack(facts: WorkerFacts, wanted: Wanted) -> str:
    if facts.trainers.get(wanted.trainer, "") == wanted.trainer_hash:
        return ""
    lacks = "other code of" if wanted.trainer in facts.trainers else "no"
    return f"{lacks} trainer {wanted.trainer}; install the same package there, then start arena worker again"


def _arithmetic_lack(facts: WorkerFacts, wanted: Wanted) -> str:
    if wanted.arithmetic in {"", facts.arithmetic}:
        return ""
    here, there = wanted.arithmetic.split(", "), facts.arithmetic.split(", ")
    others = [f"{theirs}, not {ours}" for ours, theirs in zip(here, there, strict=False) if ours != theirs]
    return (
        f"it computes differently ({'; '.join(others) or 'unknown'}), so its samples would not be the same; "
        "the trainer's option play_on=any admits it"
    )


def _gpu_lack(facts: WorkerFacts, wanted: Wanted) -> str:
    return "no slot with a GPU; arena worker --gpu 0 starts one" * (wanted.needs_gpu and not facts.gpus)


_LACKS = (_arena_lack, _game_lack, _tier_lack, _code_lack, _trainer_lack, _gpu_lack, _arithmetic_lack)
"""The requirements, in the order in which they are checked; each returns what is lacking, or ""."""


def median_speed(machines: Iterable[WorkerFacts], wanted: Wanted) -> float:
    """Return the median speed of the machines that meet all other requirements; 0 if there are none."""
    speeds = [facts.speed for facts in machines if find_lack(facts, wanted, 0) is None]
    # The speed of an existing machine, not a mean of two, so at least one machine is within the tolerance.
    return statistics.median_high(speeds) if speeds else 0.0


def machine_id() -> str:
    """Return the uuid of this machine, generated at the first call and kept in the arena's home.

    Raises:
        ConfigError: it cannot be written.
    """
    path = home() / "machine"
    try:
        home().mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # If two processes start at once, only one creates the file, and neither reads a partial one.
            with suppress(FileExistsError), written_durably(path) as file:
                file.write(secrets.token_hex(16).encode())
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}: {error.strerror}; set ARENA_HOME to another folder"
        ) from error
    return path.read_text(encoding="ascii").strip()


def find_facts(slots: int, speed: float, gpus: tuple[str, ...] = ()) -> WorkerFacts:
    """Return the properties of this machine; tiers not yet tested here are tested, which takes a second."""
    return WorkerFacts(
        name=socket.gethostname(),
        slots=slots,
        cores=num_cores(),
        memory=_memory(),
        cpu=_cpu(),
        tiers=_tiers(),
        arena=arena_hash(),
        version=importlib.metadata.version(OURS),
        games=game_hashes(),
        runs=runs_code(),
        speed=round(speed, 3),
        trainers=trainer_hashes(),
        arithmetic=arithmetic(),
        gpus=gpus,
    )


def runs_code() -> str:
    """Return the target for which this machine compiles code."""
    return f"{sys.implementation.cache_tag} {sys.platform} {platform.machine()}"


@cache
def arena_hash() -> str:
    """Return the SHA-256 of the code that referees and reports: arena, contract and store."""
    import arena
    import arena_db
    import arena_plugins

    return _hash_packages((arena.__path__[0], arena_db.__path__[0], arena_plugins.__path__[0]))


@cache
def game_hashes() -> dict[str, str]:
    """Return the SHA-256 of each game's code, by name; games of the arena count as the arena's code."""
    return {
        entry.name: _game_hash(entry.distribution, entry.value) for entry in offers(GAMES, tuple(host_path()))
    }


@cache
def trainer_hashes() -> dict[str, str]:
    """Return the SHA-256 of the code of each trainer's top-level package, by name."""
    return {entry.name: _top_hash(entry.value) for entry in offers(TRAINERS)}


def _game_hash(distribution: str, value: str) -> str:
    return arena_hash() if distribution == OURS else _top_hash(value)


def _top_hash(value: str) -> str:
    """Return the SHA-256 of the top-level package or module of an entry point; empty if it is not found."""
    top = value.partition(":")[0].partition(".")[0]
    for folder in map(Path, host_path()):
        if (folder / top).is_dir():
            return _hash_packages((str(folder / top),))
        if (folder / f"{top}.py").is_file():
            return hashlib.sha256((folder / f"{top}.py").read_bytes()).hexdigest()
    return ""


def _hash_packages(folders: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for folder in map(Path, folders):
        # Sorted: file systems list folders in different orders, and all machines must get one hash.
        for file in sorted(folder.rglob("*.py")):
            # With its path, because a moved file is imported under another name.
            digest.update(f"{folder.name}/{file.relative_to(folder).as_posix()}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _tiers() -> tuple[str, ...]:
    from arena.sandbox.tier import Tier
    from arena.sandbox.tier_grades import grade

    found: list[str] = []
    for tier in (Tier.T1, Tier.T2, Tier.T3):
        try:
            if grade(tier).is_granted:
                found.append(tier.value)
        except ArenaError:  # this system has no sandbox
            continue
    return tuple(found)


def _memory() -> int:
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return 0
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
