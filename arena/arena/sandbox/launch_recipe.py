"""Writes the launcher's recipe: the user, the limits, the accessible files, the command."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from arena.errors import ConfigError
from arena.own_python import interpreter
from arena.sandbox.container import container_entries
from arena.sandbox.launch.calls import ALLOWABLE
from arena.sandbox.launch.container_paths import COMPILED, FILLS, NO_PROCFS, OWN_PROCFS, SCRATCH, WHOLE_PROCFS
from arena.sandbox.readable import DEVICES, SYSTEM, python_readable
from arena.sandbox.resources import environment
from arena.sandbox.starter import LAUNCHER
from arena.sandbox.tier import Tier, landlock_abi, namespace_mode, tiers_to_try
from arena.sandbox.users import unused_user, unused_user_inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.sandbox.readable import Readable
    from arena.sandbox.resources import Resources
    from arena.sandbox.scratch import ScratchFolder

Entries = list[tuple[str, str]]


def make_recipe(  # noqa: PLR0913 - one argument for each setting of a bot
    command: Sequence[str],
    tier: Tier,
    resources: Resources,
    scratch: ScratchFolder,
    *,
    readable: Readable | None,
    engine: Sequence[str] | None,
) -> tuple[Entries, int | None]:
    """Return the entries of a recipe, and the user id the process changes to (None if it keeps its own).

    Raises:
        ConfigError: `tier` is not a tier for processes, or is not available on this system.
    """
    if tier is Tier.T0:
        raise ConfigError(
            "tier T0 does not start processes; run the bot in the arena's own process (--isolation none)"
        )
    if tier not in tiers_to_try():
        raise ConfigError(
            f"tier {tier} is not available on this system; arena doctor shows the available tiers"
        )
    readable = readable or python_readable(tuple(sys.path))
    in_container = tier is Tier.T3
    if in_container:
        user = unused_user_inside(filter(os.path.exists, readable.shown))
    else:
        programs = (interpreter(), LAUNCHER, command[0], *(engine or ())[:1])
        needed = [*programs, *filter(os.path.exists, readable.paths)]
        user = unused_user(needed, below=str(scratch.root.parent))
    entries = [("parent", str(os.getpid())), ("tier", tier.value)]
    entries += [("limit", limit) for limit in resources.rlimits()]
    if user is not None:
        entries.append(("user", str(user)))
    if user is not None or (in_container and namespace_mode() == "user"):
        # For a shared user the kernel would count all processes of that user.
        entries.append(("limit", f"NPROC={resources.tasks}"))
    if hasattr(os, "sched_getaffinity"):
        entries += [("core", str(core)) for core in sorted(os.sched_getaffinity(0))]
    if in_container:
        entries += _container(readable, resources, scratch)
    else:
        entries += [("folder", str(scratch.home)), *_environment(str(scratch.home), str(scratch.cache))]
    if tier >= Tier.T2:
        entries += _locks(readable, resources, scratch, in_container=in_container)
    entries += [("command", part) for part in command]
    entries += [("engine", part) for part in engine or ()]
    return entries, user


def encode(entries: Sequence[tuple[str, str]]) -> bytes:
    """Encode a recipe in the form that the launcher reads.

    Raises:
        ValueError: a value contains a NUL byte.
    """
    if any("\0" in value for _, value in entries):
        raise ValueError("embedded null byte")
    return b"".join(os.fsencode(f"{key}={value}") + b"\0" for key, value in entries)


def _environment(home: str, cache: str, path: str = "") -> Entries:
    found = environment(home, cache) | ({"PATH": path} if path else {})
    return [("environment", f"{name}={value}") for name, value in found.items()]


def _programs_path(readable: Readable) -> str:
    """Return the PATH of a container: the folders of programs that it shows, not those of the host."""
    shown = [folder for path in readable.shown if (folder := os.path.dirname(path)).endswith("/bin")]  # noqa: PTH120 - text
    return os.pathsep.join(dict.fromkeys([*shown, "/usr/local/bin", "/usr/bin", "/bin"]))


def _container(readable: Readable, resources: Resources, scratch: ScratchFolder) -> Entries:
    return [
        ("namespaces", namespace_mode()),
        ("uid", str(os.getuid())),
        ("gid", str(os.getgid())),
        ("base", str(scratch.root)),
        ("scratch", str(resources.scratch_bytes)),
        ("inodes", str(resources.scratch_entries)),
        *([("compiled", resources.compiled)] if resources.compiled else []),
        *(("fill", what) for what in resources.withheld if what in FILLS),
        ("procfs", _procfs(resources)),
        *_environment(SCRATCH, COMPILED, _programs_path(readable)),
        *container_entries(readable),
    ]


def _procfs(resources: Resources) -> str:
    if "procfs" in resources.withheld:
        return NO_PROCFS
    return WHOLE_PROCFS if resources.procfs else OWN_PROCFS


def _locks(
    readable: Readable, resources: Resources, scratch: ScratchFolder, *, in_container: bool
) -> Entries:
    if in_container:
        # Everything in a container was put there for the bot, or cannot be changed.
        files = [("read", "/"), ("write", SCRATCH)]
        allowed = resources.allow if "attributes" in resources.withheld else tuple(ALLOWABLE)
        calls = [("allow", name) for name in allowed]
    else:
        system = [*SYSTEM, "/proc"] if resources.procfs else SYSTEM
        files = [
            *(("read", path) for path in (*system, *readable.paths)),
            *(("names", path) for path in readable.names),
            *(("write", str(path)) for path in (scratch.home, scratch.cache)),
        ]
        calls = [("allow", name) for name in resources.allow]
    landlock = [*files, *(("device", path) for path in DEVICES)] if landlock_abi() else []
    return [("locks", ""), *landlock, *calls]
