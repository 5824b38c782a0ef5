"""Namespaces of a container: no processes, networks, queues, mounts or host name but its own.

Numbers: linux/sched.h.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

_PARENT = 0x00008000
"""The child's parent is the caller's parent: the arena, which then waits for the bot itself."""
_NEW_USER = 0x10000000
_NEW_MOUNTS, _NEW_CGROUP, _NEW_UTS, _NEW_IPC, _NEW_PID, _NEW_NET = (
    0x00020000,
    0x02000000,
    0x04000000,
    0x08000000,
    0x20000000,
    0x40000000,
)
_STATUS_BYTES = 4


def flags(mode: str) -> int:
    """Return the flags of `clone` for a mode: `""` for none, `root`, or `user` with a user namespace."""
    if not mode:
        return _PARENT
    own = _NEW_MOUNTS | _NEW_CGROUP | _NEW_UTS | _NEW_IPC | _NEW_PID | _NEW_NET
    return _PARENT | own | (_NEW_USER if mode == "user" else 0)


def keep_user(user: int, group: int) -> None:
    """Map the one user and group of a new user namespace to themselves.

    Raises:
        OSError: the kernel refused.
    """
    Path("/proc/self/setgroups").write_bytes(b"deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")


def collect(inside: int, control: socket.socket) -> None:
    """Reap all processes of the namespace as its first; end with the bot, and send how that ended.

    It sends four bytes: the status as `waitpid` returns it, little-endian. When this process ends the kernel
    kills all others inside.
    """
    # The arena must see that the bot closed its pipes, so nobody else may hold them.
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    while True:
        pid, status = os.wait()
        if pid == inside:
            control.send(status.to_bytes(_STATUS_BYTES, "little"))
            os._exit(0)
