"""Namespaces of a container: it has its own processes, network, queues, mounts and host name.

Numbers: linux/sched.h.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing typing would take a quarter of the time of a starter
if TYPE_CHECKING:
    import socket

_PARENT = 0x00008000
"""CLONE_PARENT: the child becomes a child of the caller's parent, the arena, which can then wait for it."""
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
    """Return the flags of `clone` for a mode: `""` (no namespaces), `root`, or `user` (a user namespace)."""
    if not mode:
        return _PARENT
    own = _NEW_MOUNTS | _NEW_CGROUP | _NEW_UTS | _NEW_IPC | _NEW_PID | _NEW_NET
    return _PARENT | own | (_NEW_USER if mode == "user" else 0)


def keep_user(user: int, group: int) -> None:
    """Map the only user and group of a new user namespace to themselves.

    Raises:
        OSError: the kernel refused the call.
    """
    # Since Linux 3.19 an unprivileged process may write gid_map only after it has denied setgroups.
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "wb") as file:
            file.write(text.encode())


def collect(inside: int, control: socket.socket) -> None:
    """Act as the namespace's first process: reap all others, exit when the bot ends, and send its status.

    The status is sent as four bytes, little-endian, as `waitpid` returns it. When this process exits, the
    kernel kills all other processes in the namespace.
    """
    # Release the pipes: the arena must see when the bot closes them, so no other process may hold them.
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    while True:
        pid, status = os.wait()
        if pid == inside:
            control.send(status.to_bytes(_STATUS_BYTES, "little"))
            os._exit(0)
