"""Namespaces: a process that sees no other processes, networks, queues or shared memory than its own.

Numbers: linux/sched.h, linux/mount.h.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from arena.sandbox.launch.kernel import mount, unshare
from arena.sandbox.launch.privileges import die_with_parent, drop_capabilities

_NEW_USER, _NEW_PID, _NEW_NET, _NEW_IPC, _NEW_MOUNTS = (
    0x10000000,
    0x20000000,
    0x40000000,
    0x08000000,
    0x00020000,
)
_ALL = _NEW_USER | _NEW_PID | _NEW_NET | _NEW_IPC | _NEW_MOUNTS
_PRIVATE = 0x4000 | (1 << 18)
"""Recursive: what is mounted here is mounted nowhere else."""
_PLAIN = 0b1110
"""No set-user-id, devices or programs."""
_NOT_STARTED = 127


def enter(shm_bytes: int) -> None:
    """Go on as an ordinary process of new namespaces, with three roles for what was one process.

    The process that called stays outside and ends as the one inside does, since its parent waits for it. The
    first process inside collects orphans, and when it ends the kernel ends all others inside. The third is
    the one that returns from here; it is not the first inside, because the kernel shields that from signals.

    Args:
        shm_bytes: the size of the shared memory inside.

    Raises:
        OSError: the kernel refused.
    """
    user, group = os.getuid(), os.getgid()
    unshare(_ALL)
    Path("/proc/self/setgroups").write_bytes(b"deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    from_inside, to_outside = os.pipe()
    is_alive, _outside = os.pipe()
    first = os.fork()
    if first:
        os.close(to_outside)
        _end_as_inside(first, from_inside)
    os.close(_outside)
    os.close(from_inside)
    die_with_parent()
    os.set_blocking(is_alive, False)
    _leave_if_alone(is_alive)
    mount("none", "/", "", _PRIVATE)
    mount("proc", "/proc", "proc", _PLAIN)
    mount("tmpfs", "/dev/shm", "tmpfs", _PLAIN, f"size={shm_bytes},mode=1777")  # noqa: S108 - it is the new one
    inside = os.fork()
    if inside:
        drop_capabilities()
        _collect(inside, to_outside)
    os.close(to_outside)
    os.close(is_alive)


def _leave_if_alone(is_alive: int) -> None:
    """End if the process outside ended before it could be told to take this one with it."""
    try:
        os.read(is_alive, 1)
    except BlockingIOError:
        return
    os._exit(1)


def _collect(inside: int, to_outside: int) -> None:
    _let_go()
    while True:
        pid, status = os.wait()
        if pid == inside:
            os.write(to_outside, status.to_bytes(4, "little"))
            os._exit(0)


def _end_as_inside(first: int, from_inside: int) -> None:
    _let_go()
    drop_capabilities()
    os.waitpid(first, 0)
    told = os.read(from_inside, 4)
    if not told:
        os._exit(_NOT_STARTED)
    status = int.from_bytes(told, "little")
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if -code not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _let_go() -> None:
    """Give the bot's pipes up, or nobody would see that it closed them."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
