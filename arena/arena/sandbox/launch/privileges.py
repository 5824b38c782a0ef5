"""Drops the user, the capabilities and the possibility to outlive the arena.

Numbers: linux/prctl.h, linux/capability.h, linux/securebits.h.
"""

from __future__ import annotations

import ctypes
import errno
import os

from arena.sandbox.launch.kernel import SYS_CAPSET, prctl, syscall

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_SECUREBITS = 28
_PR_CAP_AMBIENT, _CLEAR_ALL = 47, 4
_SECUREBITS = 0b1110_1111
"""Root gains no capabilities, whatever it executes; all bits are locked, and KEEP_CAPS is locked to off."""
_CAPABILITY_VERSION = 0x20080522
_MAX_CAPABILITY = 64
_SIGKILL = 9


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def become(user: int) -> None:
    """Change to the user and the group with this number.

    Raises:
        OSError: this process is not root.
    """
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    # The change gave /proc/self to root; setting up a namespace needs it to belong to this user.
    prctl("dumpable", _PR_SET_DUMPABLE, 1)


def drop_capabilities() -> None:
    """Drop all capabilities, including those that later programs could gain.

    Raises:
        OSError: the kernel refused the call.
    """
    try:
        prctl("ambient capabilities", _PR_CAP_AMBIENT, _CLEAR_ALL)
        prctl("secure bits", _PR_SET_SECUREBITS, _SECUREBITS)
        for number in range(_MAX_CAPABILITY):
            prctl("capability bound", _PR_CAPBSET_DROP, number)
    except OSError as error:
        # EPERM: without capabilities there is no bounding set to lower. EINVAL: beyond the last capability.
        if error.errno not in {errno.EPERM, errno.EINVAL}:
            raise
    # Version 3 has two words for each of the three sets; zeros give up every capability in all of them.
    header, nothing = _Header(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    number = SYS_CAPSET.get(os.uname().machine)
    if number is not None:
        syscall("capset", number, ctypes.byref(header), ctypes.byref(nothing))


def die_with_parent() -> None:
    """Request to be killed when the thread that started this process ends; a later change of user undoes it.

    Raises:
        OSError: the kernel refused the call.
    """
    prctl("parent death signal", _PR_SET_PDEATHSIG, _SIGKILL)
