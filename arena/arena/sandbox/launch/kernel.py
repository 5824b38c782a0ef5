"""Calls of the Linux kernel that Python does not offer."""

from __future__ import annotations

import ctypes
import os

SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
SYS_LANDLOCK = 444
"""The first of three calls; their numbers are the same on every architecture."""

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(name: str, option: int, *arguments: int) -> int:
    """Ask for a change of this process; `name` is for the message.

    Raises:
        OSError: the kernel refused.
    """
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return checked(name, _libc.prctl(option, *padded))


def syscall(name: str, number: int, *arguments: object) -> int:
    """Make a system call; integers are passed as longs.

    Raises:
        OSError: the kernel refused.
    """
    longs = [ctypes.c_long(part) if isinstance(part, int) else part for part in arguments]
    return checked(name, _libc.syscall(ctypes.c_long(number), *longs))


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` name.

    Raises:
        OSError: the kernel refused.
    """
    checked("unshare", _libc.unshare(flags))


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount a file system.

    Raises:
        OSError: the kernel refused.
    """
    texts = [text.encode() for text in (source, target, kind)]
    checked(f"mount {target}", _libc.mount(*texts, ctypes.c_ulong(flags), data.encode()))


def checked(name: str, result: int) -> int:
    """Give a result that is no failure.

    Raises:
        OSError: it is one.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
    return result
