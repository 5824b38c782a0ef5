"""What the launcher is told: whom to become, what to limit, what to leave open, what to run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from arena.errors import ConfigError
from arena.sandbox.launch.calls import ALLOWABLE
from arena.sandbox.readable import DEVICES, SYSTEM, python_readable
from arena.sandbox.tier import Tier, tiers_to_try
from arena.sandbox.users import unused_user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.sandbox.readable import Readable
    from arena.sandbox.resources import Resources
    from arena.sandbox.scratch import Scratch

LAUNCHER = str(Path(__file__).with_name("launcher.py"))
_CODE = str(Path(__file__).parents[2])
"""The folder the package `arena` lies in."""
_SHM = "/dev/shm"  # noqa: S108 - the bot's own, made for it


def make_recipe(  # noqa: PLR0913 - all that the caller decides
    command: Sequence[str],
    tier: Tier,
    resources: Resources,
    scratch: Scratch,
    *,
    readable: Readable | None,
    engine: Sequence[str] | None,
) -> tuple[list[tuple[str, str]], int | None]:
    """Give the entries of a recipe, and the user the process becomes if it becomes another.

    Raises:
        ConfigError: `tier` is not one for processes, or not to be had on this system.
    """
    if tier is Tier.T0:
        raise ConfigError("tier T0 has no processes; run the bot in this one (--isolation none)")
    if tier not in tiers_to_try():
        raise ConfigError(f"this system has no means for tier {tier}; arena doctor shows what it has")
    readable = readable or python_readable(tuple(sys.path))
    programs = (sys.executable, LAUNCHER, command[0], *(engine or ())[:1])
    user = unused_user([*programs, *filter(os.path.exists, readable.paths)], below=str(scratch.root.parent))
    entries = [("parent", str(os.getpid())), ("tier", tier.value), ("code", _CODE)]
    entries += [("limit", limit) for limit in resources.rlimits()]
    if user is not None:
        entries.append(("user", str(user)))
    if user is not None or tier is Tier.T3:
        # For any other the kernel would count all processes of the arena's user.
        entries.append(("limit", f"NPROC={resources.tasks}"))
    if tier >= Tier.T2:
        entries += _open_files(readable, resources, scratch)
    if tier is Tier.T3:
        entries += [("namespaces", str(resources.scratch_bytes)), ("write", _SHM)]
    entries += [("allow", name) for name in (ALLOWABLE if tier is Tier.T3 else resources.allow)]
    entries += [("command", part) for part in command]
    entries += [("engine", part) for part in engine or ()]
    return entries, user


def encode(entries: Sequence[tuple[str, str]]) -> bytes:
    """Give the recipe as the launcher reads it.

    Raises:
        ValueError: a value holds a null byte.
    """
    if any("\0" in value for _, value in entries):
        raise ValueError("embedded null byte")
    return b"".join(os.fsencode(f"{key}={value}") + b"\0" for key, value in entries)


def _open_files(readable: Readable, resources: Resources, scratch: Scratch) -> list[tuple[str, str]]:
    system = [*SYSTEM, "/proc"] if resources.procfs else SYSTEM
    return [
        ("landlock", ""),
        *(("read", path) for path in (*system, *readable.paths)),
        *(("names", path) for path in readable.names),
        *(("write", str(path)) for path in (scratch.home, scratch.cache)),
        *(("device", path) for path in DEVICES),
    ]
