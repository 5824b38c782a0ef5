"""Landlock: a process gives up all files, ports, signals and abstract sockets that it was not granted.

Numbers and layouts: linux/landlock.h; https://docs.kernel.org/userspace-api/landlock.html.
"""

from __future__ import annotations

import ctypes
import os
import stat

from arena.sandbox.launch.kernel import SYS_LANDLOCK, prctl, syscall

TYPE_CHECKING = False  # importing typing would take a quarter of the time of a starter
if TYPE_CHECKING:
    from collections.abc import Iterable

MIN_ABI = 6
"""The first version that restricts signals (Linux 6.12)."""

_CREATE, _ADD_RULE, _RESTRICT = SYS_LANDLOCK, SYS_LANDLOCK + 1, SYS_LANDLOCK + 2
_ASK_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_DEVICE = _READ_FILE | _WRITE_FILE
_NUM_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Number of rights for files by version; each version knows the lowest bits."""
_ALL_FILE_RIGHTS = 16
"""Number of rights for files from version 5 on."""
_NET = 0b11
"""Rights to bind and to connect a TCP port."""
_SCOPES = 0b11
"""Scopes: abstract sockets and signals."""
_NET_ABI, _SCOPE_ABI = 4, 6
_ATTRIBUTE_BYTES = {1: 8, 2: 8, 3: 8, 4: 16, 5: 16}
"""Bytes of `_Ruleset` by version: it ended after `files`, later after `net`."""
_FULL_ATTRIBUTE_BYTES = 24
"""Bytes of `_Ruleset` from version 6 on."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"  # the layout that `_pack_` implies; Python 3.14 and later want it stated
    _fields_ = (("allowed", ctypes.c_uint64), ("fd", ctypes.c_int32))


def abi() -> int:
    """Return the version of the kernel's Landlock; 0 without Landlock."""
    try:
        return syscall("landlock", _CREATE, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def restrict(
    readable: Iterable[str], names: Iterable[str], writable: Iterable[str], devices: Iterable[str]
) -> None:
    """Restrict this process irrevocably to these files; paths that do not exist are ignored.

    Args:
        readable: files and folders that may be read and executed.
        names: folders that may be listed.
        writable: folders with all rights.
        devices: files that may be read and written.

    Raises:
        OSError: the kernel refused the call.
    """
    version = abi()
    handled = (1 << _NUM_FILE_RIGHTS.get(version, _ALL_FILE_RIGHTS)) - 1
    # A kernel refuses a bit that its version does not know.
    attribute = _Ruleset(handled, _NET * (version >= _NET_ABI), _SCOPES * (version >= _SCOPE_ABI))
    size = _ATTRIBUTE_BYTES.get(version, _FULL_ATTRIBUTE_BYTES)
    ruleset = syscall("landlock ruleset", _CREATE, ctypes.byref(attribute), size, 0)
    for paths, rights in ((readable, _READ), (names, _READ_DIR), (writable, handled), (devices, _DEVICE)):
        for path in paths:
            _allow(ruleset, path, rights & handled)
    # Without this flag the kernel accepts restrictions from root only.
    prctl("no new privileges", _PR_SET_NO_NEW_PRIVS, 1)
    syscall("landlock restriction", _RESTRICT, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(fd).st_mode):
        rights &= _FILE_RIGHTS  # the kernel rejects a rule for a file that contains rights of folders
    rule = _Beneath(rights, fd)
    syscall(f"landlock rule {path}", _ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    os.close(fd)
