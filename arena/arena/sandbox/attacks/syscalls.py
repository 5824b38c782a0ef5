"""System calls that Python does not offer, called by number."""

from __future__ import annotations

import ctypes
import os

_COLUMNS = {"x86_64": 0, "aarch64": 1, "arm64": 1}
_NUMBERS = {
    "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    "memfd_create": (319, 279),
    "mq_open": (240, 180), "mq_timedsend": (242, 182), "mq_timedreceive": (243, 183),
    "process_vm_readv": (310, 270),
    "prctl": (157, 167),
    "renameat2": (316, 276),
    "setxattr": (188, 5),
    "shmat": (30, 196), "shmget": (29, 194),
    "timer_create": (222, 107), "timer_settime": (223, 110),
}  # fmt: skip
"""Numbers on x86-64 and AArch64 (arch/x86/entry/syscalls, include/uapi/asm-generic/unistd.h of Linux)."""


def syscall(name: str, *arguments: object) -> int:
    """Make a system call and return its result; ints are passed as C longs.

    Raises:
        OSError: the kernel refused the call.
        KeyError: the number of the call on this machine is unknown.
    """
    number = _NUMBERS[name][_COLUMNS[os.uname().machine]]
    longs = [ctypes.c_long(part) if isinstance(part, int) else part for part in arguments]
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    result = int(function(ctypes.c_long(number), *longs))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)
    return result
