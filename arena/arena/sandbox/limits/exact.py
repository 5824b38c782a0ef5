"""Finds out whether this process's bots get exact limits, and says what to do if they do not."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Literal

from arena.errors import ArenaError, ConfigError
from arena.sandbox.limits.cgroup import NoSubtreeError, Subtree, enter
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

Limits = Literal["kernel", "polled"]
"""How memory and tasks are limited: exactly, by the kernel, or by polling every 50 ms."""


def own_subtree() -> Subtree | None:
    """Return the control group below which bots get theirs; None if limits are polled.

    The first call divides the cgroup of this process, if possible. Call it before starting other processes of
    the arena: they share the cgroup, and then find it divided.
    """
    found = _find(os.getpid())
    return found if isinstance(found, Subtree) else None


def describe_limits() -> str:
    """Describe the limits that bots get here; if they are not exact, what is missing and how to get it."""
    found = _find(os.getpid())
    if isinstance(found, Subtree):
        return f"kernel: each bot gets a cgroup of its own below {found.root}"
    return f"polled ({_way_out(found)}): {found}"


def check_limits(required: Limits | None, tier: Tier) -> None:
    """Check before a run that bots get the required limits, and divide the cgroup of this process.

    Args:
        required: `kernel` to require exact limits; anything else accepts what is available.
        tier: the isolation tier of the bots.

    Raises:
        ConfigError: exact limits are required for bots that have no process of their own.
        ArenaError: exact limits are required but not available; the text says what is missing and what to do.
    """
    if tier is Tier.T0:
        if required == "kernel":
            raise ConfigError(
                "--require-limits kernel: bots in the arena's own process have no limits; "
                "leave out --isolation none"
            )
        return
    found = _find(os.getpid())
    if required == "kernel" and isinstance(found, NoSubtreeError):
        raise ArenaError(
            f"--require-limits kernel: exact limits are not available here, {found}; {_way_out(found)}"
        )


def _way_out(error: NoSubtreeError) -> str:
    if sys.platform != "linux":
        return "exact ones need Linux"
    if not error.is_delegable:
        return "exact ones need cgroup v2 with memory and pids: boot with systemd.unified_cgroup_hierarchy=1"
    return f"exact ones: {' '.join(_scope_command())}"


def _scope_command() -> Sequence[str]:
    user = [] if os.geteuid() == 0 else ["--user"]
    return ["systemd-run", *user, "--scope", "-p", "Delegate=yes", "arena", "…"]


@cache
def _find(pid: int) -> Subtree | NoSubtreeError:
    del pid  # only a part of the cache key, so that a forked process looks again
    if sys.platform != "linux":
        return NoSubtreeError(f"{sys.platform} has no cgroups", is_delegable=False)
    try:
        return enter()
    except NoSubtreeError as error:
        return error
