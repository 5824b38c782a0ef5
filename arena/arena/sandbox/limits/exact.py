"""Whether bots of this process get exact limits, and what to do where they do not."""

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
"""How memory and tasks are limited: exactly, by the kernel, or by a look every 50 ms."""


def own_subtree() -> Subtree | None:
    """Return the control group below which bots of this process get theirs; None where limits are polled.

    The first call divides the cgroup of this process, if that is possible. Call it before other processes of
    the arena are started: they share the cgroup, and find it divided.
    """
    found = _find(os.getpid())
    return found if isinstance(found, Subtree) else None


def describe_limits() -> str:
    """Return which limits bots get here, where the exact ones are, or what they lack and how to get them."""
    found = _find(os.getpid())
    if isinstance(found, Subtree):
        return f"kernel: each bot gets a cgroup of its own below {found.root}"
    return f"polled ({_way_out(found)}): {found}"


def check_limits(required: Limits | None, tier: Tier) -> None:
    """Check before a run that bots get the limits it requires, and divide the cgroup of this process.

    Args:
        required: `kernel` for exact limits; anything else takes what is available.
        tier: in which the bots run.

    Raises:
        ConfigError: exact limits are required of bots without a process of their own.
        ArenaError: exact limits are required and not available; says what is missing and what to do.
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
    del pid  # a fork looks again
    if sys.platform != "linux":
        return NoSubtreeError(f"{sys.platform} has no cgroups", is_delegable=False)
    try:
        return enter()
    except NoSubtreeError as error:
        return error
