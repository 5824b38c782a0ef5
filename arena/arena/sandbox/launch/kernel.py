"""System calls that Python does not offer, through ctypes."""

from __future__ import annotations

import ctypes
import os
import signal

SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
SYS_LANDLOCK = 444
"""The first of three consecutive calls; their numbers are the same on every architecture."""
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MNT_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)
# PyDLL keeps the interpreter lock during the call: a child of `clone` must find it held, as its parent does.
_locked_libc = ctypes.PyDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns"))


def prctl(name: str, option: int, *arguments: int) -> int:
    """Change an attribute of this process; `name` is used in the error message.

    Raises:
        OSError: the kernel refused the call.
    """
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return checked(name, _libc.prctl(option, *padded))


def syscall(name: str, number: int, *arguments: object) -> int:
    """Make a system call; ints are passed as C longs.

    Raises:
        OSError: the kernel refused the call.
    """
    longs = [ctypes.c_long(part) if isinstance(part, int) else part for part in arguments]
    return checked(name, _libc.syscall(ctypes.c_long(number), *longs))


def clone(flags: int) -> int:
    """Fork this single-threaded process with CLONE_… flags; return 0 in the child, else the child's pid.

    Raises:
        OSError: the kernel refused the call.
    """
    number = ctypes.c_long(_SYS_CLONE[os.uname().machine])
    # A null stack pointer makes the child continue on a copy of this stack, as after fork.
    none = [ctypes.c_void_p(None)] * 4
    return checked("clone", _locked_libc.syscall(number, ctypes.c_ulong(flags | signal.SIGCHLD), *none))


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount a file system.

    Raises:
        OSError: the kernel refused the call.
    """
    texts = [os.fsencode(text) for text in (source, target, kind)]
    checked(f"mount {target}", _libc.mount(*texts, ctypes.c_ulong(flags), data.encode()))


def restrict_mounts(folder: str, flags: int) -> None:
    """Add MOUNT_ATTR_… flags to the mount at a folder and to all mounts below it.

    Raises:
        OSError: the kernel refused the call.
    """
    wanted = _MountAttributes(set=flags)
    size = ctypes.sizeof(wanted)
    arguments = (_AT_FDCWD, os.fsencode(folder), _AT_RECURSIVE, ctypes.byref(wanted), size)
    syscall(f"mount_setattr {folder}", _SYS_MOUNT_SETATTR, *arguments)


def pivot_root() -> None:
    """Make the working directory, which must be a mount point, the root, and detach the old root.

    Raises:
        OSError: the kernel refused the call.
    """
    # The old root is stacked on top of the new one and then unmounted (pivot_root(2), "pivot_root(".",
    # ".")").
    syscall("pivot_root", _SYS_PIVOT_ROOT[os.uname().machine], b".", b".")
    checked("umount", _libc.umount2(b".", _MNT_DETACH))


def checked(name: str, result: int) -> int:
    """Return the result of a C function unless it is -1.

    Raises:
        OSError: it is -1; `errno` has the reason.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
    return result
